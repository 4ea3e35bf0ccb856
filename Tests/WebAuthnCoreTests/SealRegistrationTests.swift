// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Seal's reading of a registration, rule by rule (FORMATS.md 5b): its names, its order, its leniency.
@Suite(.arithmetic) struct SealRegistrationTests {
  /// One change of a good registration.
  struct Deviation: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Seal's name; nil when Seal reads it.
    let name: String?
    let change: @Sendable (inout TestRegistration) -> Void

    init(_ what: String, _ name: String?, change: @escaping @Sendable (inout TestRegistration) -> Void) {
      testDescription = what
      self.name = name
      self.change = change
    }
  }

  static let deviations: [Deviation] = [
    Deviation("no change", nil) { _ in },
    Deviation("no authData", "noAuthData") { $0.members = [(.text("fmt"), .text("none"))] },
    Deviation("authData of text", "noAuthData") { $0.members = [(.text("authData"), .text("x"))] },
    Deviation("numbers for names", "noAuthData") { $0.members = [(.int(2), .bytes($0.authenticatorData))] },
    Deviation("authData alone: Seal reads nothing else", nil) {
      $0.members = [(.text("authData"), .bytes($0.authenticatorData))]
    },
    Deviation("bytes after the object: ignored", nil) { $0.afterObject = [0xff] },
    Deviation("authData of 37 bytes with AT", "noAttestedCredential") {
      $0.authenticatorDataOverride = Array($0.authenticatorData.prefix(37))
    },
    Deviation("AT clear", "noAttestedCredential") {
      var data = $0.authenticatorData
      data[32] = 0x01
      $0.authenticatorDataOverride = data
    },
    Deviation("authData of 38 bytes", "malformedAuthData") {
      $0.authenticatorDataOverride = Array($0.authenticatorData.prefix(38))
    },
    Deviation("authData of 54 bytes", "malformedAuthData") {
      $0.authenticatorDataOverride = Array($0.authenticatorData.prefix(54))
    },
    Deviation("a credential ID of no bytes", "malformedAuthData") { $0.credentialID = [] },
    Deviation("a credential ID of 1,024 bytes", "malformedAuthData") {
      $0.credentialID = [UInt8](repeating: 9, count: 1024)
    },
    Deviation("a credential ID of 1,023 bytes", nil) { $0.credentialID = [UInt8](repeating: 9, count: 1023) },
    Deviation("a lying credential ID length", "malformedAuthData") { $0.credentialIDLength = 1000 },
    Deviation("nothing after the credential ID", "malformedAuthData") { $0.keyBytes = [] },
    Deviation("bytes after the key: ignored, whatever they are", nil) { $0.afterKey = [0xff, 0xff] },
    Deviation("UP clear: not looked at", nil) { $0.flags = 0x40 },
    Deviation("another relying party: not looked at", nil) { $0.rpIdHash = [UInt8](repeating: 0, count: 32) },
    Deviation("kty absent: not looked at", nil) { $0.setKey(1, nil) },
    Deviation("alg absent: allowed", nil) { $0.setKey(3, nil) },
    Deviation("crv absent: allowed", nil) { $0.setKey(-1, nil) },
    Deviation("alg EdDSA", "unsupportedAlgorithm(-8)") { $0.setKey(3, .int(-8)) },
    Deviation("crv Ed25519", "unsupportedCurve(6)") { $0.setKey(-1, .int(6)) },
    Deviation("alg before crv", "unsupportedAlgorithm(-35)") {
      $0.setKey(3, .int(-35))
      $0.setKey(-1, .int(2))
    },
    Deviation("x absent", "missingCoordinates") { $0.setKey(-2, nil) },
    Deviation("y of text", "missingCoordinates") { $0.setKey(-3, .text("y")) },
    Deviation("y a sign bit: not in Seal's CBOR", "unsupported(245)") { $0.setKey(-3, .bool(true)) },
    Deviation("x of 31 bytes: padded, and then another point", "badPublicKey") {
      $0.setKey(-2, .bytes(Array($0.x.dropFirst())))
    },
    Deviation("x with zeros before it: stripped", nil) { $0.setKey(-2, .bytes([0, 0, 0, 0] + $0.x)) },
    Deviation("x of 33 bytes", "oversizedCoordinate") { $0.setKey(-2, .bytes([1] + $0.x)) },
    Deviation("y of 64 bytes", "oversizedCoordinate") { $0.setKey(-3, .bytes($0.y + $0.y)) },
    Deviation("x empty", "badPublicKey") { $0.setKey(-2, .bytes([])) },
    Deviation("the key an array", "missingCoordinates") { $0.keyBytes = [0x80] },
    Deviation("the key cut", "truncated") { $0.keyBytes = [0xa5, 0x01] },
    Deviation("the key nested 100,000 deep", "tooDeep") { $0.keyBytes = [UInt8](repeating: 0x81, count: 60_000) },
    Deviation("an indefinite map", "unsupported(191)") { $0.keyBytes = [0xbf, 0xff] },
    Deviation("a tag", "unsupported(194)") { $0.keyBytes = [0xc2, 0x41, 0x01] },
    Deviation("a count of 2^64 - 1", "tooLarge") { $0.keyBytes = [0xbb] + [UInt8](repeating: 0xff, count: 8) },
    Deviation("a boolean in the statement: not in Seal's CBOR", "unsupported(244)") {
      $0.members = [
        (.text("fmt"), .text("x")), (.text("attStmt"), .map([(.text("a"), .bool(false))])),
        (.text("authData"), .bytes($0.authenticatorData)),
      ]
    },
  ]

  @Test(arguments: deviations) func hasSealsName(_ deviation: Deviation) {
    var registration = TestRegistration()
    deviation.change(&registration)
    do {
      let parsed = try SealRegistration(attestationObject: registration.attestationObject)
      #expect(deviation.name == nil)
      #expect(parsed.publicKey == TestRegistration.fixedKey)
      #expect(parsed.credentialID == registration.credentialID)
    } catch {
      #expect(error.name == deviation.name)
    }
  }

  /// Seal's hostile set for the whole object.
  @Test(arguments: [
    ("", "truncated"), ("3bffffffffffffffff", "noAuthData"), ("5bffffffffffffffff", "tooLarge"),
    ("bbffffffffffffffff", "tooLarge"), ("9a7fffffff", "truncated"), ("9f", "unsupported(159)"), ("19ff", "truncated"),
    ("80", "noAuthData"), ("00", "noAuthData"),
  ])
  func hostile(_ hex: String, _ name: String) {
    do {
      _ = try SealRegistration(attestationObject: bytes(hex: hex))
      Issue.record("accepted")
    } catch {
      #expect(error.name == name)
    }
  }

  @Test func nesting() {
    #expect(throws: SealRegistrationError.cbor(.tooDeep(offset: 17))) {
      try SealRegistration(attestationObject: [UInt8](repeating: 0x81, count: 100_000))
    }
  }
}
