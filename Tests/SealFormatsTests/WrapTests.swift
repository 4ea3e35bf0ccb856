// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

struct ClassicalWrapVector: Decodable {
  let recipient_private_hex: String
  let recipient_public_hex: String
  let ephemeral_private_hex: String
  let hkdf_salt_hex: String
  let wrap_key_hex: String
  let aad: String
  let plaintext_hex: String
  let envelope: Envelope
  let share_commitment_hex: String

  struct Envelope: Decodable {
    let suite: String
    let ephemeralPublicKey: String
    let mlkemCiphertext: String?
    let ciphertext: String

    var wrapped: WrapEnvelope? {
      guard let key = Base64.decode(ephemeralPublicKey), let data = Base64.decode(ciphertext) else { return nil }
      return WrapEnvelope(
        suite: suite, ephemeralPublicKey: key, mlkemCiphertext: mlkemCiphertext.flatMap { Base64.decode($0) },
        ciphertext: data)
    }
  }
}

struct HybridWrapVector: Decodable {
  let recipientX25519PrivateHex: String
  let mlkemSeedHex: String
  let bundleHex: String
  let ephemeralPrivateHex: String
  let ss1Hex: String
  let ss2Hex: String
  let hkdfSaltHex: String
  let wrapKeyHex: String
  let aad: String
  let plaintextHex: String
  let envelope: ClassicalWrapVector.Envelope
}

struct WrapVectors: Decodable { let hybridwrap_classical: ClassicalWrapVector }

@Suite(.arithmetic) struct WrapTests {
  private func secret(_ hex: String) -> SecretBytes { SecretBytes(bytes(hex: hex)) }
  private static let aad = SealAAD.releaseShare(estateID: "E", epoch: 1, claimID: "C")

  @Test(.enabled(if: Corpus.has("seal-vectors.json"), Comment(rawValue: Corpus.absent)))
  func classicalVector() throws {
    let vector = try Corpus.decode("seal-vectors.json", as: WrapVectors.self).hybridwrap_classical
    let envelope = try #require(vector.envelope.wrapped)
    let bundle = try PrivateBundle(x25519: secret(vector.recipient_private_hex), mlkem768Seed: nil)
    #expect(bundle.publicKeys.bytes == bytes(hex: vector.recipient_public_hex))
    let aad = SealAAD.releaseShare(
      estateID: "6F9619FF-8B86-4D01-B42D-00CF4FC964FF", epoch: 1, claimID: "0E984725-C51C-4BF4-9960-E1C80E27ABA0")
    #expect(aad == Array(vector.aad.utf8))
    let opened = try Wrap.open(envelope, with: bundle, authenticating: aad)
    #expect(opened.exposed() == bytes(hex: vector.plaintext_hex))
    #expect(SHA256.hash(opened) == bytes(hex: vector.share_commitment_hex))
    // The same ephemeral key and nonce give the same envelope.
    let made = try Wrap.seal(
      opened, to: bundle.publicKeys, authenticating: aad, suite: .classical,
      ephemeral: X25519.PrivateKey(rawRepresentation: secret(vector.ephemeral_private_hex)),
      nonce: Array(envelope.ciphertext.prefix(12)))
    #expect(made == envelope)
    #expect(try WrapEnvelope(parsing: made.encoded()) == made)
  }

  /// The derivation is checked on every system; the decapsulation where libcrypto has ML-KEM-768.
  @Test(.enabled(if: Corpus.has("hybrid-wrap.json"), Comment(rawValue: Corpus.absent)))
  func hybridVector() throws {
    let vector = try Corpus.decode("hybrid-wrap.json", as: HybridWrapVector.self)
    let envelope = try #require(vector.envelope.wrapped)
    let published = try KEMBundle(parsing: bytes(hex: vector.bundleHex))
    #expect(published.bytes == bytes(hex: vector.bundleHex))
    let ephemeral = try X25519.PrivateKey(rawRepresentation: secret(vector.ephemeralPrivateHex))
    #expect(ephemeral.publicKey.rawRepresentation == envelope.ephemeralPublicKey)
    let salt = Wrap.salt(
      ephemeral: envelope.ephemeralPublicKey, recipient: published.x25519, recipientMLKEM: published.mlkem768,
      mlkemCiphertext: envelope.mlkemCiphertext)
    #expect(salt == bytes(hex: vector.hkdfSaltHex))
    let key = try Wrap.wrapKey(ss1: secret(vector.ss1Hex), ss2: secret(vector.ss2Hex), salt: salt)
    #expect(key.exposed() == bytes(hex: vector.wrapKeyHex))
    let plaintext = try Wrap.decrypt(envelope.ciphertext, key: key, aad: Array(vector.aad.utf8))
    #expect(plaintext.exposed() == bytes(hex: vector.plaintextHex))

    let bundle = try PrivateBundle(
      x25519: secret(vector.recipientX25519PrivateHex), mlkem768Seed: secret(vector.mlkemSeedHex))
    if MLKEM768.isAvailable {
      #expect(bundle.publicKeys == published)
      let opened = try Wrap.open(envelope, with: bundle, authenticating: Array(vector.aad.utf8))
      #expect(opened.exposed() == bytes(hex: vector.plaintextHex))
      let again = try Wrap.seal(opened, to: published, authenticating: Self.aad, suite: .hybrid)
      #expect(try Wrap.open(again, with: bundle, authenticating: Self.aad).exposed() == opened.exposed())
    } else {
      #expect(bundle.isMissingMLKEM && bundle.publicKeys.x25519 == published.x25519)
      #expect(throws: WrapError.mlkemUnavailable) {
        _ = try Wrap.open(envelope, with: bundle, authenticating: Array(vector.aad.utf8))
      }
      #expect(throws: WrapError.mlkemUnavailable) {
        _ = try Wrap.seal(plaintext, to: published, authenticating: Self.aad, suite: .hybrid)
      }
    }
    // A classical wrap to a hybrid bundle opens with the X25519 key alone, whatever libcrypto has.
    let classical = try Wrap.seal(plaintext, to: published, authenticating: Self.aad, suite: .classical)
    #expect(classical.suite == "x25519" && classical.mlkemCiphertext == nil)
    #expect(try Wrap.open(classical, with: bundle, authenticating: Self.aad).exposed() == plaintext.exposed())
    let best = try Wrap.seal(plaintext, to: published, authenticating: Self.aad)
    #expect(best.suite == (MLKEM768.isAvailable ? "x25519+mlkem768" : "x25519"))
  }

  @Test func changedEnvelopesStayClosed() throws {
    let bundle = try PrivateBundle(x25519: .random(count: 32), mlkem768Seed: nil)
    let good = try Wrap.seal(SecretBytes([1, 2, 3]), to: bundle.publicKeys, authenticating: Self.aad)
    #expect(good.ciphertext.count == 12 + 3 + 16)
    func isClosed(_ envelope: WrapEnvelope, _ aad: [UInt8] = Self.aad) {
      #expect(throws: WrapError.self) { _ = try Wrap.open(envelope, with: bundle, authenticating: aad) }
    }
    for index in good.ciphertext.indices {
      var changed = good
      changed.ciphertext[index] ^= 0x80
      isClosed(changed)
      changed.ciphertext = Array(good.ciphertext[..<index])
      isClosed(changed)
    }
    for index in good.ephemeralPublicKey.indices.dropLast() {
      var changed = good
      changed.ephemeralPublicKey[index] ^= 1
      isClosed(changed)
    }
    var changed = good
    changed.ephemeralPublicKey = [UInt8](repeating: 0, count: 32)
    isClosed(changed)
    changed.ephemeralPublicKey = [9]
    isClosed(changed)
    changed = good
    changed.suite = "x25519+mlkem768"
    isClosed(changed)
    changed.mlkemCiphertext = [UInt8](repeating: 0, count: 1088)
    isClosed(changed)
    changed.suite = "x25519"
    isClosed(changed)
    changed = good
    changed.suite = "rot13"
    isClosed(changed)
    isClosed(good, SealAAD.releaseShare(estateID: "E", epoch: 2, claimID: "C"))
    let other = try PrivateBundle(x25519: .random(count: 32), mlkem768Seed: nil)
    #expect(throws: WrapError.self) { _ = try Wrap.open(good, with: other, authenticating: Self.aad) }
  }

  @Test func bundles() {
    for count in [0, 1, 31, 33, 1219, 1221] {
      #expect(throws: WrapError.badBundle(count: count)) {
        _ = try KEMBundle(parsing: [UInt8](repeating: 0x53, count: count))
      }
    }
    #expect(throws: WrapError.badBundle(count: 1220)) {
      _ = try KEMBundle(parsing: Array("SKB2".utf8) + [UInt8](repeating: 0, count: 1216))
    }
    #expect(KEMBundle(x25519: [1], mlkem768: nil) == nil)
  }

  /// Devices without a usable bundle and copies of one bundle are passed over; one must remain.
  @Test func wrappingToAPerson() throws {
    let claimant = try TestPerson("Claimant")
    let first = try PrivateBundle(x25519: .random(count: 32), mlkem768Seed: nil)
    let second = Random.bytes(32)
    var devices: [TestDevice] = [try TestDevice(bundle: []), try TestDevice(bundle: first.publicKeys.bytes)]
    devices += [try TestDevice(bundle: first.publicKeys.bytes), try TestDevice(bundle: second)]
    devices += [try TestDevice(bundle: [UInt8](repeating: 0, count: 32))]
    var record = try claimant.record()
    record.deviceEndorsements = try devices.map { try claimant.endorse($0) }
    let identity = try VerifiedIdentity(record: record)
    #expect(identity.devices.count == 5)
    let share = try EstateShare(
      SecretBytes([3] + Random.bytes(32)), holder: "h", index: 3, commitment: nil)
    let made = try share.wrapped(for: identity, estateID: "E", epoch: 7, claimID: "C")
    #expect(
      made.outcomes == [
        .skippedBadBundle, .wrapped(suite: "x25519"), .skippedDuplicate, .wrapped(suite: "x25519"), .skippedFailed,
      ])
    #expect(made.envelopes.count == 2 && made.envelopes[0].ciphertext.count == 61)
    let opened = try Wrap.open(
      made.envelopes[0], with: first,
      authenticating: SealAAD.releaseShare(estateID: "E", epoch: 7, claimID: "C"))
    #expect(opened.exposed() == share.bytes.exposed())
    record.deviceEndorsements = [try claimant.endorse(devices[0])]
    let bare = try VerifiedIdentity(record: record)
    #expect(throws: WrapError.noRecipients) { _ = try share.wrapped(for: bare, estateID: "E", epoch: 7, claimID: "C") }
  }
}

extension EstateShare {
  /// A share whose commitment is its own: for tests that do not look at commitments.
  fileprivate init(_ bytes: consuming SecretBytes, holder: String, index: UInt64, commitment: Never?) throws {
    let own = SHA256.hash(bytes)
    try self.init(bytes, holder: holder, index: index, commitment: own)
  }
}
