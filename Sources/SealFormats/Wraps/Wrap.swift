// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Encrypting a secret to one bundle, and opening it (RELEASE.md section 3).
public enum Wrap {
  /// How a wrap is made.
  public enum Suite: Sendable, Hashable {
    /// Hybrid where the bundle and this libcrypto can, else X25519 alone. The envelope says which.
    case best
    /// Hybrid, or nothing.
    case hybrid
    /// X25519 alone.
    case classical
  }

  private static let info = Array("seal.kem.hybrid.v1".utf8)

  /// Encrypts `secret` to `bundle`.
  ///
  /// - Throws: ``WrapError``: `badRecipient`; `mlkemUnavailable` when a hybrid wrap was demanded and cannot be made;
  ///   `badBundle` when one was demanded and the bundle is X25519 alone.
  public static func seal(
    _ secret: borrowing SecretBytes, to bundle: KEMBundle, authenticating aad: [UInt8], suite: Suite = .best
  ) throws(WrapError) -> WrapEnvelope {
    do {
      return try seal(
        secret, to: bundle, authenticating: aad, suite: suite, ephemeral: X25519.PrivateKey(),
        nonce: Random.bytes(12))
    } catch let error as WrapError {
      throw error
    } catch let error as CryptoError {
      throw .crypto(error)
    } catch {
      throw .badRecipient
    }
  }

  static func seal(
    _ secret: borrowing SecretBytes, to bundle: KEMBundle, authenticating aad: [UInt8], suite: Suite,
    ephemeral: borrowing X25519.PrivateKey, nonce: [UInt8]
  ) throws(WrapError) -> WrapEnvelope {
    let recipientMLKEM: [UInt8]?
    switch suite {
    case .classical: recipientMLKEM = nil
    case .best: recipientMLKEM = MLKEM768.isAvailable ? bundle.mlkem768 : nil
    case .hybrid:
      guard let key = bundle.mlkem768 else { throw .badBundle(count: bundle.bytes.count) }
      guard MLKEM768.isAvailable else { throw .mlkemUnavailable }
      recipientMLKEM = key
    }
    let ss1: SecretBytes
    do {
      ss1 = try ephemeral.sharedSecretFromKeyAgreement(with: X25519.PublicKey(rawRepresentation: bundle.x25519))
    } catch { throw .badRecipient }
    var ss2 = SecretBytes.zeroed(count: 0)
    var mlkemCiphertext: [UInt8]?
    if let recipientMLKEM {
      do {
        let carried = try MLKEM768.PublicKey(rawRepresentation: recipientMLKEM).encapsulate()
        mlkemCiphertext = carried.ciphertext
        ss2 = carried.sharedSecret.clone()
      } catch { throw .badRecipient }
    }
    let key = try wrapKey(
      ss1: ss1, ss2: ss2,
      salt: salt(
        ephemeral: ephemeral.publicKey.rawRepresentation, recipient: bundle.x25519, recipientMLKEM: recipientMLKEM,
        mlkemCiphertext: mlkemCiphertext))
    do {
      let sealed = try AES.GCM.seal(secret, using: key, nonce: nonce, authenticating: aad)
      return WrapEnvelope(
        suite: recipientMLKEM == nil ? WrapEnvelope.classical : WrapEnvelope.hybrid,
        ephemeralPublicKey: ephemeral.publicKey.rawRepresentation, mlkemCiphertext: mlkemCiphertext,
        ciphertext: nonce + sealed.ciphertext + sealed.tag)
    } catch { throw .crypto(error) }
  }

  /// Opens an envelope with a private bundle.
  ///
  /// A classical envelope opens with a bundle that has ML-KEM too. A hybrid one needs the seed, and a libcrypto with
  /// ML-KEM-768.
  /// - Throws: ``WrapError``: `badEnvelope`, `mlkemUnavailable`.
  public static func open(
    _ envelope: WrapEnvelope, with bundle: borrowing PrivateBundle, authenticating aad: [UInt8]
  ) throws(WrapError) -> SecretBytes {
    guard envelope.ciphertext.count >= 28 else { throw .badEnvelope(reason: "its ciphertext is too short") }
    guard envelope.suite == WrapEnvelope.classical || envelope.suite == WrapEnvelope.hybrid else {
      throw .badEnvelope(reason: "its suite is unknown")
    }
    let isHybrid = envelope.suite == WrapEnvelope.hybrid
    guard (envelope.mlkemCiphertext != nil) == isHybrid else {
      throw .badEnvelope(reason: "its parts do not fit its suite")
    }
    let ss1: SecretBytes
    do {
      ss1 = try X25519.PrivateKey(rawRepresentation: bundle.x25519).sharedSecretFromKeyAgreement(
        with: X25519.PublicKey(rawRepresentation: envelope.ephemeralPublicKey))
    } catch { throw .badEnvelope(reason: "its ephemeral key gives no shared secret") }
    var ss2 = SecretBytes.zeroed(count: 0)
    if let ciphertext = envelope.mlkemCiphertext { ss2 = try decapsulate(ciphertext, bundle) }
    let key = try wrapKey(
      ss1: ss1, ss2: ss2,
      salt: salt(
        ephemeral: envelope.ephemeralPublicKey, recipient: bundle.publicKeys.x25519,
        recipientMLKEM: isHybrid ? bundle.publicKeys.mlkem768 : nil, mlkemCiphertext: envelope.mlkemCiphertext))
    return try decrypt(envelope.ciphertext, key: key, aad: aad)
  }

  static func decrypt(
    _ blob: [UInt8], key: borrowing SecretBytes, aad: [UInt8]
  ) throws(WrapError) -> SecretBytes {
    do {
      return try AES.GCM.open(
        Array(blob[12..<(blob.count - 16)]), tag: Array(blob.suffix(16)), using: key, nonce: Array(blob.prefix(12)),
        authenticating: aad)
    } catch {
      guard case .authenticationFailed = error else { throw .crypto(error) }
      throw .badEnvelope(reason: "it is not for this key or its place, or it was changed")
    }
  }

  private static func decapsulate(
    _ ciphertext: [UInt8], _ bundle: borrowing PrivateBundle
  ) throws(WrapError) -> SecretBytes {
    switch bundle.mlkem768Seed {
    case .none: throw .badEnvelope(reason: "it needs an ML-KEM key, which this device does not have")
    case .some(let seed):
      do { return try MLKEM768.PrivateKey(seed: seed).decapsulate(ciphertext) } catch {
        if case .unavailable = error { throw .mlkemUnavailable }
        throw .badEnvelope(reason: "its ML-KEM part is malformed")
      }
    }
  }

  /// HKDF's salt, 128 bytes.
  static func salt(
    ephemeral: [UInt8], recipient: [UInt8], recipientMLKEM: [UInt8]?, mlkemCiphertext: [UInt8]?
  ) -> [UInt8] {
    ephemeral + recipient + SHA256.hash(recipientMLKEM ?? []) + SHA256.hash(mlkemCiphertext ?? [])
  }

  /// The AES key, 32 bytes; `ss2` is empty in the classical suite.
  static func wrapKey(
    ss1: borrowing SecretBytes, ss2: borrowing SecretBytes, salt: [UInt8]
  ) throws(WrapError) -> SecretBytes {
    do {
      return try HKDF.sha256(
        inputKeyMaterial: SecretBytes.joining(ss1, ss2), salt: salt, info: info, outputByteCount: 32)
    } catch { throw .crypto(error) }
  }

  /// What became of one device when a secret was wrapped to a person's devices.
  public enum Outcome: Sendable, Hashable {
    /// Wrapped in this suite.
    case wrapped(suite: String)
    /// Its bundle is empty or does not parse.
    case skippedBadBundle
    /// Another device has the very same bundle.
    case skippedDuplicate
    /// The wrap failed.
    case skippedFailed
  }

  /// Encrypts `secret` once for each distinct bundle among the devices, in their order. Devices that cannot be wrapped
  /// to are passed over, as in Seal; at least one must remain.
  ///
  /// - Throws: ``WrapError/noRecipients``.
  public static func seal(
    _ secret: borrowing SecretBytes, to devices: [VerifiedIdentity.Device], authenticating aad: [UInt8],
    suite: Suite = .best
  ) throws(WrapError) -> (envelopes: [WrapEnvelope], outcomes: [Outcome]) {
    var envelopes: [WrapEnvelope] = []
    var outcomes: [Outcome] = []
    var seen = Set<KEMBundle>()
    for device in devices {
      guard let bundle = device.bundle else {
        outcomes.append(.skippedBadBundle)
        continue
      }
      guard seen.insert(bundle).inserted else {
        outcomes.append(.skippedDuplicate)
        continue
      }
      do {
        let envelope = try seal(secret, to: bundle, authenticating: aad, suite: suite)
        envelopes.append(envelope)
        outcomes.append(.wrapped(suite: envelope.suite))
      } catch { outcomes.append(.skippedFailed) }
    }
    guard !envelopes.isEmpty else { throw .noRecipients }
    return (envelopes, outcomes)
  }
}
