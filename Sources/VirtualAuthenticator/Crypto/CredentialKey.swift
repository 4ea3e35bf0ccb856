// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// The private key of a credential, of any algorithm this key offers.
enum CredentialKey: ~Copyable, Sendable {
  case es256(P256.Signing.PrivateKey)
  case es384(P384.Signing.PrivateKey)
  case edDSA(Ed25519.PrivateKey)

  static let supported: [COSEAlgorithm] = [.es256, .edDSA, .es384]

  /// A fresh key.
  static func generate(_ algorithm: COSEAlgorithm) throws(CryptoError) -> CredentialKey {
    switch algorithm {
    case .es256: .es256(try P256.Signing.PrivateKey())
    case .es384: .es384(try P384.Signing.PrivateKey())
    case .edDSA: .edDSA(try Ed25519.PrivateKey())
    default: throw .unavailable(algorithm.description)
    }
  }

  /// From the private bytes.
  static func restore(_ algorithm: COSEAlgorithm, _ raw: borrowing SecretBytes) throws(CryptoError) -> CredentialKey {
    switch algorithm {
    case .es256: .es256(try P256.Signing.PrivateKey(rawRepresentation: raw))
    case .es384: .es384(try P384.Signing.PrivateKey(rawRepresentation: raw))
    case .edDSA: .edDSA(try Ed25519.PrivateKey(rawRepresentation: raw))
    default: throw .unavailable(algorithm.description)
    }
  }

  borrowing func rawRepresentation() throws(CryptoError) -> SecretBytes {
    switch self {
    case .es256(let key): try key.rawRepresentation()
    case .es384(let key): try key.rawRepresentation()
    case .edDSA(let key): try key.rawRepresentation()
    }
  }

  borrowing func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
    switch self {
    case .es256(let key): try key.signature(for: message)
    case .es384(let key): try key.signature(for: message)
    case .edDSA(let key): try key.signature(for: message)
    }
  }

  /// The COSE form of the public key.
  borrowing func cose() -> CBORValue {
    func point(_ alg: Int, _ curve: Int, _ raw: [UInt8]) -> CBORValue {
      .intMap([
        (1, .int(2)), (3, .int(alg)), (-1, .int(curve)), (-2, .bytes(Array(raw.prefix(raw.count / 2)))),
        (-3, .bytes(Array(raw.suffix(raw.count / 2)))),
      ])
    }
    return switch self {
    case .es256(let key): point(-7, 1, key.publicKey.rawRepresentation)
    case .es384(let key): point(-35, 2, key.publicKey.rawRepresentation)
    case .edDSA(let key):
      .intMap([(1, .int(1)), (3, .int(-8)), (-1, .int(6)), (-2, .bytes(key.publicKey.rawRepresentation))])
    }
  }

  /// The P-256 point, 65 bytes, when it is one: what U2F knows.
  borrowing func u2fPublicKey() -> [UInt8]? {
    switch self {
    case .es256(let key): key.publicKey.x963Representation
    default: nil
    }
  }
}
