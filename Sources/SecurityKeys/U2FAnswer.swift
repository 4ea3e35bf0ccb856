// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// What a U2F key answered, given WebAuthn's form (CTAP 2.1 section 7): the same when a key is asked and when a record of
/// its answers is read.
public enum U2FAnswer {
  /// The answer to U2F_REGISTER without its status word, as an attestation object of format fido-u2f.
  /// - Throws: ``SecurityKeyError/badAnswer(_:)``.
  public static func registration(
    _ data: [UInt8], rpIdHash: [UInt8]
  ) throws(SecurityKeyError) -> (credentialID: [UInt8], attestationObject: [UInt8]) {
    // 05, public key (65), handle length, handle, certificate, signature.
    guard data.count > 67, data[0] == 0x05, data[1] == 0x04 else { throw .badAnswer("U2F registration") }
    let point = Array(data[2..<66])
    let handleEnd = 67 + Int(data[66])
    guard data[66] > 0, let (item, certificate) = DERItem.first(of: data, from: handleEnd),
      item.isUniversal(16)
    else {
      throw .badAnswer("U2F registration")
    }
    let handle = Array(data[67..<handleEnd])
    let key: P256.Signing.PublicKey
    do { key = try P256.Signing.PublicKey(rawRepresentation: point) } catch { throw .badAnswer("U2F public key") }
    let authData =
      rpIdHash + [0x41, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 16)
      + [UInt8(handle.count >> 8), UInt8(handle.count & 0xFF)] + handle
      + CBORValue.encode(CredentialPublicKey.cose(es256: key))
    let statement = CBORValue.encode(
      .textMap([
        ("sig", .bytes(Array(data[certificate.upperBound...]))), ("x5c", .array([.bytes(Array(data[certificate]))])),
      ]))
    return (
      handle, AttestationObject.build(format: "fido-u2f", statement: statement, authenticatorData: authData)
    )
  }

  /// The answer to U2F_AUTHENTICATE without its status word, as authenticator data and signature.
  /// - Throws: ``SecurityKeyError/badAnswer(_:)``.
  public static func assertion(
    _ data: [UInt8], rpIdHash: [UInt8]
  ) throws(SecurityKeyError) -> (authenticatorData: [UInt8], signature: [UInt8]) {
    guard data.count > 5 else { throw .badAnswer("U2F assertion") }
    return (rpIdHash + [data[0] & 0x01] + data[1..<5], Array(data[5...]))
  }
}
