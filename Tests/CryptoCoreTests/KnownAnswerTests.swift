// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing

/// Published answers, or answers of python `cryptography` for keys that count 1, 2, 3 ...
@Suite(.arithmetic) struct KnownAnswerTests {
  private var first: SecretBytes { SecretBytes(Array(1...32)) }
  private var second: SecretBytes { SecretBytes(Array(33...64)) }

  @Test func sha2() {
    #expect(
      SHA256.hash(Array("abc".utf8))
        == bytes(hex: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    #expect(SHA384.hash(Array("abc".utf8)).starts(with: bytes(hex: "cb00753f45a35e8bb5a03d699ac65007")))
    #expect(SHA512.hash(Array("abc".utf8)).starts(with: bytes(hex: "ddaf35a193617abacc417349ae204131")))
    var streamed = SHA256()
    streamed.update(Array("a".utf8))
    streamed.update([])
    streamed.update(Array("bc".utf8))
    #expect(streamed.finalize() == SHA256.hash(Array("abc".utf8)))
  }

  /// RFC 4231 test case 2, and the empty message under the empty key.
  @Test func hmac() {
    #expect(
      HMAC.sha256(Array("what do ya want for nothing?".utf8), key: SecretBytes(Array("Jefe".utf8)))
        == bytes(hex: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
    #expect(
      HMAC.sha256([], key: SecretBytes([]))
        == bytes(hex: "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"))
  }

  /// RFC 5869 test case 1.
  @Test func hkdf() throws {
    let output = try HKDF.sha256(
      inputKeyMaterial: SecretBytes([UInt8](repeating: 0x0b, count: 22)), salt: Array(0...12),
      info: Array(0xf0...0xf9), outputByteCount: 42)
    #expect(
      output.exposed()
        == bytes(hex: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"))
    #expect(throws: CryptoError.badLength(what: "derived key", count: 0)) {
      _ = try HKDF.sha256(inputKeyMaterial: SecretBytes([1]), salt: [], info: [], outputByteCount: 0)
    }
  }

  @Test func x25519() throws {
    let a = try X25519.PrivateKey(rawRepresentation: first)
    let b = try X25519.PrivateKey(rawRepresentation: second)
    #expect(
      a.publicKey.rawRepresentation == bytes(hex: "07a37cbc142093c8b755dc1b10e86cb426374ad16aa853ed0bdfc0b2b86d1c7c"))
    let secret = bytes(hex: "a84dc7c3c8f058b1b2dc4cd1e9b5dc0a7987f88b6a9564cde3391fc421159e77")
    #expect(try a.sharedSecretFromKeyAgreement(with: b.publicKey).exposed() == secret)
    #expect(try b.sharedSecretFromKeyAgreement(with: a.publicKey).exposed() == secret)
    #expect(try a.rawRepresentation().exposed() == Array(1...32))
    let zero = try X25519.PublicKey(rawRepresentation: [UInt8](repeating: 0, count: 32))
    #expect(throws: CryptoError.agreementFailed) { _ = try a.sharedSecretFromKeyAgreement(with: zero) }
  }

  @Test func ed25519() throws {
    let key = try Ed25519.PrivateKey(rawRepresentation: first)
    let signature = bytes(
      hex: "71dcb65f01d32556134ca44d130715adb02210919a8a47e016773d742b421895"
        + "ebf1df3d9bf447b857adec983f055855c9a4260ad9a1f96da4c82f50bec7ce01")
    #expect(
      key.publicKey.rawRepresentation == bytes(hex: "79b5562e8fe654f94078b112e8a98ba7901f853ae695bed7e0e3910bad049664"))
    #expect(try key.signature(for: Array("abc".utf8)) == signature)
    #expect(key.publicKey.isValidSignature(signature, for: Array("abc".utf8)))
    #expect(!key.publicKey.isValidSignature(signature, for: Array("abd".utf8)))
    #expect(!key.publicKey.isValidSignature(signature + [0], for: Array("abc".utf8)))
  }

  @Test func p256() throws {
    let a = try P256.KeyAgreement.PrivateKey(rawRepresentation: first)
    let b = try P256.KeyAgreement.PrivateKey(rawRepresentation: second)
    #expect(
      a.publicKey.rawRepresentation
        == bytes(
          hex: "515c3d6eb9e396b904d3feca7f54fdcd0cc1e997bf375dca515ad0a6c3b4035f"
            + "4536be3a50f318fbf9a5475902a221502bef0d57e08c53b2cc0a56f17d9f9354"))
    #expect(
      try a.sharedSecretFromKeyAgreement(with: b.publicKey).exposed()
        == bytes(hex: "4fe243908f378aa1c2a69538822e6ed908c3225d8692575507c649901245150a"))
    #expect(try a.rawRepresentation().exposed() == Array(1...32))
  }

  @Test(arguments: [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xff, count: 32), [1], []])
  func badScalars(_ scalar: [UInt8]) {
    #expect(throws: CryptoError.badPrivateKey) {
      _ = try P256.Signing.PrivateKey(rawRepresentation: SecretBytes(scalar))
    }
  }

  @Test(arguments: [[UInt8](repeating: 1, count: 64), [UInt8](repeating: 0, count: 64), [1], []])
  func badPoints(_ point: [UInt8]) {
    #expect(throws: CryptoError.badPublicKey) { _ = try P256.Signing.PublicKey(rawRepresentation: point) }
  }

  @Test func gcm() throws {
    let key = SecretBytes(Array(0...31))
    let sealed = try AES.GCM.seal(
      SecretBytes(Array("hello seal".utf8)), using: key, nonce: Array(0...11), authenticating: Array("aad".utf8))
    #expect(sealed.ciphertext + sealed.tag == bytes(hex: "2f67ba77aac5b17eec2d16ff4180e2204a9d94a3bf240948594e"))
    let opened = try AES.GCM.open(
      sealed.ciphertext, tag: sealed.tag, using: key, nonce: Array(0...11), authenticating: Array("aad".utf8))
    #expect(opened.exposed() == Array("hello seal".utf8))
    for i in 0..<16 {
      var tag = sealed.tag
      tag[i] ^= 1
      #expect(throws: CryptoError.authenticationFailed) {
        _ = try AES.GCM.open(
          sealed.ciphertext, tag: tag, using: key, nonce: Array(0...11), authenticating: Array("aad".utf8))
      }
    }
  }

  @Test func cbc() throws {
    let key = SecretBytes(Array(0...31))
    let iv = [UInt8](repeating: 0, count: 16)
    let ciphertext = try AES.CBC.encrypt(SecretBytes(Array(0...31)), using: key, iv: iv)
    #expect(ciphertext == bytes(hex: "5a6e045708fb7196f02e553d02c3a692c77147ebd5121de8d0fae7762423b6bf"))
    #expect(try AES.CBC.decrypt(ciphertext, using: key, iv: iv).exposed() == Array(0...31))
    #expect(throws: CryptoError.badLength(what: "data", count: 15)) {
      _ = try AES.CBC.decrypt(Array(0...14), using: key, iv: iv)
    }
  }

  @Test func mlkem() throws {
    guard MLKEM768.isAvailable else {
      #expect(throws: CryptoError.unavailable("ML-KEM-768")) {
        _ = try MLKEM768.PrivateKey(seed: SecretBytes.random(count: 64))
      }
      return
    }
    let key = try MLKEM768.PrivateKey(seed: SecretBytes.random(count: 64))
    let sent = try MLKEM768.PublicKey(rawRepresentation: key.publicKey).encapsulate()
    #expect(try key.decapsulate(sent.ciphertext).isEqual(to: sent.sharedSecret))
  }
}
