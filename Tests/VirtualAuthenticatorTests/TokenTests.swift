// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

@Suite("pinUvAuthToken")
struct TokenTests {
  static let pin = "2580"

  /// A command that wants a permission: the status with a token that was given `permissions`.
  enum Use: String, CaseIterable, Sendable {
    case makeCredential, getAssertion, credentialManagement, largeBlobWrite, authenticatorConfig, bioEnrollment

    var permission: Int {
      switch self {
      case .makeCredential: 0x01
      case .getAssertion: 0x02
      case .credentialManagement: 0x04
      case .bioEnrollment: 0x08
      case .largeBlobWrite: 0x10
      case .authenticatorConfig: 0x20
      }
    }

    func run(_ platform: Platform, _ token: Platform.Token, id: [UInt8]) -> CTAPStatus {
      switch self {
      case .makeCredential:
        platform.call(.makeCredential, Platform.registration(token: token)).status
      case .getAssertion: platform.call(.getAssertion, Platform.assertion(allow: [id], token: token)).status
      case .credentialManagement: platform.manage(1, token: token).status
      case .largeBlobWrite:
        platform.writeBlobs(KeyState.Facts.emptyLargeBlobs, offset: 0, length: 17, token: token).status
      case .authenticatorConfig: platform.config(3, .map([]), token: token).status
      case .bioEnrollment: platform.bio(1, token: token).status
      }
    }
  }

  private func withPIN(timing: KeyTiming = KeyTiming(), clock: KeyClock = .system) throws -> (Platform, [UInt8]) {
    let platform = try Platform(.biometric, timing: timing, clock: clock)
    let id = try platform.register()
    try #require(try platform.setPIN(Self.pin) == .success)
    return (platform, id)
  }

  @Test("each permission serves its own command and no other", arguments: Use.allCases, Use.allCases)
  func permissions(granted: Use, use: Use) throws {
    let (platform, id) = try withPIN()
    let forCeremony = granted == .makeCredential || granted == .getAssertion
    let token = try platform.token(Self.pin, granted.permission, rpId: forCeremony ? Platform.rpId : nil)
    #expect(use.run(platform, token, id: id) == (granted == use ? .success : .pinAuthInvalid))
  }

  @Test("the old way gives the permissions of ceremonies only", arguments: Use.allCases, [1, 2])
  func superseded(use: Use, number: Int) throws {
    let (platform, id) = try withPIN()
    let token = try platform.token(Self.pin, nil, number)
    let allowed = use == .makeCredential || use == .getAssertion
    #expect(use.run(platform, token, id: id) == (allowed ? .success : .pinAuthInvalid))
  }

  static let requests: [(Int?, String?, CTAPStatus)] = [
    (nil, nil, .missingParameter), (0, nil, .invalidParameter), (0x01, nil, .missingParameter),
    (0x02, nil, .missingParameter), (0x01, "a.org", .success), (0x03, "a.org", .success), (0x04, nil, .success),
    (0x04, "a.org", .success), (0x10, nil, .success), (0x20, nil, .success), (0x08, nil, .unauthorizedPermission),
    (0x09, "a.org", .unauthorizedPermission), (0x80, nil, .success), (0x84, nil, .success),
  ]

  @Test("which permissions a key without a sensor gives", arguments: requests)
  func requested(permissions: Int?, rpId: String?, status: CTAPStatus) throws {
    let platform = try Platform()
    try #require(try platform.setPIN(Self.pin) == .success)
    let shared = try platform.shared()
    let reply = platform.call(
      .clientPIN,
      [
        (1, .int(2)), (2, .int(9)), (3, shared.keyAgreement),
        (6, .bytes(try shared.encrypt(Platform.pinHash(Self.pin)))), (9, permissions.map { .int($0) }),
        (0x0A, rpId.map { .text($0) }),
      ])
    #expect(reply.status == status)
    #expect(platform.pinRetries == 8, "a refusal costs no try")
  }

  @Test("the old way takes neither permissions nor rpId", arguments: [9, 0x0A])
  func supersededParameters(key: Int) throws {
    let (platform, _) = try withPIN()
    let shared = try platform.shared()
    let reply = platform.call(
      .clientPIN,
      [
        (1, .int(2)), (2, .int(5)), (3, shared.keyAgreement),
        (6, .bytes(try shared.encrypt(Platform.pinHash(Self.pin)))), (key, key == 9 ? .int(1) : .text("a.org")),
      ])
    #expect(reply.status == .invalidParameter)
  }

  @Test("a token is bound to the rpId it was asked for, or first used with")
  func rpIdBinding() throws {
    let (platform, id) = try withPIN()
    let bound = try platform.token(Self.pin, 0x02, rpId: "other.org")
    #expect(platform.call(.getAssertion, Platform.assertion(allow: [id], token: bound)).status == .pinAuthInvalid)
    let free = try platform.token(Self.pin, nil)
    let silent = [("up", false)]
    for (rpId, status) in [
      (Platform.rpId, CTAPStatus.success), ("other.org", .pinAuthInvalid), (Platform.rpId, .success),
    ] {
      #expect(
        platform.call(.getAssertion, Platform.assertion(rpId: rpId, allow: [id], options: silent, token: free)).status
          == status)
    }
  }

  @Test("a touch uses a token up, a silent assertion does not; what writes large blobs stays")
  func usedUp() throws {
    let (platform, id) = try withPIN()
    let token = try platform.token(Self.pin, 0x12)
    for _ in 0..<2 {
      #expect(
        platform.call(.getAssertion, Platform.assertion(allow: [id], options: [("up", false)], token: token)).status
          == .success)
    }
    #expect(Use.getAssertion.run(platform, token, id: id) == .success)
    #expect(Use.getAssertion.run(platform, token, id: id) == .pinAuthInvalid)
    #expect(Use.largeBlobWrite.run(platform, token, id: id) == .success)
  }

  @Test("a new token ends the last one, of either protocol", arguments: [1, 2], [1, 2])
  func replaced(first: Int, second: Int) throws {
    let (platform, _) = try withPIN()
    let old = try platform.token(Self.pin, 0x04, rpId: nil, first)
    #expect(platform.manage(1, token: old).status == .success)
    let new = try platform.token(Self.pin, 0x04, rpId: nil, second)
    #expect(platform.manage(1, token: old).status == .pinAuthInvalid)
    #expect(platform.manage(1, token: new).status == .success)
    #expect(try platform.changePIN(Self.pin, "1111") == .success)
    #expect(platform.manage(1, token: new).status == .pinAuthInvalid)
  }

  @Test("a token names its protocol", arguments: [1, 2])
  func otherProtocol(number: Int) throws {
    let (platform, id) = try withPIN()
    let token = try platform.token(Self.pin, 0x02, number)
    let other = Platform.Token(number: 3 - number, bytes: token.bytes)
    #expect(Use.getAssertion.run(platform, other, id: id) == .pinAuthInvalid)
    // The whole value counts, not its first half.
    var cut = Platform.assertion(allow: [id], token: token)
    cut[5].1 = .bytes(Array(token.authenticate(Platform.hash).prefix(number == 1 ? 8 : 16)))
    #expect(platform.call(.getAssertion, cut).status == .pinAuthInvalid)
    #expect(Use.getAssertion.run(platform, token, id: id) == .success)
  }

  @Test("a token lies unused for 30 s, and lives for 600 s")
  func expiry() throws {
    for (waits, status) in [
      ([29_999], CTAPStatus.success), ([30_000], .pinAuthInvalid), ([29_000, 500_000], .success),
      ([29_000, 571_000], .pinAuthInvalid),
    ] as [([Int64], CTAPStatus)] {
      let time = ManualClock()
      let (platform, _) = try withPIN(clock: time.clock)
      let token = try platform.token(Self.pin, 0x04, rpId: nil)
      for (n, wait) in waits.enumerated() {
        time.advance(wait)
        let got = platform.manage(1, token: token).status
        #expect(got == (n == waits.count - 1 ? status : .success), "after \(waits)")
      }
    }
  }

  @Test("power takes the token away")
  func power() throws {
    let (platform, _) = try withPIN()
    let token = try platform.token(Self.pin, 0x04, rpId: nil)
    platform.key.powerCycle()
    #expect(platform.manage(1, token: token).status == .pinAuthInvalid)
  }

  @Test("on a CTAP 2.0 key the token knows no bounds, and there is no other way to one")
  func ctap20() throws {
    let time = ManualClock()
    let platform = try Platform(.ctap20, clock: time.clock)
    let id = try platform.register()
    try #require(try platform.setPIN(Self.pin, 1) == .success)
    #expect(try platform.tokenReply(Self.pin, 0x01, 1).0 == .invalidSubcommand)
    let token = try platform.token(Self.pin, nil, 1)
    for _ in 0..<3 {
      time.advance(400_000)
      #expect(Use.getAssertion.run(platform, token, id: id) == .success)
    }
    #expect(platform.call(.makeCredential, Platform.registration()).status == .puatRequired)
    #expect(platform.call(.selection).status == .invalidCommand)
  }
}
