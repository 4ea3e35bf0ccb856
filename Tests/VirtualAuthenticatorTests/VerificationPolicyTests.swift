// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

/// When a key wants verification, and what it then puts into the flags.
@Suite("Verification policy")
struct VerificationPolicyTests {
  static let pin = "2580"

  enum Guard: String, CaseIterable, Sendable { case nothing, pin, finger }
  enum Offer: String, CaseIterable, Sendable { case nothing, token, uv }

  /// One row: the key, the offer, and what comes of it.
  struct Row: Sendable, CustomTestStringConvertible {
    let profile: String
    let protectedBy: Guard
    let offer: Offer
    let rk: Bool
    let registration: CTAPStatus
    let assertion: CTAPStatus
    let silent: CTAPStatus
    var testDescription: String { "\(profile), protected by \(protectedBy), offered \(offer)\(rk ? ", rk" : "")" }
  }

  static let rows: [Row] = {
    func row(
      _ profile: String, _ protectedBy: Guard, _ offer: Offer, rk: Bool = false, _ registration: CTAPStatus,
      _ assertion: CTAPStatus, _ silent: CTAPStatus
    ) -> Row {
      Row(
        profile: profile, protectedBy: protectedBy, offer: offer, rk: rk, registration: registration,
        assertion: assertion, silent: silent)
    }
    return [
      // makeCredUvNotRqd: only discoverable credentials want verification.
      row("virtual", .nothing, .nothing, .success, .success, .success),
      row("virtual", .nothing, .nothing, rk: true, .success, .success, .success),
      row("virtual", .nothing, .uv, .invalidOption, .invalidOption, .invalidOption),
      row("virtual", .pin, .nothing, .success, .success, .success),
      row("virtual", .pin, .nothing, rk: true, .puatRequired, .success, .success),
      row("virtual", .pin, .token, .success, .success, .success),
      row("virtual", .pin, .token, rk: true, .success, .success, .success),
      row("virtual", .pin, .uv, .invalidOption, .invalidOption, .invalidOption),
      row("bio", .pin, .uv, .invalidOption, .invalidOption, .invalidOption),
      row("bio", .finger, .nothing, .success, .success, .success),
      row("bio", .finger, .nothing, rk: true, .puatRequired, .success, .success),
      row("bio", .finger, .uv, .success, .success, .success),
      row("bio", .finger, .uv, rk: true, .success, .success, .success),
      row("bio", .finger, .token, .success, .success, .success),
      // alwaysUv: everything with a touch wants it.
      row("always-uv", .nothing, .nothing, .puatRequired, .puatRequired, .noCredentials),
      row("always-uv", .pin, .nothing, .puatRequired, .puatRequired, .success),
      row("always-uv", .pin, .token, .success, .success, .success),
      row("always-uv", .pin, .token, rk: true, .success, .success, .success),
      // Without makeCredUvNotRqd every registration wants it once the key is protected.
      row("strict", .nothing, .nothing, .success, .success, .success),
      row("strict", .pin, .nothing, .puatRequired, .success, .success),
      row("strict", .pin, .token, .success, .success, .success),
      row("ctap20", .pin, .nothing, .puatRequired, .success, .success),
      row("ctap20", .pin, .token, .success, .success, .success),
      // A finger that is enrolled serves alwaysUv without being asked for.
      row("bio-always", .finger, .nothing, .success, .success, .success),
      // A PIN that may not be used for ceremonies.
      row("no-mcga", .pin, .nothing, rk: true, .operationDenied, .success, .success),
    ]
  }()

  private static func profile(_ name: String) -> ModelProfile? {
    switch name {
    case "strict": ModelProfile.virtual.varied(name) { $0.info.options["makeCredUvNotRqd"] = nil }
    case "bio-always": ModelProfile.biometric
    case "no-mcga": ModelProfile.virtual.varied(name) { $0.info.options["noMcGaPermissionsWithClientPin"] = true }
    default: ModelProfile.named(name)
    }
  }

  @Test("every row", arguments: rows)
  func row(row: Row) throws {
    let profile = try #require(Self.profile(row.profile))
    let platform = try Platform(profile)
    let number = profile.info.pinUvAuthProtocols[0]
    if row.protectedBy != .nothing { try #require(try platform.setPIN(Self.pin, number) == .success) }
    if row.protectedBy == .finger { _ = try platform.enrol(pin: Self.pin) }
    if row.profile == "bio-always" {
      #expect(platform.config(2, token: try platform.token(Self.pin, 0x20, rpId: nil)).status == .success)
    }
    let id = try credential(platform, number: number)
    let verifies = row.offer != .nothing || row.profile == "bio-always"

    let registration = try offer(row, platform, number: number, permission: 0x01) {
      Platform.registration(options: $0 + (row.rk ? [("rk", true)] : []), token: $1)
    }
    let reply = platform.call(.makeCredential, registration)
    #expect(reply.status == row.registration)
    if reply.status == .success {
      #expect(
        reply.flags?.symmetricDifference([.attestedCredentialData])
          == (verifies ? [.userPresent, .userVerified] : [.userPresent]))
    }
    for (silent, status) in [(false, row.assertion), (true, row.silent)] {
      let assertion = try offer(row, platform, number: number, permission: 0x02) {
        Platform.assertion(allow: [id], options: $0 + (silent ? [("up", false)] : []), token: $1)
      }
      let reply = platform.call(.getAssertion, assertion)
      #expect(reply.status == status, "silent: \(silent)")
      guard reply.status == .success else { continue }
      var flags: AuthenticatorFlags = []
      if !silent || row.offer == .uv { flags.insert(.userPresent) }
      if row.offer != .nothing || (verifies && !silent) { flags.insert(.userVerified) }
      #expect(reply.flags == flags, "silent: \(silent)")
    }
  }

  private func offer(
    _ row: Row, _ platform: Platform, number: Int, permission: Int,
    _ build: ([(String, Bool)], Platform.Token?) -> [(Int, CBORValue?)]
  ) throws -> [(Int, CBORValue?)] {
    switch row.offer {
    case .nothing: return build([], nil)
    case .uv: return build([("uv", true)], nil)
    case .token:
      let isOld = !platform.key.profile.followsCTAP21
      return build([], try platform.token(Self.pin, isOld ? nil : permission, number))
    }
  }

  /// A credential to assert with, however hard this key makes it.
  private func credential(_ platform: Platform, number: Int) throws -> [UInt8] {
    let plain = platform.call(.makeCredential, Platform.registration())
    if let made = plain.authData?.attestedCredentialData { return made.credentialID }
    if platform.key.info.options["clientPin"] == true {
      let isOld = !platform.key.profile.followsCTAP21
      return try platform.register(token: try platform.token(Self.pin, isOld ? nil : 0x01, number))
    }
    // alwaysUv without any protection: nothing can be registered at all.
    return [1]
  }

  @Test("with alwaysUv and no protection a silent assertion finds nothing, for there can be nothing")
  func unprotectedAlwaysUv() throws {
    let platform = try Platform(.alwaysUv)
    #expect(platform.call(.makeCredential, Platform.registration()).status == .puatRequired)
    // Turning it off is free then.
    #expect(platform.config(2).status == .success)
    #expect(platform.call(.makeCredential, Platform.registration()).status == .success)
    #expect(platform.config(2).status == .success)
    #expect(platform.key.info.options["alwaysUv"] == true)
  }

  @Test("a token on a key without any protection is refused, not ignored")
  func tokenWithoutProtection() throws {
    let platform = try Platform()
    let id = try platform.register()
    let made = Platform.Token(number: 2, bytes: [UInt8](repeating: 0, count: 32))
    #expect(platform.call(.makeCredential, Platform.registration(token: made)).status == .pinAuthInvalid)
    #expect(platform.call(.getAssertion, Platform.assertion(allow: [id], token: made)).status == .pinAuthInvalid)
  }

  // MARK: - Built-in verification

  @Test("fingers that are not recognised, up to the block, and the PIN that lifts it")
  func fingers() throws {
    let platform = try Platform(.biometric)
    try #require(try platform.setPIN(Self.pin) == .success)
    let finger = try platform.enrol(pin: Self.pin)
    func uvRetries() -> Int64? { platform.call(.clientPIN, [(2, .int(7))])[5]?.int }
    #expect(uvRetries() == 5)
    platform.key.fingerprint.set(then: .mismatch)
    var seen: [CTAPStatus] = []
    for _ in 0..<5 { seen.append(try platform.tokenByUv(0x02).0) }
    #expect(seen == [.uvInvalid, .uvInvalid, .uvInvalid, .uvInvalid, .uvBlocked])
    #expect(uvRetries() == 0)
    platform.key.fingerprint.set()
    #expect(try platform.tokenByUv(0x02).0 == .uvBlocked)
    #expect(platform.call(.makeCredential, Platform.registration(options: [("uv", true)])).status == .pinBlocked)
    #expect(try platform.tokenReply(Self.pin, 0x02).0 == .success)
    #expect(uvRetries() == 5)
    #expect(try platform.tokenByUv(0x02).0 == .success)
    // Removed: back to the PIN.
    let be = try platform.token(Self.pin, 0x08, rpId: nil)
    #expect(platform.bio(6, .intMap([(1, .bytes(finger))]), token: be).status == .success)
    #expect(platform.bio(6, .intMap([(1, .bytes(finger))]), token: be).status == .invalidOption)
    #expect(try platform.tokenByUv(0x02).0 == .notAllowed)
    #expect(platform.key.info.options["uv"] == false)
  }

  @Test("inside a ceremony three fingers are tried")
  func internalRetry() throws {
    let platform = try Platform(.biometric)
    try #require(try platform.setPIN(Self.pin) == .success)
    _ = try platform.enrol(pin: Self.pin)
    let asked = platform.key.touch.requests.count
    platform.key.fingerprint.set([.mismatch, .mismatch])
    let good = platform.call(.makeCredential, Platform.registration(options: [("uv", true)]))
    #expect(good.status == .success && good.flags?.contains(.userVerified) == true)
    // The finger was the touch: nothing else was asked.
    #expect(platform.key.touch.requests.dropFirst(asked).map(\.kind) == [.fingerprint, .fingerprint, .fingerprint])
    platform.key.fingerprint.set([.mismatch, .mismatch, .mismatch])
    #expect(
      platform.call(.makeCredential, Platform.registration(options: [("uv", true)])).status == .operationDenied)
  }

  @Test("a token by finger counts as a touch")
  func presentByFinger() throws {
    let platform = try Platform(.biometric)
    let id = try platform.register()
    try #require(try platform.setPIN(Self.pin) == .success)
    _ = try platform.enrol(pin: Self.pin)
    let token = try #require(try platform.tokenByUv(0x02).1)
    let asked = platform.key.touch.requests.count
    #expect(
      platform.call(.getAssertion, Platform.assertion(allow: [id], token: token)).flags == [
        .userPresent, .userVerified,
      ])
    #expect(platform.key.touch.requests.count == asked)
  }

  @Test("a touch that came with a token counts for 30 s")
  func presentForAWhile() throws {
    for (wait, asks) in [(19_000, false), (21_000, true)] as [(Int64, Bool)] {
      let time = ManualClock()
      let platform = try Platform(.biometric, clock: time.clock)
      let id = try platform.register()
      try #require(try platform.setPIN(Self.pin) == .success)
      _ = try platform.enrol(pin: Self.pin)
      let token = try #require(try platform.tokenByUv(0x02).1)
      time.advance(10_000)
      // Silent, so that the token is used and its touch is not.
      #expect(
        platform.call(.getAssertion, Platform.assertion(allow: [id], options: [("up", false)], token: token)).status
          == .success)
      time.advance(wait)
      let asked = platform.key.touch.requests.count
      #expect(platform.call(.getAssertion, Platform.assertion(allow: [id], token: token)).status == .success)
      #expect(platform.key.touch.requests.count == asked + (asks ? 1 : 0))
    }
  }
}
