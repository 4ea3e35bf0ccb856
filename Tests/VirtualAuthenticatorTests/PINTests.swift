// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

@Suite("PIN")
struct PINTests {
  static let pin = "2580"

  private func withPIN(_ profile: ModelProfile = .virtual, _ number: Int = 2) throws -> Platform {
    let platform = try Platform(profile)
    try #require(try platform.setPIN(Self.pin, number) == .success)
    return platform
  }

  static let newPINs: [(String, CTAPStatus)] = [
    ("1234", .success), ("123", .pinPolicyViolation), ("", .pinPolicyViolation),
    (String(repeating: "x", count: 63), .success), (String(repeating: "x", count: 64), .pinPolicyViolation),
    // Length is in code points, not bytes: three of two bytes each are too few, four emoji of four bytes are enough.
    ("äöü", .pinPolicyViolation), ("🔑🔑🔑🔑", .success), ("é\u{301}ab", .success),
  ]

  @Test("the length of a new PIN", arguments: newPINs, [1, 2])
  func newPIN(row: (pin: String, status: CTAPStatus), number: Int) throws {
    let (pin, status) = row
    let platform = try Platform()
    #expect(try platform.setPIN(pin, number) == status)
    #expect(platform.key.info.options["clientPin"] == (status == .success))
    let other = try withPIN()
    #expect(try other.changePIN(Self.pin, pin, number) == status)
    #expect(try other.tokenReply(status == .success ? pin : Self.pin, 1).0 == .success)
  }

  @Test("a new PIN that is not UTF-8, or padded to another length", arguments: [1, 2])
  func oddNewPIN(number: Int) throws {
    let platform = try Platform()
    for (padded, status) in [
      ([0xFF, 0xFE, 0xFD, 0xFC] + [UInt8](repeating: 0, count: 60), CTAPStatus.pinPolicyViolation),
      (Platform.padded("1234", to: 48), .invalidParameter), (Platform.padded("1234", to: 80), .invalidParameter),
      ([], number == 1 ? .invalidParameter : .invalidParameter),
    ] {
      let shared = try platform.shared(number)
      let enc = try shared.encrypt(padded)
      let reply = platform.call(
        .clientPIN,
        [
          (1, .int(number)), (2, .int(3)), (3, shared.keyAgreement), (4, .bytes(shared.authenticate(enc))),
          (5, .bytes(enc)),
        ])
      #expect(reply.status == status, "\(padded.count) bytes")
    }
    #expect(platform.key.info.options["clientPin"] == false)
  }

  @Test("setPIN checks its parameters in order", arguments: [1, 2])
  func setPINParameters(number: Int) throws {
    let platform = try Platform()
    let shared = try platform.shared(number)
    let enc = try shared.encrypt(Platform.padded("1234"))
    let good: [(Int, CBORValue?)] = [
      (1, .int(number)), (2, .int(3)), (3, shared.keyAgreement), (4, .bytes(shared.authenticate(enc))),
      (5, .bytes(enc)),
    ]
    let badPoint: CBORValue = .intMap([
      (1, .int(2)), (3, .int(-25)), (-1, .int(1)), (-2, .bytes([UInt8](repeating: 1, count: 32))),
      (-3, .bytes([UInt8](repeating: 1, count: 32))),
    ])
    let table: [(Int, CBORValue?, CTAPStatus)] = [
      (1, nil, .missingParameter), (1, .int(7), .invalidParameter), (3, nil, .missingParameter),
      (3, .map([]), .invalidParameter), (3, badPoint, .invalidParameter), (4, nil, .missingParameter),
      (4, .bytes(Array(shared.authenticate(enc).dropLast())), .pinAuthInvalid), (5, nil, .missingParameter),
      (5, .bytes(try shared.encrypt(Platform.padded("4321"))), .pinAuthInvalid),
    ]
    for (key, value, status) in table {
      #expect(
        platform.call(.clientPIN, good.filter { $0.0 != key } + [(key, value)]).status == status, "member \(key)")
    }
    #expect(platform.call(.clientPIN, good).status == .success)
    #expect(platform.call(.clientPIN, good).status == .pinAuthInvalid, "a PIN is set already")
  }

  @Test("three wrong PINs in a row want the power away, eight block for good", arguments: [1, 2])
  func blocking(number: Int) throws {
    let platform = try withPIN(.virtual, number)
    var expected: [CTAPStatus] = []
    var seen: [CTAPStatus] = []
    for attempt in 1...8 {
      seen.append(try platform.tokenReply("wrong", 1, number).0)
      #expect(platform.pinRetries == 8 - attempt)
      if attempt % 3 == 0, attempt < 8 {
        // Blocked until then, and no try is lost to it.
        #expect(try platform.tokenReply(Self.pin, 1, number).0 == .pinAuthBlocked)
        #expect(try platform.changePIN(Self.pin, "1111", number) == .pinAuthBlocked)
        #expect(platform.call(.clientPIN, [(2, .int(1))])[4]?.bool == true)
        #expect(platform.pinRetries == 8 - attempt)
        platform.key.powerCycle()
        #expect(platform.call(.clientPIN, [(2, .int(1))])[4] == nil)
      }
      expected.append(attempt == 8 ? .pinBlocked : attempt % 3 == 0 ? .pinAuthBlocked : .pinInvalid)
    }
    #expect(seen == expected)
    platform.key.powerCycle()
    #expect(try platform.tokenReply(Self.pin, 1, number).0 == .pinBlocked)
    #expect(try platform.changePIN(Self.pin, "1111", number) == .pinBlocked)
  }

  @Test("the right PIN gives the tries back")
  func recovery() throws {
    let platform = try withPIN()
    for _ in 0..<2 { _ = try platform.tokenReply("wrong", 1) }
    #expect(platform.pinRetries == 6)
    #expect(try platform.tokenReply(Self.pin, 1).0 == .success)
    #expect(platform.pinRetries == 8)
    for _ in 0..<2 { #expect(try platform.tokenReply("wrong", 1).0 == .pinInvalid) }
  }

  @Test("a wrong PIN changes the key agreement key, a right one does not", arguments: [1, 2])
  func regeneration(number: Int) throws {
    let platform = try withPIN()
    func point() -> [UInt8]? { platform.call(.clientPIN, [(1, .int(number)), (2, .int(2))])[1]?[-2]?.bytes }
    let before = point()
    _ = try platform.tokenReply(Self.pin, 1, number)
    #expect(point() == before)
    _ = try platform.tokenReply("wrong", 1, number)
    #expect(point() != before)
  }

  @Test("without a PIN nothing asks for one", arguments: [1, 2])
  func notSet(number: Int) throws {
    let platform = try Platform()
    #expect(try platform.tokenReply("1234", 1, number).0 == .pinNotSet)
    #expect(try platform.tokenReply("1234", nil, number).0 == .pinNotSet)
    #expect(try platform.changePIN("1234", "4321", number) == .pinNotSet)
    #expect(platform.pinRetries == 8)
  }

  @Test("an empty pinUvAuthParam asks for a touch", arguments: [false, true])
  func touchProbe(pinIsSet: Bool) throws {
    let platform = pinIsSet ? try withPIN() : try Platform()
    for (command, members) in [
      (CTAPCommand.makeCredential, Platform.registration() + [(8, CBORValue.bytes([])), (9, .int(1))]),
      (.getAssertion, Platform.assertion() + [(6, .bytes([])), (7, .int(1))]),
    ] {
      let asked = platform.key.touch.requests.count
      let keys = Set(members.filter { $0.1 != nil }.map(\.0))
      let last = keys.compactMap { key in members.last { $0.0 == key && $0.1 != nil } }
      #expect(platform.call(command, last).status == (pinIsSet ? .pinInvalid : .pinNotSet))
      #expect(platform.key.touch.requests.count == asked + 1)
    }
  }

  @Test("forcePINChange stops every token until the PIN is another one")
  func forced() throws {
    let platform = try withPIN()
    let acfg = try platform.token(Self.pin, 0x20, rpId: nil)
    #expect(platform.config(3, .intMap([(3, .bool(true))]), token: acfg).status == .success)
    #expect(platform.key.info.forcePINChange == true)
    #expect(platform.config(2, token: acfg).status == .pinAuthInvalid, "the token is gone")
    #expect(try platform.tokenReply(Self.pin, 1).0 == .pinPolicyViolation)
    #expect(try platform.tokenReply(Self.pin, nil).0 == .pinInvalid)
    #expect(try platform.changePIN(Self.pin, Self.pin) == .pinPolicyViolation)
    #expect(platform.pinRetries == 8)
    #expect(try platform.changePIN(Self.pin, "2581") == .success)
    #expect(try platform.tokenReply("2581", 1).0 == .success)
  }
}
