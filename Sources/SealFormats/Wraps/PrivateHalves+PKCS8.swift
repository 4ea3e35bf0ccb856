// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// The private halves as PKCS#8 keys under a passphrase, each in PEM, so that other programs can read them too.
extension PrivateHalves {
  /// What stands before the private bytes in the DER text of each kind's PrivateKeyInfo.
  private enum Prefix {
    /// RFC 5915, with the curve and without the public key.
    static let p256: [UInt8] = [
      0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
      0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01, 0x01, 0x04, 0x20,
    ]
    /// RFC 8410.
    static let x25519: [UInt8] = [
      0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20,
    ]
    /// RFC 9935: the seed alone.
    static let mlkem768: [UInt8] = [
      0x30, 0x54, 0x02, 0x01, 0x00, 0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x04, 0x02, 0x04,
      0x42, 0x80, 0x40,
    ]
  }

  private static let begin = "-----BEGIN ENCRYPTED PRIVATE KEY-----"
  private static let end = "-----END ENCRYPTED PRIVATE KEY-----"

  /// P-256, X25519 and, where there is one, the ML-KEM-768 seed, in this order.
  /// - Throws: ``CryptoError``.
  public borrowing func encryptedPEM(passphrase: borrowing SecretBytes) throws(CryptoError) -> String {
    var text = try Self.pem(Prefix.p256, signingKey, passphrase)
    text += try Self.pem(Prefix.x25519, bundle.x25519, passphrase)
    switch bundle.mlkem768Seed {
    case .some(let seed): text += try Self.pem(Prefix.mlkem768, seed, passphrase)
    case .none: break
    }
    return text
  }

  private static func pem(
    _ prefix: [UInt8], _ key: borrowing SecretBytes, _ passphrase: borrowing SecretBytes
  ) throws(CryptoError) -> String {
    let sealed = try PKCS8.seal(.joining(SecretBytes(prefix), key), passphrase: passphrase)
    var rest = Base64.encode(sealed)[...]
    var lines = [begin]
    while !rest.isEmpty {
      lines.append(String(rest.prefix(64)))
      rest = rest.dropFirst(64)
    }
    return (lines + [end, ""]).joined(separator: "\n")
  }

  /// Reads them.
  /// - Throws: ``WrapError``: `badHalves` when they are not such keys; `wrongKey` when the passphrase is another.
  public init(encryptedPEM text: String, passphrase: borrowing SecretBytes) throws(WrapError) {
    var blocks: [[UInt8]] = []
    var block: [Substring]?
    for line in text.split(separator: "\n") {
      if line == Self.begin {
        block = []
      } else if line == Self.end, let lines = block {
        guard let bytes = Base64.decode(lines.joined()) else { throw .badHalves(reason: "a key in it is not base64") }
        blocks.append(bytes)
        block = nil
      } else {
        block?.append(line)
      }
    }
    guard (2...3).contains(blocks.count), block == nil else { throw .badHalves(reason: "a key is missing") }
    let signing = try Self.key(blocks[0], Prefix.p256, 32, passphrase)
    let x25519 = try Self.key(blocks[1], Prefix.x25519, 32, passphrase)
    let seed: SecretBytes? =
      blocks.count == 3 ? try Self.key(blocks[2], Prefix.mlkem768, MLKEM768.seedByteCount, passphrase) : nil
    try self.init(signingKey: signing, bundle: PrivateBundle(x25519: x25519, mlkem768Seed: seed))
  }

  private static func key(
    _ sealed: [UInt8], _ prefix: [UInt8], _ count: Int, _ passphrase: borrowing SecretBytes
  ) throws(WrapError) -> SecretBytes {
    let whole: SecretBytes
    do { whole = try PKCS8.open(sealed, passphrase: passphrase) } catch { throw .wrongKey }
    let isGood = whole.withUnsafeBytes { $0.count == prefix.count + count && $0.starts(with: prefix) }
    guard isGood else { throw .badHalves(reason: "a key in it is of another kind") }
    return whole.slice(prefix.count..<prefix.count + count)
  }
}
