// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// FORMATS.md's table "When is the PIN asked?", row by row, on a key that counts.
@Suite("When is the PIN asked?")
struct UserVerificationTests {
  enum State: String, CaseIterable {
    case nothing, pin, builtIn, builtInAlone, alwaysUvNothing, alwaysUvPIN, alwaysUvBuiltIn, u2f, ctap20PIN
  }

  enum Act: String, CaseIterable { case register, assert, prf }

  /// What must happen.
  enum Outcome: Equatable {
    /// A touch and no verification.
    case touch
    /// The PIN, once, and a touch.
    case pin
    /// The key's own reader.
    case reader
    /// Refused before anything was asked of the person.
    case refused(String)
  }

  static func bench(_ state: State) async throws -> Bench {
    switch state {
    case .nothing: return try Bench(.virtual)
    case .u2f: return try Bench(.u2f)
    case .builtInAlone: return try Bench(ModelProfile.biometric.varied("finger") { $0.enrolledFingerprints = 1 })
    case .alwaysUvNothing: return try Bench(.alwaysUv)
    case .pin, .alwaysUvPIN, .ctap20PIN:
      let bench = try Bench(state == .pin ? .virtual : state == .ctap20PIN ? .ctap20 : .alwaysUv)
      try await bench.setPIN()
      return bench
    case .builtIn, .alwaysUvBuiltIn:
      let bench = try Bench(.biometric)
      try await bench.setPIN()
      _ = try await bench.key.enrolFingerprint(named: "thumb", pin: bench.person)
      if state == .alwaysUvBuiltIn { try await bench.key.setAlwaysUv(true, pin: bench.person) }
      return bench
    }
  }

  static let table: [(State, UserVerificationRequirement, [Outcome])] = [
    (.nothing, .preferred, [.touch, .touch, .refused("uvNotConfigured")]),
    (.pin, .preferred, [.pin, .pin, .pin]),
    (.builtIn, .preferred, [.reader, .reader, .reader]),
    // A reader, and no PIN was ever set.
    (.builtInAlone, .preferred, [.reader, .reader, .reader]),
    (.builtInAlone, .discouraged, [.touch, .touch, .touch]),
    (.builtInAlone, .required, [.reader, .reader, .reader]),
    (
      .alwaysUvNothing, .preferred,
      [.refused("uvNotConfigured"), .refused("uvNotConfigured"), .refused("uvNotConfigured")]
    ),
    (.alwaysUvPIN, .preferred, [.pin, .pin, .pin]),
    (.alwaysUvBuiltIn, .preferred, [.reader, .reader, .reader]),
    (.u2f, .preferred, [.touch, .touch, .refused("prfUnsupported")]),
    // --no-uv, asked by the person.
    (.pin, .discouraged, [.touch, .touch, .touch]),
    (.ctap20PIN, .discouraged, [.pin, .touch, .touch]),
    (.alwaysUvPIN, .discouraged, [.pin, .pin, .pin]),
    (.nothing, .discouraged, [.touch, .touch, .touch]),
    // Verification demanded.
    (.nothing, .required, [.refused("uvNotConfigured"), .refused("uvNotConfigured"), .refused("uvNotConfigured")]),
    (.pin, .required, [.pin, .pin, .pin]),
    (.u2f, .required, [.refused("fido2Needed"), .refused("fido2Needed"), .refused("prfUnsupported")]),
    (.ctap20PIN, .preferred, [.pin, .pin, .pin]),
  ]

  @Test("every row of the table", arguments: table, Act.allCases)
  func rows(row: (State, UserVerificationRequirement, [Outcome]), act: Act) async throws {
    let (state, requirement, outcomes) = row
    let expected = outcomes[Act.allCases.firstIndex(of: act) ?? 0]
    let bench = try await Self.bench(state)
    // What the assertion is about is made with whatever verification the key wants.
    var id: [UInt8] = []
    if act != .register, state != .alwaysUvNothing {
      id = try await bench.register(Bench.registration(prf: act == .prf && state != .u2f)).credentialID
    }
    bench.asked.withLock { $0 = [] }
    bench.virtual.log.clear()
    let touchesBefore = bench.touches
    var flags: AuthenticatorFlags?
    let failure = await failure {
      switch act {
      case .register: flags = try Bench.flags(try await bench.register(Bench.registration(uv: requirement)))
      case .assert: flags = try Bench.flags(try await bench.assert(Bench.assertion([id], uv: requirement)))
      case .prf:
        let salts = PRFSalts(first: Random.bytes(32))
        let response = try await bench.assert(Bench.assertion([id], uv: requirement, salts: salts))
        #expect(response.prf?.first.count == 32)
        flags = try Bench.flags(response)
      }
    }
    let happened: Outcome
    switch (failure, flags?.contains(.userVerified)) {
    case (let name?, _): happened = .refused(name)
    case (nil, true): happened = bench.pinQuestions > 0 ? .pin : .reader
    default: happened = .touch
    }
    #expect(happened == expected)
    #expect(bench.pinQuestions == (expected == .pin ? 1 : 0))
    if case .refused = expected {
      #expect(bench.touches == touchesBefore, "refused before any touch")
      #expect(bench.virtual.log.count(.makeCredential) == 0)
    } else {
      #expect(bench.touches == touchesBefore + 1)
    }
  }
}
