// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// A pinUvAuthToken (CTAP 2.1 section 6.5.2.1): serves one relying party in one ceremony, and is gone with it.
final class PINToken: Sendable {
  /// What the token may do (section 6.5.5.7).
  struct Permissions: OptionSet {
    let rawValue: Int
    static let makeCredential = Permissions(rawValue: 0x01)
    static let getAssertion = Permissions(rawValue: 0x02)
  }

  /// The protocol it was got by.
  let version: PINProtocol
  private let secret: SecretBytes

  init(_ secret: consuming SecretBytes, _ version: PINProtocol) {
    self.version = version
    self.secret = secret
  }

  /// pinUvAuthParam over `message`.
  func authenticate(_ message: [UInt8]) -> [UInt8] { version.authenticate(message, key: secret) }
}

/// What both sides share after authenticatorClientPIN's getKeyAgreement.
final class PINAgreement: Sendable {
  let version: PINProtocol
  /// This platform's public key, as COSE.
  let publicKey: CBORValue
  private let secret: PINProtocol.SharedSecret

  init(_ secret: consuming PINProtocol.SharedSecret, _ publicKey: CBORValue) {
    version = secret.version
    self.publicKey = publicKey
    self.secret = secret
  }

  func encrypt(_ plaintext: borrowing SecretBytes) throws(SecurityKeyError) -> [UInt8] {
    do { return try secret.encrypt(plaintext) } catch { throw .badAnswer("PIN protocol: \(error.message)") }
  }

  func decrypt(_ ciphertext: [UInt8]) throws(SecurityKeyError) -> SecretBytes {
    do { return try secret.decrypt(ciphertext) } catch { throw .badAnswer("PIN protocol: \(error.message)") }
  }

  func authenticate(_ message: [UInt8]) -> [UInt8] { version.authenticate(message, key: secret.hmacKey) }
}

extension Probe {
  /// getKeyAgreement (section 6.5.5.4), and our half of it.
  func agree(_ version: PINProtocol) throws(SecurityKeyError) -> PINAgreement {
    let reply = try clientPIN([(1, .int(version.rawValue)), (2, .int(2))])
    guard let theirs = reply[1], theirs[1]?.int == 2, theirs[-1]?.int == 1, let x = theirs[-2]?.bytes,
      let y = theirs[-3]?.bytes, x.count == 32, y.count == 32
    else { throw .badAnswer("clientPIN: no public key") }
    do throws(CryptoError) {
      let ours = try P256.KeyAgreement.PrivateKey()
      let z = try ours.sharedSecretFromKeyAgreement(with: P256.KeyAgreement.PublicKey(rawRepresentation: x + y))
      let point = ours.publicKey.rawRepresentation
      // The algorithm that some keys insist on (QUIRKS Q38).
      let publicKey: CBORValue = .intMap([
        (1, .int(2)), (3, .int(-25)), (-1, .int(1)), (-2, .bytes(Array(point.prefix(32)))),
        (-3, .bytes(Array(point.suffix(32)))),
      ])
      return PINAgreement(try PINProtocol.SharedSecret(z, version), publicKey)
    } catch { throw .badAnswer("clientPIN: \(error.message)") }
  }

  /// A token for `rpID` by PIN (sections 6.5.5.7.1 and 6.5.5.7.2), or by the key's own reader when `pin` is nil
  /// (section 6.5.5.7.3). A wrong PIN costs a try.
  func token(
    _ agreement: PINAgreement, _ permissions: PINToken.Permissions, rpID: String, pin: CheckedPIN?
  ) throws(SecurityKeyError) -> PINToken {
    let hasPermissions = info.option("pinUvAuthToken") == true
    guard pin != nil || hasPermissions else { throw .notOffered("a token by fingerprint") }
    let subcommand = pin == nil ? 6 : hasPermissions ? 9 : 5
    var members: [(Int, CBORValue?)] = [
      (1, .int(agreement.version.rawValue)), (2, .int(subcommand)), (3, agreement.publicKey),
    ]
    if let pin { members.append((6, .bytes(try agreement.encrypt(pin.leftHash())))) }
    if hasPermissions { members += [(9, .int(permissions.rawValue)), (10, .text(rpID))] }
    let reply = try clientPIN(members)
    guard let encrypted = reply[2]?.bytes else { throw .badAnswer("clientPIN: no token") }
    let token = try agreement.decrypt(encrypted)
    // 16 or 32 bytes by the standard; longer ones have been seen (QUIRKS Q40).
    guard token.count >= 16, token.count.isMultiple(of: 16) else { throw .badAnswer("clientPIN: a token cut short") }
    return PINToken(token, agreement.version)
  }
}
