// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

extension ModelProfile {
  /// Every built-in profile of a key as it should be; see ``faulty`` for the others.
  public static let builtIn: [ModelProfile] = [
    .virtual, .final, .u2f, .ctap20, .alwaysUv, .small, .medium, .noHMACSecret, .protocol1, .protocol2, .biometric,
    .enterprise, .nonCanonical, .selfAttestation, .unknownAttestation, .withoutDiscoverable,
  ]

  /// The built-in profile of that name.
  public static func named(_ name: String) -> ModelProfile? { all.first { $0.name == name } }

  /// Those that are as a key should be, and those with a fault.
  public static var all: [ModelProfile] { builtIn + faulty }

  /// The usual one: CTAP 2.1 and U2F, everything on, and the preview commands beside the final ones, as keys do that
  /// want to serve older programs.
  public static let virtual: ModelProfile = {
    var info = AuthenticatorInfo(
      versions: ["U2F_V2", "FIDO_2_0", "FIDO_2_1_PRE", "FIDO_2_1"], aaguid: SimulatedKey.aaguid)
    info.extensions = ["credBlob", "credProtect", "hmac-secret", "largeBlobKey", "minPinLength"]
    info.options = [
      "rk": true, "up": true, "plat": false, "clientPin": false, "pinUvAuthToken": true, "credMgmt": true,
      "credentialMgmtPreview": true, "authnrCfg": true, "alwaysUv": false, "makeCredUvNotRqd": true,
      "setMinPINLength": true, "largeBlobs": true,
    ]
    info.maxMsgSize = 7609
    info.pinUvAuthProtocols = [2, 1]
    info.maxCredentialCountInList = 64
    info.maxCredentialIdLength = 255
    info.transports = ["usb", "nfc"]
    info.algorithms = [.init(alg: -7), .init(alg: -8), .init(alg: -35)]
    info.maxSerializedLargeBlobArray = 4096
    info.forcePINChange = false
    info.minPINLength = 4
    info.firmwareVersion = 1
    info.maxCredBlobLength = 32
    info.maxRPIDsForSetMinPINLength = 4
    info.remainingDiscoverableCredentials = 50
    return ModelProfile(name: "virtual", info: info)
  }()

  /// CTAP 2.1 without the preview commands.
  public static let final = virtual.varied("final") {
    $0.info.versions.removeAll { $0 == "FIDO_2_1_PRE" }
    $0.info.options["credentialMgmtPreview"] = nil
  }

  /// U2F only.
  public static let u2f = virtual.varied("u2f") {
    $0.speaksCTAP2 = false
    $0.info.versions = ["U2F_V2"]
  }

  /// CTAP 2.0: a PIN by protocol 1, no permissions, and with a PIN set every registration wants it.
  public static let ctap20 = virtual.varied("ctap20") {
    $0.info = AuthenticatorInfo(versions: ["U2F_V2", "FIDO_2_0"], aaguid: SimulatedKey.aaguid)
    $0.info.extensions = ["hmac-secret"]
    $0.info.options = ["rk": true, "up": true, "plat": false, "clientPin": false]
    $0.info.maxMsgSize = 1200
    $0.info.pinUvAuthProtocols = [1]
  }

  /// The usual one, with alwaysUv turned on in the factory.
  public static let alwaysUv = virtual.varied("always-uv") { $0.info.options["alwaysUv"] = true }

  /// The tightest limits of a real model: one id of at most 94 bytes in a list, requests of 510 bytes.
  public static let small = virtual.varied("small") {
    $0.limits(510, 1, 94)
    $0.info.options["largeBlobs"] = nil
    $0.info.maxSerializedLargeBlobArray = nil
    $0.info.extensions.removeAll { $0 == "largeBlobKey" }
  }

  /// The limits of a widespread model: eight ids of 128 bytes, requests of 1200 bytes.
  public static let medium = virtual.varied("medium") {
    $0.limits(1200, 8, 128)
    $0.credentialIdLength = 128
  }

  /// The usual one without hmac-secret.
  public static let noHMACSecret = virtual.varied("no-hmac-secret") {
    $0.info.extensions.removeAll { $0 == "hmac-secret" }
  }

  /// PIN/UV auth protocol 1 only.
  public static let protocol1 = virtual.varied("protocol1") { $0.info.pinUvAuthProtocols = [1] }

  /// PIN/UV auth protocol 2 only.
  public static let protocol2 = virtual.varied("protocol2") { $0.info.pinUvAuthProtocols = [2] }

  /// With a fingerprint sensor, nothing enrolled yet.
  public static let biometric = virtual.varied("bio") {
    $0.info.options["uv"] = false
    $0.info.options["bioEnroll"] = false
    $0.info.options["userVerificationMgmtPreview"] = false
    $0.info.options["uvBioEnroll"] = true
    $0.info.options["uvAcfg"] = true
    $0.info.preferredPlatformUvAttempts = 3
    $0.info.uvModality = 2
  }

  /// With enterprise attestation, off until it is enabled.
  public static let enterprise = virtual.varied("enterprise") { $0.info.options["ep"] = false }

  /// With CTAP 2.2's members, hmac-secret at creation, and a getInfo that no strict reader takes: out of order, with
  /// unknown members, numbers of 64 bits and algorithms without a name.
  public static let nonCanonical = virtual.varied("non-canonical") {
    $0.info.extensions.append("hmac-secret-mc")
    $0.info.algorithms.append(.init(alg: -70_000))
    $0.info.firmwareVersion = .max
    $0.info.vendorPrototypeConfigCommands = [.max, 1 << 40]
    $0.info.attestationFormats = ["packed", "none"]
    $0.info.otherMembers = [
      .init(key: CBORValue.encode(.int(0x7F)), value: CBORValue.encode(.map([(.text("x"), .null)]))),
      .init(key: CBORValue.encode(.text("note")), value: CBORValue.encode(.array([.bool(true), .float(0.5)]))),
    ]
    $0.shufflesInfo = true
  }

  /// Attests by the credential's own key.
  public static let selfAttestation = virtual.varied("self-attestation") { $0.attestation = .selfSigned }

  /// Attests in a format that no program knows.
  public static let unknownAttestation = virtual.varied("unknown-attestation") {
    $0.attestation = .unknown(format: "x-sealkey-unknown")
  }

  /// Cannot store credentials.
  public static let withoutDiscoverable = virtual.varied("no-rk") {
    $0.info.options["rk"] = nil
    $0.info.options["credMgmt"] = nil
    $0.info.options["credentialMgmtPreview"] = nil
    $0.info.options["largeBlobs"] = nil
    $0.info.extensions = ["credProtect", "hmac-secret"]
    $0.info.maxSerializedLargeBlobArray = nil
    $0.info.maxCredBlobLength = nil
    $0.info.remainingDiscoverableCredentials = nil
    $0.discoverableCapacity = 0
  }

  /// A changed copy under another name.
  public func varied(_ name: String, _ change: (inout ModelProfile) -> Void) -> ModelProfile {
    var copy = self
    copy.name = name
    change(&copy)
    return copy
  }

  /// Sets the three limits: bytes in a request, ids in a list, bytes in an id; nil for a member that is absent.
  public mutating func limits(_ maxMsgSize: Int?, _ maxCredentialCountInList: Int?, _ maxCredentialIdLength: Int?) {
    info.maxMsgSize = maxMsgSize
    info.maxCredentialCountInList = maxCredentialCountInList
    info.maxCredentialIdLength = maxCredentialIdLength
  }
}
