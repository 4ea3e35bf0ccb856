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
    let own = try entries(payload: bytes, aaguid: aaguid)
    return own.flatMap { $0["metadataStatement"]?["attestationRootCertificates"]?.array ?? [] }.compactMap { item in
      let text = item.string.map {
        String($0.unicodeScalars.filter { !$0.properties.isWhitespace }.map(Character.init))
      }
      return text.flatMap { Base64.decode($0) }.flatMap { try? Certificate(derRepresentation: $0) }
    }
  }

  /// The warnings that the payload publishes for one model.
  /// - Throws: ``AtlasError/notMetadata(_:)``.
  public static func warnings(payload bytes: [UInt8], aaguid: [UInt8]) throws(AtlasError) -> [String] {
    try entries(payload: bytes, aaguid: aaguid).flatMap(warnings(of:))
  }

  private static func entries(payload bytes: [UInt8], aaguid: [UInt8]) throws(AtlasError) -> [JSONValue] {
    let json: JSONValue
    do { json = try JSONReader.parse(bytes, limits: .init(maximumDepth: 24, maximumByteCount: 64 << 20)) } catch {
      throw .notMetadata(error.message)
    }
    guard let entries = json["entries"]?.array else { throw .notMetadata("The member entries is not there.") }
    return entries.filter { entry in
      entry["aaguid"]?.string.flatMap { Hex.decode($0.replacing("-", with: "")) } == aaguid
    }
  }

  /// Status reports that are warnings (section 3.1.4): which, since when, up to which firmware.
  private static func warnings(of entry: JSONValue) -> [String] {
    (entry["statusReports"]?.array ?? []).compactMap { report in
      guard let status = report["status"]?.string, warningStatuses.contains(status) else { return nil }
      var details: [String] = []
      if let date = report["effectiveDate"]?.string { details.append("since \(date.printable)") }
      if let version = report["authenticatorVersion"]?.unsigned { details.append("for firmware \(version)") }
      if let url = report["url"]?.string { details.append(url.printable) }
      return details.isEmpty ? status : "\(status) (\(details.joined(separator: ", ")))"
    }
  }

  /// From its parts.
  init(name: String, info: AuthenticatorInfo, warnings: [String] = []) {
    (aaguid, self.name, self.info, self.warnings) = (info.aaguid, name, info, warnings)
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
    warnings = Self.warnings(of: entry)
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
