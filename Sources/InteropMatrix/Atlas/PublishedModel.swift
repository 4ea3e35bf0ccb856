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
    let payload = try Payload(bytes)
    try payload.check(at: time)
    let (number, next, entries) = (payload.number, payload.nextUpdate, payload.entries)
    let models = entries.compactMap(Self.init(reading:)).sorted {
      ($0.name, Hex.encode($0.aaguid)) < ($1.name, Hex.encode($1.aaguid))
    }
    guard !models.isEmpty else { throw .notMetadata("No entry carries a getInfo.") }
    return (number, next, models)
  }

  /// The service's payload, read once.
  struct Payload {
    /// Its number.
    let number: Int64
    /// The day on which it is to be replaced.
    let nextUpdate: String
    /// Its models.
    let entries: [JSONValue]

    /// - Throws: ``AtlasError/notMetadata(_:)``.
    init(_ bytes: [UInt8]) throws(AtlasError) {
      let json: JSONValue
      do { json = try JSONReader.parse(bytes, limits: .init(maximumDepth: 24, maximumByteCount: 64 << 20)) } catch {
        throw .notMetadata(error.message)
      }
      guard let entries = json["entries"]?.array, let number = json["no"]?.int,
        let next = json["nextUpdate"]?.string
      else { throw .notMetadata("The members no, nextUpdate and entries are not there.") }
      (self.number, nextUpdate, self.entries) = (number, next, entries)
    }

    /// - Throws: ``AtlasError/expired(_:)`` when it was to be replaced before `time`.
    func check(at time: Int64?) throws(AtlasError) {
      if let time, nextUpdate.utf8.count == 10, nextUpdate < String(MatrixDate.text(time).prefix(10)) {
        throw .expired(nextUpdate)
      }
    }

    /// The entries of a FIDO2 model.
    func entries(aaguid: [UInt8]) -> [JSONValue] {
      entries.filter { $0["aaguid"]?.string.flatMap { Hex.decode($0.replacing("-", with: "")) } == aaguid }
    }

    /// The entries of a U2F model, by the SHA-1 of its attestation certificate's key.
    func entries(keyIdentifier: [UInt8]) -> [JSONValue] {
      entries.filter { entry in
        (entry["attestationCertificateKeyIdentifiers"]?.array ?? []).contains { item in
          item.string.flatMap { Hex.decode($0) } == keyIdentifier
        }
      }
    }
  }

  /// The attestation roots that an entry publishes; empty when it names none that can be read.
  static func roots(of entry: JSONValue) -> [Certificate] {
    (entry["metadataStatement"]?["attestationRootCertificates"]?.array ?? []).compactMap { item in
      let text = item.string.map {
        String($0.unicodeScalars.filter { !$0.properties.isWhitespace }.map(Character.init))
      }
      return text.flatMap { Base64.decode($0) }.flatMap { try? Certificate(derRepresentation: $0) }
    }
  }

  /// Status reports that are warnings (section 3.1.4): which, since when, up to which firmware.
  static func warnings(of entry: JSONValue) -> [String] {
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
