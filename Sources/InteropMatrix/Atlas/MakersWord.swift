// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import WebAuthnCore

/// What metadata says of the model that a record is about.
public struct MakersWord: Sendable {
  /// The attestation roots of the model.
  public let roots: [Certificate]
  /// What the service warns of.
  public let warnings: [String]
  /// Whether the model has an entry.
  public let isListed: Bool
  /// Whether somebody signed the metadata.
  public let isSigned: Bool

  /// Looks a record's model up: by its AAGUID, or, for a U2F key, by the key in its attestation certificate
  /// (Metadata Service 3.0 section 3.1.1).
  /// - Parameters:
  ///   - payload: the service's payload.
  ///   - isSigned: whether it came in a signed BLOB that was checked.
  ///   - time: the metadata must not be replaced by then, in seconds since 1970; nil for whenever.
  /// - Throws: ``AtlasError``: not metadata, or its time is over.
  public init(
    of record: RunRecord, payload: [UInt8], isSigned: Bool, at time: Int64?
  ) throws(AtlasError) {
    let payload = try PublishedModel.Payload(payload)
    try payload.check(at: time)
    let evaluation = Evaluation(record)
    let entries: [JSONValue]
    if let info = evaluation.info {
      entries = payload.entries(aaguid: info.aaguid)
    } else {
      let object = evaluation.credentials[.register].flatMap { try? CBORDecoder.decode($0.attestationObject) }
      let leaf = object?["attStmt"]?["x5c"]?.array?.first?.bytes
      entries = leaf.flatMap(Self.keyIdentifier(of:)).map(payload.entries(keyIdentifier:)) ?? []
    }
    roots = entries.flatMap(PublishedModel.roots(of:))
    warnings = entries.flatMap(PublishedModel.warnings(of:))
    isListed = !entries.isEmpty
    self.isSigned = isSigned
  }

  /// The checks that come of it besides the attestation's own.
  var report: VerificationReport {
    var report = VerificationReport()
    if !isSigned {
      report.add(
        .warning, "metadataUnsigned", "metadata",
        "The metadata is a decoded payload: nobody vouches for it, and so it vouches for no key.")
    }
    if !isListed {
      report.add(.warning, "modelNotInMetadata", "key", "The metadata has no entry for the model.")
    }
    for warning in warnings {
      report.add(.warning, "modelStatus", "key", "The metadata says of the model: \(warning).")
    }
    return report
  }

  /// SHA-1 of the key in a certificate, 20 bytes (RFC 5280 section 4.2.1.2, method 1).
  static func keyIdentifier(of der: [UInt8]) -> [UInt8]? {
    guard let body = DERItem(der)?.children?.first?.children else { return nil }
    // version, serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo; the first only when it is not 1.
    let place = body.first?.isContext(0) == true ? 6 : 5
    guard body.indices.contains(place), let key = body[place].children, key.count == 2, key[1].isUniversal(3),
      key[1].contents.first == 0
    else { return nil }
    return SHA1.hash(Array(key[1].contents.dropFirst()))
  }
}
