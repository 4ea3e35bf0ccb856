// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// The private side of a ``KEMBundle``: what opens envelopes.
public struct PrivateBundle: ~Copyable, Sendable {
  /// The X25519 private key, 32 bytes.
  public let x25519: SecretBytes
  /// The ML-KEM-768 seed, 64 bytes, where there is one.
  public let mlkem768Seed: SecretBytes?
  /// The public side, recomputed. X25519 alone where there is no seed, or where this libcrypto cannot expand it.
  public let publicKeys: KEMBundle
  /// There is a seed, and this machine's libcrypto has no ML-KEM-768: the ML-KEM side can be kept, not used.
  public let isMissingMLKEM: Bool

  /// A fresh bundle: with ML-KEM-768 where this libcrypto has it.
  public init() throws(WrapError) {
    try self.init(
      x25519: .random(count: 32), mlkem768Seed: MLKEM768.isAvailable ? .random(count: MLKEM768.seedByteCount) : nil)
  }

  /// From the private bytes: 32, and 64 or none.
  /// - Throws: ``WrapError/badHalves(reason:)``.
  public init(x25519: consuming SecretBytes, mlkem768Seed: consuming SecretBytes?) throws(WrapError) {
    let publicX25519: [UInt8]
    do { publicX25519 = try X25519.PrivateKey(rawRepresentation: x25519).publicKey.rawRepresentation } catch {
      throw .badHalves(reason: "the X25519 key is not a key")
    }
    var publicMLKEM: [UInt8]?
    var isMissing = false
    switch mlkem768Seed {
    case .some(let seed):
      guard seed.count == MLKEM768.seedByteCount else { throw .badHalves(reason: "the ML-KEM seed has a wrong length") }
      do { publicMLKEM = try MLKEM768.PrivateKey(seed: seed).publicKey } catch {
        guard case .unavailable = error else { throw .crypto(error) }
        isMissing = true
      }
    case .none: break
    }
    guard let bundle = KEMBundle(x25519: publicX25519, mlkem768: publicMLKEM) else {
      throw .badHalves(reason: "a public key has a wrong length")
    }
    self.x25519 = x25519
    self.mlkem768Seed = mlkem768Seed
    self.publicKeys = bundle
    self.isMissingMLKEM = isMissing
  }
}

/// The private halves of a device: what it signs with and what it opens with.
public struct PrivateHalves: ~Copyable, Sendable {
  /// The P-256 signing key, 32 bytes.
  public let signingKey: SecretBytes
  /// The public side of it, 65 bytes.
  public let devicePublicKey: [UInt8]
  /// What opens envelopes.
  public let bundle: PrivateBundle

  /// Fresh halves, in locked memory only.
  public init() throws(WrapError) {
    let signingKey: SecretBytes
    do { signingKey = try P256.Signing.PrivateKey().rawRepresentation() } catch { throw .crypto(error) }
    try self.init(signingKey: signingKey, bundle: PrivateBundle())
  }

  /// From the private bytes.
  /// - Throws: ``WrapError/badHalves(reason:)``.
  public init(signingKey: consuming SecretBytes, bundle: consuming PrivateBundle) throws(WrapError) {
    do {
      devicePublicKey = try P256.Signing.PrivateKey(rawRepresentation: signingKey).publicKey.x963Representation
    } catch { throw .badHalves(reason: "the signing key is not a key") }
    self.signingKey = signingKey
    self.bundle = bundle
  }

  /// A second, independent copy.
  /// - Throws: ``WrapError``, when libcrypto fails.
  public borrowing func clone() throws(WrapError) -> PrivateHalves {
    let seed: SecretBytes?
    switch bundle.mlkem768Seed {
    case .some(let known): seed = known.clone()
    case .none: seed = nil
    }
    return try PrivateHalves(
      signingKey: signingKey.clone(), bundle: PrivateBundle(x25519: bundle.x25519.clone(), mlkem768Seed: seed))
  }

  /// Signs a digest as a device does: the digest is the message.
  public borrowing func signature(for digest: [UInt8]) throws(CryptoError) -> [UInt8] {
    try P256.Signing.PrivateKey(rawRepresentation: signingKey).signature(for: digest)
  }

  /// Seal's JSON text of the private bytes.
  public borrowing func encoded() -> SecretBytes {
    // Base64 of 64, 32 and 32 bytes, every character an escaped slash at worst, names and punctuation.
    var out = SecretJSONWriter(capacity: 2 * (88 + 44 + 44) + 64)
    out.append("{")
    switch bundle.mlkem768Seed {
    case .some(let seed):
      out.append("\"mlkem768Seed\":")
      out.append(base64: seed)
      out.append(",")
    case .none: break
    }
    out.append("\"signingKey\":")
    out.append(base64: signingKey)
    out.append(",\"x25519\":")
    out.append(base64: bundle.x25519)
    out.append("}")
    return out.finish()
  }

  /// The same with digests of the public side, which Seal passes over: a byte that changes on a disk is then noticed
  /// when the file is read, and not when an envelope does not open.
  public borrowing func encodedWithDigests() -> SecretBytes {
    var text = encoded()
    text.truncate(to: text.count - 1)
    var tail = ",\"publicDigest\":\"\(Base64.encode(Self.digest(devicePublicKey, bundle.publicKeys)))\""
    if let key = bundle.publicKeys.mlkem768 { tail += ",\"mlkemDigest\":\"\(Base64.encode(SHA256.hash(key)))\"" }
    return .joining(text, SecretBytes(Array((tail + "}").utf8)))
  }

  private static func digest(_ device: [UInt8], _ bundle: KEMBundle) -> [UInt8] {
    SHA256.hash(device + bundle.x25519)
  }

  /// Reads Seal's JSON text of the private bytes, with or without digests of the public side.
  /// - Throws: ``WrapError/badHalves(reason:)``; ``WrapError/halvesDoNotMatch(part:)`` when a digest is another.
  public init(parsing text: borrowing SecretBytes) throws(WrapError) {
    var signing: SecretBytes?
    var x25519: SecretBytes?
    var seed: SecretBytes?
    var publicDigest: [UInt8]?
    var mlkemDigest: [UInt8]?
    try text.withUnsafeBytes { bytes throws(WrapError) in
      var reader = SecretJSONReader(bytes)
      try reader.object { (name, value) throws(WrapError) in
        switch name {
        case "signingKey": signing = try value.base64(count: 32)
        case "x25519": x25519 = try value.base64(count: 32)
        case "mlkem768Seed":
          if try !value.null() { seed = try value.base64(count: 64) }
        case "publicDigest": publicDigest = try value.base64(count: 32).exposed()
        case "mlkemDigest": mlkemDigest = try value.base64(count: 32).exposed()
        default: return false
        }
        return true
      }
    }
    guard let signing, let x25519 else { throw .badHalves(reason: "a member is missing") }
    let bundle = try PrivateBundle(x25519: x25519, mlkem768Seed: seed)
    if let publicDigest {
      let key = try? P256.Signing.PrivateKey(rawRepresentation: signing).publicKey.x963Representation
      guard publicDigest == Self.digest(key ?? [], bundle.publicKeys) else {
        throw .halvesDoNotMatch(part: "public halves")
      }
    }
    if let mlkemDigest, !bundle.isMissingMLKEM, bundle.publicKeys.mlkem768.map({ SHA256.hash($0) }) != mlkemDigest {
      throw .halvesDoNotMatch(part: "public halves")
    }
    try self.init(signingKey: signing, bundle: bundle)
  }
}
