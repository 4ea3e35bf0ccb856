// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// The hmac-secret input of one request: salts, and the secret that hides them on the wire (CTAP 2.1 section 12.5).
final class HMACSecretInput {
  let pinProtocol: PINProtocol
  private let sharedSecret: SecretBytes
  private let salts: SecretBytes

  /// - Throws: MISSING_PARAMETER, INVALID_PARAMETER, PIN_AUTH_INVALID, INVALID_LENGTH.
  init(_ request: HMACSecretRequest, _ pin: PINProtocol) throws(CTAPStatus) {
    pinProtocol = pin
    sharedSecret = try pin.decapsulate(request.keyAgreement)
    guard pin.verify(request.saltAuth, of: request.saltEnc, with: sharedSecret) else { throw .pinAuthInvalid }
    guard let salts = pin.decrypt(request.saltEnc, with: sharedSecret), salts.count == 32 || salts.count == 64 else {
      throw .invalidLength
    }
    self.salts = salts
  }

  /// The output for one credential: one or two HMACs, encrypted.
  func output(credRandom: borrowing SecretBytes) throws(CTAPStatus) -> [UInt8] {
    var outputs: [UInt8] = []
    for start in stride(from: 0, to: salts.count, by: 32) {
      outputs += HMAC.sha256(salts.slice(start..<(start + 32)).exposed(), key: credRandom)
    }
    return try pinProtocol.encrypt(SecretBytes(wiping: &outputs), with: sharedSecret)
  }
}

/// The hmac-secret member of a request, read but not yet judged.
struct HMACSecretRequest {
  let keyAgreement: CBORItem
  let saltEnc: [UInt8]
  let saltAuth: [UInt8]
  let pinUvAuthProtocol: Int?

  init(_ item: CBORItem) throws(CTAPStatus) {
    guard item.map != nil else { throw .cborUnexpectedType }
    keyAgreement = try item.optional(1) { $0.map == nil ? nil : $0 }.needed()
    saltEnc = try item.optional(2) { $0.bytes }.needed()
    saltAuth = try item.optional(3) { $0.bytes }.needed()
    pinUvAuthProtocol = try item.number(4)
  }
}

/// The extensions of a getAssertion.
final class AssertionExtensions {
  var credBlob = false
  var largeBlobKey: Bool?
  var hmacRequest: HMACSecretRequest?
  var hmac: HMACSecretInput?
}

/// The extensions of a makeCredential.
struct RegistrationExtensions {
  var protection: UInt64?
  var hmacSecret = false
  var hmacRequest: HMACSecretRequest?
  var credBlob: [UInt8]?
  var largeBlobKey: Bool?
  var minPinLength = false
}

extension KeyCore {
  private func extensionMembers(
    _ parameters: CommandParameters, _ key: Int64
  ) throws(CTAPStatus) -> [(String, CBORItem)] {
    var result: [(String, CBORItem)] = []
    for entry in try parameters.member(key)?.map ?? [] {
      guard let name = entry.key.text else { throw .cborUnexpectedType }
      if profile.offers(name) {
        result.append((name, entry.value))
      } else if profile.quirks.contains(.refusesUnknownExtension) {
        throw .unsupportedOption
      }
    }
    return result
  }

  func registrationExtensions(_ parameters: CommandParameters) throws(CTAPStatus) -> RegistrationExtensions {
    var result = RegistrationExtensions()
    for (name, value) in try extensionMembers(parameters, 6) {
      switch name {
      case "credProtect": result.protection = try needed(value.unsigned)
      case "hmac-secret": result.hmacSecret = try needed(value.bool)
      case "hmac-secret-mc": result.hmacRequest = try HMACSecretRequest(value)
      case "credBlob": result.credBlob = try needed(value.bytes)
      case "largeBlobKey": result.largeBlobKey = try needed(value.bool)
      case "minPinLength": result.minPinLength = try needed(value.bool)
      default: break
      }
    }
    return result
  }

  func assertionExtensions(_ parameters: CommandParameters) throws(CTAPStatus) -> AssertionExtensions {
    let result = AssertionExtensions()
    for (name, value) in try extensionMembers(parameters, 4) {
      switch name {
      case "credBlob": result.credBlob = try needed(value.bool)
      case "largeBlobKey": result.largeBlobKey = try needed(value.bool)
      case "hmac-secret": result.hmacRequest = try HMACSecretRequest(value)
      default: break
      }
    }
    return result
  }

  private func needed<T>(_ value: T?) throws(CTAPStatus) -> T {
    guard let value else { throw .cborUnexpectedType }
    return value
  }

  /// Opens the hmac-secret input. Without a protocol member it is protocol 1 (section 12.5).
  func hmacInput(_ request: HMACSecretRequest) throws(CTAPStatus) -> HMACSecretInput {
    if request.pinUvAuthProtocol != nil, profile.quirks.contains(.refusesHMACSecretProtocol) {
      throw .unsupportedExtension
    }
    return try HMACSecretInput(request, try pinProtocol(request.pinUvAuthProtocol ?? 1))
  }

  /// CredRandomWithUV or CredRandomWithoutUV of a credential.
  func credRandom(_ credential: OpenCredential, userVerified: Bool) throws(CTAPStatus) -> SecretBytes {
    if profile.quirks.contains(.forgetfulSecret) { return SecretBytes.random(count: 32) }
    let withUv = userVerified && !profile.quirks.contains(.singleCredRandom)
    do {
      return try CredentialHandle.derive(
        withUv ? "CredRandomWithUV" : "CredRandomWithoutUV", credential.id, from: state.secret)
    } catch { throw .other }
  }

  func largeBlobKey(_ credential: OpenCredential) throws(CTAPStatus) -> [UInt8] {
    do {
      let key = try CredentialHandle.derive("largeBlobKey", credential.id, from: state.secret)
      return key.exposed()
    } catch { throw .other }
  }
}
