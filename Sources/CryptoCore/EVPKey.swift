// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// An EVP_PKEY that is freed with its last holder.
// Sendable although it holds a pointer: the key is never changed after it is made, and libcrypto counts references and
// fills its caches under its own locks.
final class EVPKey: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes ownership.
  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  deinit { EVP_PKEY_free(pointer) }

  /// A key from its parameters. Nil when libcrypto refuses them or does not know the type.
  convenience init?(type: String, selection: Int32, _ parameters: borrowing Parameters) {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else {
      ERR_clear_error()
      return nil
    }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_fromdata_init(context) == 1,
      parameters.withPointer({ EVP_PKEY_fromdata(context, &key, selection, $0) }) == 1, let key
    else {
      EVP_PKEY_free(key)
      ERR_clear_error()
      return nil
    }
    self.init(key)
  }

  /// A raw public key: X25519, Ed25519, Ed448, ML-DSA.
  convenience init?(type: String, rawPublic bytes: [UInt8]) {
    guard let key = EVP_PKEY_new_raw_public_key_ex(nil, type, nil, bytes, bytes.count) else {
      ERR_clear_error()
      return nil
    }
    self.init(key)
  }

  /// A raw private key.
  convenience init?(type: String, rawPrivate secret: borrowing SecretBytes) {
    let key = secret.withUnsafeBytes {
      EVP_PKEY_new_raw_private_key_ex(nil, type, nil, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
    }
    guard let key else {
      ERR_clear_error()
      return nil
    }
    self.init(key)
  }

  /// The raw public key.
  func rawPublic(_ count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var length = count
    guard EVP_PKEY_get_raw_public_key(pointer, &bytes, &length) == 1, length == count else {
      throw .openssl("EVP_PKEY_get_raw_public_key")
    }
    return bytes
  }

  /// The raw private key.
  func rawPrivate(_ count: Int) throws(CryptoError) -> SecretBytes {
    var length = count
    var ok = false
    let secret = SecretBytes(count: count) {
      ok = EVP_PKEY_get_raw_private_key(pointer, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &length) == 1
    }
    guard ok, length == count else { throw .openssl("EVP_PKEY_get_raw_private_key") }
    return secret
  }

  /// An octet-string parameter of the key, of exactly `count` bytes.
  func octets(_ name: String, _ count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var length = 0
    guard EVP_PKEY_get_octet_string_param(pointer, name, &bytes, count, &length) == 1, length == count else {
      throw .openssl("EVP_PKEY_get_octet_string_param")
    }
    return bytes
  }

  /// Whether `signature` over `message` verifies; `digest` is nil for algorithms that hash for themselves.
  func verifies(_ signature: [UInt8], _ message: [UInt8], digest: OpaquePointer?) -> Bool {
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestVerifyInit(context, nil, digest, nil, pointer) == 1,
      EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    else {
      ERR_clear_error()
      return false
    }
    return true
  }

  /// A signature over `message`.
  func sign(_ message: [UInt8], digest: OpaquePointer?) throws(CryptoError) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw .openssl("EVP_MD_CTX_new") }
    defer { EVP_MD_CTX_free(context) }
    var length = 0
    guard EVP_DigestSignInit(context, nil, digest, nil, pointer) == 1,
      EVP_DigestSign(context, nil, &length, message, message.count) == 1
    else { throw .openssl("EVP_DigestSignInit") }
    var signature = [UInt8](repeating: 0, count: length)
    guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else {
      throw .openssl("EVP_DigestSign")
    }
    return Array(signature.prefix(length))
  }

  /// The Diffie-Hellman secret with `peer`, of exactly `count` bytes.
  func agree(with peer: EVPKey, count: Int) throws(CryptoError) -> SecretBytes {
    guard let context = EVP_PKEY_CTX_new(pointer, nil) else { throw .openssl("EVP_PKEY_CTX_new") }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer.pointer) == 1 else {
      throw .clearing(.agreementFailed)
    }
    var length = count
    var ok = false
    let secret = SecretBytes(count: count) {
      ok = EVP_PKEY_derive(context, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &length) == 1
    }
    guard ok, length == count else { throw .clearing(.agreementFailed) }
    return secret
  }
}
