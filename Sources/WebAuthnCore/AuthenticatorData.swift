// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// The flags byte of authenticator data (WebAuthn level 3 section 6.1).
public struct AuthenticatorFlags: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// UP: the person was present.
  public static let userPresent = AuthenticatorFlags(rawValue: 0x01)
  /// UV: the person was verified.
  public static let userVerified = AuthenticatorFlags(rawValue: 0x04)
  /// BE: the credential may be backed up.
  public static let backupEligible = AuthenticatorFlags(rawValue: 0x08)
  /// BS: the credential is backed up.
  public static let backupState = AuthenticatorFlags(rawValue: 0x10)
  /// AT: attested credential data follows.
  public static let attestedCredentialData = AuthenticatorFlags(rawValue: 0x40)
  /// ED: an extension map follows.
  public static let extensionData = AuthenticatorFlags(rawValue: 0x80)

  /// Every flag with its short name, in bit order.
  public static let named: [(flag: AuthenticatorFlags, name: String)] = [
    (.userPresent, "UP"), (.userVerified, "UV"), (.backupEligible, "BE"), (.backupState, "BS"),
    (.attestedCredentialData, "AT"), (.extensionData, "ED"),
  ]

  /// The short names joined by `|`, or `none`: as Seal's log line has them.
  public var summary: String {
    let names = Self.named.filter { contains($0.flag) }.map(\.name)
    return names.isEmpty ? "none" : names.joined(separator: "|")
  }
}

/// Authenticator data (WebAuthn level 3 section 6.1), read exactly: nothing may be missing and nothing may follow.
public struct AuthenticatorData: Sendable {
  /// What a registration says of the new credential (section 6.5.2).
  public struct AttestedCredentialData: Sendable {
    /// The model's identifier, 16 bytes, opaque.
    public let aaguid: [UInt8]
    /// The credential ID, 1 to 1,023 bytes.
    public let credentialID: [UInt8]
    /// The COSE key as it stood.
    public let publicKeyBytes: [UInt8]
    /// The COSE key, decoded.
    public let publicKeyItem: CBORItem
    /// Where the COSE key stood.
    public let publicKeyRange: Range<Int>
  }

  /// The bytes.
  public let raw: [UInt8]
  /// SHA-256 of the relying party ID, 32 bytes.
  public let rpIdHash: [UInt8]
  /// The flags.
  public let flags: AuthenticatorFlags
  /// The signature counter.
  public let signCount: UInt32
  /// Present exactly when AT is set.
  public let attestedCredentialData: AttestedCredentialData?
  /// The extension map, present exactly when ED is set.
  public let extensions: CBORItem?

  /// Reads authenticator data.
  /// - Throws: ``AuthenticatorDataError``.
  public init(parsing raw: [UInt8]) throws(AuthenticatorDataError) {
    guard raw.count >= 37 else { throw .tooShort(count: raw.count) }
    self.raw = raw
    rpIdHash = Array(raw[0..<32])
    flags = AuthenticatorFlags(rawValue: raw[32])
    signCount = raw[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
    var position = 37
    if flags.contains(.attestedCredentialData) {
      guard raw.count >= 55 else { throw .attestedDataTruncated(offset: raw.count) }
      let length = Int(raw[53]) << 8 | Int(raw[54])
      guard (1...1023).contains(length) else { throw .credentialIDLength(length, offset: 53) }
      guard 55 + length < raw.count else { throw .attestedDataTruncated(offset: raw.count) }
      let key: CBORItem
      do { key = try CBORDecoder.decode(raw, at: 55 + length) } catch { throw .badPublicKeyCBOR(error) }
      guard key.map != nil else { throw .publicKeyNotAMap(offset: key.range.lowerBound) }
      attestedCredentialData = AttestedCredentialData(
        aaguid: Array(raw[37..<53]), credentialID: Array(raw[55..<(55 + length)]),
        publicKeyBytes: Array(raw[key.range]), publicKeyItem: key, publicKeyRange: key.range)
      position = key.range.upperBound
    } else {
      attestedCredentialData = nil
    }
    if flags.contains(.extensionData) {
      let map: CBORItem
      do { map = try CBORDecoder.decode(raw, at: position) } catch { throw .badExtensionCBOR(error) }
      guard map.map != nil else { throw .extensionsNotAMap(offset: position) }
      extensions = map
      position = map.range.upperBound
    } else {
      extensions = nil
    }
    guard position == raw.count else { throw .trailingBytes(offset: position) }
  }
}

/// Why bytes are not authenticator data.
public enum AuthenticatorDataError: NamedError, Hashable {
  /// Shorter than 37 bytes.
  case tooShort(count: Int)
  /// AT is set and the data ends inside what it promises.
  case attestedDataTruncated(offset: Int)
  /// A credential ID of no bytes, or of more than 1,023.
  case credentialIDLength(Int, offset: Int)
  /// The public key is not CBOR.
  case badPublicKeyCBOR(CBORError)
  /// The public key is not a map.
  case publicKeyNotAMap(offset: Int)
  /// ED is set and what follows is not CBOR.
  case badExtensionCBOR(CBORError)
  /// ED is set and what follows is not a map.
  case extensionsNotAMap(offset: Int)
  /// Bytes that no flag announces.
  case trailingBytes(offset: Int)

  public var name: String {
    switch self {
    case .tooShort: "authenticatorDataTooShort"
    case .attestedDataTruncated: "attestedDataTruncated"
    case .credentialIDLength: "credentialIDLength"
    case .badPublicKeyCBOR: "badPublicKeyCBOR"
    case .publicKeyNotAMap: "publicKeyNotAMap"
    case .badExtensionCBOR: "badExtensionCBOR"
    case .extensionsNotAMap: "extensionsNotAMap"
    case .trailingBytes: "authenticatorDataTrailingBytes"
    }
  }

  public var message: String {
    switch self {
    case .tooShort(let count): "The authenticator data is too short: \(count) bytes of at least 37."
    case .attestedDataTruncated: "The authenticator data ends inside the new credential."
    case .credentialIDLength(let length, _): "The credential ID has an impossible length: \(length) bytes."
    case .badPublicKeyCBOR(let error): "The credential's public key cannot be read. \(error.message)"
    case .publicKeyNotAMap: "The credential's public key is not a COSE key."
    case .badExtensionCBOR(let error): "The extension data cannot be read. \(error.message)"
    case .extensionsNotAMap: "The extension data is not a map."
    case .trailingBytes:
      "The authenticator data has bytes that its flags do not announce. WebAuthn forbids them, though Seal passes over them."
    }
  }

  public var next: String {
    switch self {
    case .trailingBytes: "Use another key: this model writes what other verifiers refuse. Note it for the test matrix."
    default: "Make the registration or the tap again; if it stays, note the key's model and report it."
    }
  }

  public var offset: Int? {
    switch self {
    case .tooShort(let count): count
    case .attestedDataTruncated(let o), .credentialIDLength(_, let o), .publicKeyNotAMap(let o),
      .extensionsNotAMap(let o), .trailingBytes(let o):
      o
    case .badPublicKeyCBOR(let error), .badExtensionCBOR(let error): error.offset
    }
  }
}
