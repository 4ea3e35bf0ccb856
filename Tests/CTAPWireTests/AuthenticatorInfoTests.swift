// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import CTAPWire

@Suite("getInfo", .arithmetic)
struct AuthenticatorInfoTests {
  /// A getInfo of a GoTrust Idem, published with a report that its options are not in canonical order (QUIRKS Q30).
  static let unordered =
    "a60182684649444f5f325f30665532465f563202816b686d61632d73656372657403509f0d8150baa54c009299ad62c8bb4e87"
    + "04a464706c6174f462726bf569636c69656e7450696ef5627570f505190400068101"

  static var full: AuthenticatorInfo {
    var info = AuthenticatorInfo(versions: ["FIDO_2_1", "U2F_V2"], aaguid: [UInt8](1...16))
    info.extensions = ["credProtect", "hmac-secret"]
    info.options = ["rk": true, "up": true, "clientPin": false]
    info.maxMsgSize = 1200
    info.pinUvAuthProtocols = [2, 1]
    info.maxCredentialCountInList = 8
    info.maxCredentialIdLength = 128
    info.transports = ["usb", "nfc"]
    info.algorithms = [.init(alg: -7), .init(alg: -8), .init(alg: -70000)]
    info.maxSerializedLargeBlobArray = 1024
    info.forcePINChange = false
    info.minPINLength = 4
    info.firmwareVersion = .max
    info.maxCredBlobLength = 32
    info.maxRPIDsForSetMinPINLength = 4
    info.preferredPlatformUvAttempts = 3
    info.uvModality = 2
    info.certifications = ["FIDO": 1]
    info.remainingDiscoverableCredentials = 25
    info.vendorPrototypeConfigCommands = []
    info.attestationFormats = ["packed", "none"]
    info.uvCountSinceLastPinEntry = 0
    info.longTouchForReset = true
    info.encIdentifier = [1, 2, 3]
    info.transportsForReset = ["usb"]
    info.pinComplexityPolicy = false
    info.pinComplexityPolicyURL = Array("https://example.org".utf8)
    info.maxPINLength = 63
    info.otherMembers = [.init(key: [0x18, 0x7F], value: [0xA1, 0x01, 0xF6])]
    return info
  }

  @Test("every member is written and read back")
  func roundTrip() throws {
    let bytes = Self.full.encoded()
    let read = try AuthenticatorInfo(parsing: bytes)
    #expect(read.encoded() == bytes)
    #expect(read.rawBytes == bytes)
    #expect(read.malformedMembers.isEmpty)
    #expect(read.otherMembers == Self.full.otherMembers)
    #expect(read.firmwareVersion == .max)
    #expect(read.vendorPrototypeConfigCommands == [])
    #expect(read.algorithms.last?.alg == -70000)
  }

  @Test("a map out of order is read, and shown in order")
  func lenient() throws {
    let raw = bytes(hex: Self.unordered)
    let info = try AuthenticatorInfo(parsing: raw)
    #expect(info.options == ["plat": false, "rk": true, "clientPin": true, "up": true])
    #expect(info.rawBytes == raw)
    #expect(info.encoded() != raw)
    #expect(info.encoded().count == raw.count)
  }

  @Test("a known member of the wrong type is kept and named", arguments: [0x02, 0x04, 0x05, 0x06, 0x0A, 0x13, 0x1D])
  func wrongType(number: Int) throws {
    let value: CBORValue = .map([
      (.int(1), .array([.text("FIDO_2_0")])), (.int(3), .bytes([UInt8](repeating: 0, count: 16))),
      (.int(number), .null),
    ])
    let info = try AuthenticatorInfo(parsing: CBORValue.encode(value))
    #expect(info.malformedMembers == [number])
    #expect(info.otherMembers.first?.number == Int64(number))
    #expect(info.encoded() == CBORValue.encode(value))
  }

  @Test("sizes beyond any machine's are not taken", arguments: [UInt64(1) << 31, 1 << 63, .max])
  func hugeSize(size: UInt64) throws {
    let value: CBORValue = .map([
      (.int(1), .array([.text("FIDO_2_0")])), (.int(3), .bytes([UInt8](repeating: 0, count: 16))),
      (.int(5), .unsigned(size)),
    ])
    let info = try AuthenticatorInfo(parsing: CBORValue.encode(value))
    #expect(info.maxMsgSize == nil)
    #expect(info.effectiveMaxMsgSize == 1024)
  }

  @Test("every truncation is refused under a name")
  func truncations() {
    let bytes = Self.full.encoded()
    for count in 0..<bytes.count {
      #expect(throws: AuthenticatorInfoError.self) { try AuthenticatorInfo(parsing: Array(bytes[..<count])) }
    }
    #expect(throws: AuthenticatorInfoError.notAMap) { try AuthenticatorInfo(parsing: [0x80]) }
    #expect(throws: AuthenticatorInfoError.noVersions) { try AuthenticatorInfo(parsing: [0xA0]) }
    #expect(throws: AuthenticatorInfoError.noAAGUID) { try AuthenticatorInfo(parsing: [0xA1, 0x01, 0x80]) }
  }

  @Test("the sanitised form is canonical and holds only what CTAP 2.1 has")
  func sanitised() throws {
    for pinProtocol in [nil, 1, 2] {
      let shown = Self.full.sanitised(pinProtocol: pinProtocol)
      let info = try AuthenticatorInfo(parsing: shown)
      #expect(info.encoded() == shown)
      #expect(info.pinUvAuthProtocols == (pinProtocol.map { [$0] } ?? [2, 1]))
      #expect(info.otherMembers.isEmpty)
      #expect(info.vendorPrototypeConfigCommands == nil)
      #expect(info.algorithms.map(\.alg) == [-7, -8])
    }
  }
}
