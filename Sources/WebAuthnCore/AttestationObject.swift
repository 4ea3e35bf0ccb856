// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// An attestation object (WebAuthn level 3 section 6.5), parsed and kept as it came. The statement is not verified
/// here.
public struct AttestationObject: Sendable {
  /// The bytes.
  public let raw: [UInt8]
  /// The attestation statement format.
  public let format: String
  /// The attestation statement.
  public let statement: CBORItem
  /// The authenticator data's bytes.
  public let authenticatorDataBytes: [UInt8]
  /// The authenticator data.
  public let authenticatorData: AuthenticatorData

  /// Reads an attestation object. Bytes after the map are refused; Seal passes over them.
  /// - Throws: ``AttestationObjectError``.
  public init(parsing raw: [UInt8]) throws(AttestationObjectError) {
    let item: CBORItem
    do { item = try CBORDecoder.decode(raw) } catch { throw .badCBOR(error) }
    guard item.range.upperBound == raw.count else { throw .trailingBytes(offset: item.range.upperBound) }
    guard item.map != nil else { throw .notAMap }
    guard let format = item["fmt"]?.text else { throw .missing(member: "fmt") }
    guard let statement = item["attStmt"], statement.map != nil else { throw .missing(member: "attStmt") }
    guard let bytes = item["authData"]?.bytes else { throw .missing(member: "authData") }
    self.raw = raw
    self.format = format
    self.statement = statement
    authenticatorDataBytes = bytes
    do { authenticatorData = try AuthenticatorData(parsing: bytes) } catch { throw .badAuthenticatorData(error) }
    guard authenticatorData.attestedCredentialData != nil else { throw .noAttestedCredential }
  }

  /// Writes an attestation object around the parts of a CTAP reply, which names them by number (CTAP 2.1 section
  /// 6.1.2). The statement's bytes go in as they came.
  ///
  /// `reply` is the map and `bytes` what it was read from; nil when a member is missing.
  public static func build(makeCredentialReply reply: CBORItem, in bytes: [UInt8]) -> [UInt8]? {
    guard let format = reply[1]?.text, let authData = reply[2]?.bytes, let statement = reply[3],
      bytes.indices.contains(statement.range)
    else { return nil }
    return build(format: format, statement: Array(bytes[statement.range]), authenticatorData: authData)
  }

  /// The same from its parts; `statement` is encoded already.
  public static func build(format: String, statement: [UInt8], authenticatorData: [UInt8]) -> [UInt8] {
    CBORValue.encode(
      .textMap([
        ("fmt", .text(format)), ("attStmt", .encoded(statement)), ("authData", .bytes(authenticatorData)),
      ]))
  }
}

/// Why bytes are not an attestation object.
public enum AttestationObjectError: NamedError, Hashable {
  /// Not CBOR.
  case badCBOR(CBORError)
  /// Bytes after the object.
  case trailingBytes(offset: Int)
  /// Not a map.
  case notAMap
  /// A member is missing or of the wrong type.
  case missing(member: String)
  /// The authenticator data cannot be read.
  case badAuthenticatorData(AuthenticatorDataError)
  /// The authenticator data holds no credential.
  case noAttestedCredential

  public var name: String {
    switch self {
    case .badCBOR(let error): error.name
    case .trailingBytes: "attestationObjectTrailingBytes"
    case .notAMap: "attestationObjectNotAMap"
    case .missing(let member): member == "authData" ? "noAuthData" : "attestationObjectMissing(\(member))"
    case .badAuthenticatorData(let error): error.name
    case .noAttestedCredential: "noAttestedCredential"
    }
  }

  public var message: String {
    switch self {
    case .badCBOR(let error): "The registration cannot be read. \(error.message)"
    case .trailingBytes:
      "The registration has bytes after its end. WebAuthn knows none there, though Seal passes over them."
    case .notAMap: "The registration is not an attestation object."
    case .missing(let member): "The registration lacks its member '\(member)'."
    case .badAuthenticatorData(let error): error.message
    case .noAttestedCredential: "The registration holds no new credential."
    }
  }

  public var next: String {
    if case .badAuthenticatorData(let error) = self { return error.next }
    return "Make the registration again; this answer cannot be used."
  }

  public var offset: Int? {
    switch self {
    case .badCBOR(let error): error.offset
    case .trailingBytes(let offset): offset
    case .badAuthenticatorData(let error): error.offset
    default: nil
    }
  }
}
