// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing

/// ECDSA signatures have one encoding each, and every other one is refused under its own name.
@Suite(.arithmetic) struct SignatureTests {
  private let message = Array("a tap".utf8)

  /// One change of a good signature.
  struct Deviation: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let name: String
    let change: @Sendable ([UInt8]) -> [UInt8]
  }

  /// The length of r sits at byte 3; r begins at byte 4.
  static let deviations: [Deviation] = [
    Deviation(testDescription: "empty", name: "signatureNotDER") { _ in [] },
    Deviation(testDescription: "a set, not a sequence", name: "signatureNotDER") { [0x31] + $0.dropFirst() },
    Deviation(testDescription: "a byte after it", name: "signatureTrailingBytes") { $0 + [0] },
    Deviation(testDescription: "a byte cut", name: "signatureNotDER") { $0.dropLast() },
    Deviation(testDescription: "a third integer", name: "signatureExtraInteger") {
      [$0[0], $0[1] + 3] + $0.dropFirst(2) + [2, 1, 1]
    },
    Deviation(testDescription: "a needless zero before r", name: "signatureNotMinimalDER") {
      [$0[0], $0[1] + 1, 2, $0[3] + 1, 0] + $0.dropFirst(4)
    },
    Deviation(testDescription: "a long length", name: "signatureNotMinimalDER") { [$0[0], 0x81] + $0.dropFirst() },
    Deviation(testDescription: "a very long length", name: "signatureNotMinimalDER") {
      [$0[0], 0x82, 0] + $0.dropFirst()
    },
    Deviation(testDescription: "an indefinite length", name: "signatureNotDER") {
      [$0[0], 0x80] + $0.dropFirst(2) + [0, 0]
    },
    Deviation(testDescription: "r is zero", name: "signatureOutOfRange") {
      let s = $0.dropFirst(4 + Int($0[3]))
      return [0x30, UInt8(3 + s.count), 2, 1, 0] + s
    },
    Deviation(testDescription: "r is negative", name: "signatureOutOfRange") {
      let s = $0.dropFirst(4 + Int($0[3]))
      return [0x30, UInt8(3 + s.count), 2, 1, 0x80] + s
    },
    Deviation(testDescription: "r is empty", name: "signatureNotDER") {
      let s = $0.dropFirst(4 + Int($0[3]))
      return [0x30, UInt8(2 + s.count), 2, 0] + s
    },
    Deviation(testDescription: "r is 33 bytes long", name: "signatureOutOfRange") {
      let s = $0.dropFirst(4 + Int($0[3]))
      return [0x30, UInt8(35 + s.count), 2, 33, 1] + [UInt8](repeating: 7, count: 32) + s
    },
  ]

  @Test(arguments: deviations) func everyOtherEncodingHasItsName(_ deviation: Deviation) throws {
    let key = try P256.Signing.PrivateKey()
    // Signatures differ in length by chance: enough of them to meet both forms.
    for _ in 0..<16 {
      let good = try key.signature(for: message)
      let bad = deviation.change(good)
      do {
        _ = try ECDSASignature(derRepresentation: bad, byteCount: 32)
        Issue.record("accepted")
      } catch {
        // A needless zero before a padded r makes 34 bytes: the same fault, seen either way.
        #expect(error.name == deviation.name)
        #expect(error.offset != nil)
      }
      #expect(!key.publicKey.isValidSignature(bad, for: message))
    }
  }

  @Test func allCurvesSignAndVerify() throws {
    let p256 = try P256.Signing.PrivateKey()
    let p384 = try P384.Signing.PrivateKey()
    let p521 = try P521.Signing.PrivateKey()
    for _ in 0..<8 {
      #expect(p256.publicKey.isValidSignature(try p256.signature(for: message), for: message))
      #expect(p384.publicKey.isValidSignature(try p384.signature(for: message), for: message))
      #expect(p521.publicKey.isValidSignature(try p521.signature(for: message), for: message))
      #expect(!p521.publicKey.isValidSignature(try p521.signature(for: message), for: [1]))
    }
  }

  /// Reading and writing are each other's inverse, short integers included.
  @Test func rawAndDERAgree() throws {
    for length in 1...32 {
      let r = [UInt8](repeating: 0, count: 32 - length) + [UInt8](repeating: 0x81, count: length)
      let s = [UInt8](repeating: 0, count: 32 - length) + [UInt8](repeating: 0x7f, count: length)
      let signature = try #require(ECDSASignature(rawRepresentation: r + s))
      let again = try ECDSASignature(derRepresentation: signature.derRepresentation, byteCount: 32)
      #expect(again.rawRepresentation == r + s)
    }
  }

  @Test func everyTruncationIsRefused() throws {
    let good = try P521.Signing.PrivateKey().signature(for: message)
    for count in 0..<good.count {
      #expect(throws: SignatureFormatError.self) {
        _ = try ECDSASignature(derRepresentation: Array(good.prefix(count)), byteCount: 66)
      }
    }
  }
}
