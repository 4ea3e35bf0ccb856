// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing

@testable import SealFormats

/// What X25519 with ML-KEM-768 does where libcrypto has it (OpenSSL 3.5, Debian 13), and what is said where it has not.
@Suite(.arithmetic) struct HybridTests {
  static let with: Comment = "this libcrypto has no ML-KEM-768 (OpenSSL 3.5 or later does)"
  static let without: Comment = "this libcrypto has ML-KEM-768"
  static let aad = Array("about this".utf8)

  @Test(.enabled(if: MLKEM768.isAvailable, with)) func hybridWrapsOpenAndReopen() throws {
    let halves = try PrivateHalves()
    #expect(halves.bundle.publicKeys.bytes.count == KEMBundle.hybridSize)
    let plaintext = SecretBytes.random(count: 33)
    let envelope = try Wrap.seal(plaintext, to: halves.bundle.publicKeys, authenticating: Self.aad)
    #expect(envelope.suite == WrapEnvelope.hybrid && envelope.mlkemCiphertext?.count == 1088)
    #expect(try Wrap.open(envelope, with: halves.bundle, authenticating: Self.aad).isEqual(to: plaintext))
    // Read from a file, they open it again.
    let again = try PrivateHalves(parsing: halves.encodedWithDigests())
    #expect(again.bundle.publicKeys == halves.bundle.publicKeys)
    let read = try WrapEnvelope(parsing: envelope.encoded())
    #expect(try Wrap.open(read, with: again.bundle, authenticating: Self.aad).isEqual(to: plaintext))
    // Both parts matter: one changed byte of either, or the other key's half, and it does not open.
    var changed: [WrapEnvelope] = []
    for place in [0, 500, 1087] {
      var one = envelope
      one.mlkemCiphertext?[place] ^= 1
      changed.append(one)
    }
    var ephemeral = envelope
    ephemeral.ephemeralPublicKey[0] ^= 1
    changed.append(ephemeral)
    for (index, one) in changed.enumerated() {
      #expect(throws: WrapError.self, "\(index)") {
        _ = try Wrap.open(one, with: halves.bundle, authenticating: Self.aad)
      }
    }
    let mixed = try PrivateBundle(
      x25519: halves.bundle.x25519.clone(), mlkem768Seed: .random(count: MLKEM768.seedByteCount))
    #expect(throws: WrapError.self) { _ = try Wrap.open(envelope, with: mixed, authenticating: Self.aad) }
  }

  @Test(.enabled(if: MLKEM768.isAvailable, with)) func hybridHalvesAreLockedAndKept() throws {
    let halves = try PrivateHalves()
    let prf = SecretBytes.random(count: 32)
    let salt = Random.bytes(32)
    let blob = try SponsoredLock.lock(halves, prf: prf, salt: salt)
    let opened = try SponsoredLock.unlock(blob, prf: prf, salt: salt)
    #expect(opened.bundle.publicKeys == halves.bundle.publicKeys)
    let word = SecretBytes(Array("three small words".utf8))
    let pem = try halves.encryptedPEM(passphrase: word)
    #expect(pem.split(separator: "\n").filter { $0.hasPrefix("-----BEGIN") }.count == 3)
    #expect(try PrivateHalves(encryptedPEM: pem, passphrase: word).bundle.publicKeys == halves.bundle.publicKeys)
  }

  /// A whole estate of hybrid devices: its shares, and a tap's share for the claimant.
  @Test(.enabled(if: MLKEM768.isAvailable, with)) func anEstateOfHybridDevices() async throws {
    let made = try await TestEstate.written(upTo: .released)
    let verified = await made.verify()
    #expect(verified.report.isGood)
    let material = try #require(verified.material)
    #expect(Set(material.custodianShares.flatMap { $0.envelopes.map(\.suite) }) == [WrapEnvelope.hybrid])
    let taps = try made.capsule.events.filter { $0.kind == .authorization }.flatMap {
      try AuthorizationPayload(parsing: $0.terms.payload).shareForClaimant
    }
    #expect(!taps.isEmpty && taps.allSatisfy { $0.suite == WrapEnvelope.hybrid })
  }

  @Test(.enabled(if: !MLKEM768.isAvailable, without)) func withoutMLKEMTheReasonIsSaid() throws {
    let halves = try PrivateHalves()
    #expect(halves.bundle.publicKeys.bytes.count == KEMBundle.classicalSize)
    let bundle = try #require(
      KEMBundle(x25519: halves.bundle.publicKeys.x25519, mlkem768: [UInt8](repeating: 1, count: 1184)))
    #expect(throws: WrapError.mlkemUnavailable) {
      _ = try Wrap.seal(.random(count: 33), to: bundle, authenticating: Self.aad, suite: .hybrid)
    }
    #expect(WrapError.mlkemUnavailable.message.contains("OpenSSL") && WrapError.mlkemUnavailable.next.contains("3.5"))
    let best = try Wrap.seal(.random(count: 33), to: bundle, authenticating: Self.aad)
    #expect(best.suite == WrapEnvelope.classical, "what can be done is done, and its name says which")
  }
}
