// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// What stands beside Seal's own JSON in one of our files: what the key said, and what was asked of it.
///
/// Seal reads none of this. It lets anybody check a file without the directory, and says so of itself: a key that
/// stands beside its own signature proves nothing about whose key it is.
public struct Evidence: Sendable, Hashable {
  /// The root's public key, 64 bytes.
  public var rootPublicKey: [UInt8]?
  /// The root's raw credential ID.
  public var credentialID: [UInt8]?
  /// What the assertion is over.
  public var statement: Statement?
  /// The attestation object of a registration.
  public var attestationObject: [UInt8]?
  /// The client data of a registration.
  public var registrationClientDataJSON: [UInt8]?
  /// The challenge of a registration.
  public var registrationChallenge: [UInt8]?
  /// What answered.
  public var key: KeyEvidence?

  /// Empty evidence.
  public init() {}

  init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "evidence")
    func hex(_ name: String) throws(FormatError) -> [UInt8]? {
      try m.ifPresent(name) { name throws(FormatError) in try m.hex(name) }
    }
    rootPublicKey = try m.ifPresent("rootPublicKeyHex") { name throws(FormatError) in try m.hex(name, count: 64) }
    credentialID = try hex("credentialIDHex")
    statement = try m.ifPresent("statement") { name throws(FormatError) in try Statement(json: m.required(name)) }
    attestationObject = try hex("attestationObjectHex")
    registrationClientDataJSON = try hex("registrationClientDataHex")
    registrationChallenge = try hex("registrationChallengeHex")
    key = try m.ifPresent("key") { name throws(FormatError) in try Self.key(m.required(name)) }
  }

  private static func key(_ json: JSONValue) throws(FormatError) -> KeyEvidence {
    let m = try MemberReader(json, "key evidence")
    return KeyEvidence(
      isSimulated: try m.bool("simulated"), name: try m.name("name"), transport: try m.name("transport"),
      aaguid: try m.ifPresent("aaguidHex") { name throws(FormatError) in try m.hex(name, count: 16) },
      firmwareVersion: try m.ifPresent("firmwareVersion") { name throws(FormatError) in try m.unsigned(name) },
      getInfo: try m.ifPresent("getInfoHex") { name throws(FormatError) in try m.hex(name) })
  }

  /// Whether the key was a virtual one: it says so, or its model, its wire or its registration give it away.
  var isOfVirtualKey: Bool {
    if let key {
      if key.isSimulated || key.transport == "virtual" { return true }
      if let aaguid = key.aaguid, SimulatedKey.isSimulated(aaguid: aaguid) { return true }
    }
    guard let attestationObject, let object = try? AttestationObject(parsing: attestationObject),
      let attested = object.authenticatorData.attestedCredentialData
    else { return false }
    return SimulatedKey.isSimulated(aaguid: attested.aaguid)
  }

  var json: JSONValue {
    .object([
      ("rootPublicKeyHex", rootPublicKey.map { .hex($0) }), ("credentialIDHex", credentialID.map { .hex($0) }),
      ("statement", statement?.json), ("attestationObjectHex", attestationObject.map { .hex($0) }),
      ("registrationClientDataHex", registrationClientDataJSON.map { .hex($0) }),
      ("registrationChallengeHex", registrationChallenge.map { .hex($0) }),
      (
        "key",
        key.map {
          .object([
            ("simulated", .bool($0.isSimulated)), ("name", .string($0.name)), ("transport", .string($0.transport)),
            ("aaguidHex", $0.aaguid.map { .hex($0) }), ("firmwareVersion", $0.firmwareVersion.map { .int($0) }),
            ("getInfoHex", $0.getInfo.map { .hex($0) }),
          ])
        }
      ),
    ])
  }
}
