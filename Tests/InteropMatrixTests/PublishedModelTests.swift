// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Testing
import WebAuthnCore

@testable import InteropMatrix

/// Models that are sold, by the few facts of their published getInfo that decide, and what follows from them, worked out
/// by hand.
@Suite("Predictions of published models") struct PublishedModelTests {
  struct Model: Sendable, CustomTestStringConvertible {
    let name: String
    var versions = ["FIDO_2_0"]
    var extensions: [String] = ["hmac-secret"]
    var options: [String: Bool] = [:]
    var protocols: [Int] = [1]
    var message: Int?
    var list: Int?
    var idLength: Int?
    var algorithms: [Int64] = []
    var firmware: UInt64?
    var minPINLength: Int?
    var warnings: [String] = []
    let outcome: Prediction.Outcome
    /// What follows; the one about the number of commands is left out.
    let reasons: [String]
    let commands: Int?
    var testDescription: String { name }

    var published: PublishedModel {
      var info = AuthenticatorInfo(versions: versions, aaguid: [UInt8](repeating: 0x42, count: 16))
      info.extensions = extensions
      info.options = options
      info.pinUvAuthProtocols = protocols
      info.maxMsgSize = message
      info.maxCredentialCountInList = list
      info.maxCredentialIdLength = idLength
      info.algorithms = algorithms.map { .init(alg: $0) }
      info.firmwareVersion = firmware
      info.minPINLength = minPINLength
      return PublishedModel(name: name, info: info, warnings: warnings)
    }
  }

  private static let ctap21 = [
    "rk": true, "up": true, "clientPin": false, "pinUvAuthToken": true, "makeCredUvNotRqd": true, "alwaysUv": false,
  ]
  private static let always = ctap21.merging(["makeCredUvNotRqd": false, "alwaysUv": true]) { $1 }

  static let models: [Model] = [
    // 8 ids in a list: 1000 / 8. Firmware 5.4.2, 0x050402: older than both fixes.
    Model(
      name: "YubiKey 5 Series with NFC", versions: ["U2F_V2", "FIDO_2_0", "FIDO_2_1_PRE"],
      options: ["plat": false, "rk": true, "clientPin": false, "up": true, "credentialMgmtPreview": true],
      protocols: [2, 1], message: 1200, list: 8, idLength: 128, algorithms: [-7, -8], firmware: 328706,
      minPINLength: 4, outcome: .works,
      reasons: ["advisory: YSA-2024-03 (EUCLEAK), firmware before 5.7.0; YSA-2025-02"], commands: 125),
    // Firmware 5.7.1, 0x050701: EUCLEAK is fixed, the other is not.
    Model(
      name: "Security Key NFC by Yubico", versions: ["U2F_V2", "FIDO_2_0", "FIDO_2_1"], options: ctap21,
      protocols: [2, 1], message: 1536, list: 8, idLength: 128, algorithms: [-7, -8, -35], firmware: 329473,
      minPINLength: 4, outcome: .works, reasons: ["advisory: YSA-2025-02, firmware before 5.7.4"], commands: 125),
    // Firmware 5.7.4, 0x050704: nothing left to warn of.
    Model(
      name: "Security Key NFC by Yubico", versions: ["U2F_V2", "FIDO_2_0", "FIDO_2_1"], options: ctap21,
      protocols: [2, 1], message: 1536, list: 8, idLength: 128, algorithms: [-7, -8, -35], firmware: 329476,
      minPINLength: 4, outcome: .works, reasons: [], commands: 125),
    // alwaysUv and no fingerprint: no touch without the PIN, not even for a silent question. Firmware 5.7.0.
    Model(
      name: "YubiKey 5 FIPS Series with NFC Preview", versions: ["FIDO_2_0", "FIDO_2_1"], options: always,
      protocols: [2], message: 1280, list: 8, idLength: 128, algorithms: [-7, -8, -35], firmware: 329472,
      minPINLength: 8, outcome: .worksWithPIN,
      reasons: [
        "PIN protocol 2 only", "alwaysUv: it always wants its PIN or a fingerprint",
        "advisory: YSA-2025-02, firmware before 5.7.4",
      ], commands: 125),
    // One id a command, of at most 94 bytes, in messages of 510 bytes.
    Model(
      name: "HID Crescendo 4000", versions: ["U2F_V2", "FIDO_2_0", "FIDO_2_1"],
      extensions: ["credProtect", "hmac-secret"], options: ctap21, protocols: [2, 1], message: 510, list: 1,
      idLength: 94, firmware: 262656, minPINLength: 4, outcome: .works, reasons: ["small messages: 510 bytes"],
      commands: 1000),
    // No maxCredentialCountInList: then it is one (CTAP 2.1 section 6.4).
    Model(
      name: "Swissbit iShield Key 2", versions: ["U2F_V2", "FIDO_2_0", "FIDO_2_1"], options: ctap21,
      protocols: [1, 2], message: 896, algorithms: [-7], firmware: 1, minPINLength: 4, outcome: .works,
      reasons: ["small messages: 896 bytes"], commands: 1000),
    // It publishes nothing but its version.
    Model(
      name: "Safenet eToken FIDO", extensions: [], protocols: [], outcome: .works,
      reasons: ["no hmac-secret: not for somebody else", "no PIN and no fingerprint"], commands: 1000),
    // RS256 only, and Seal asks for ES256.
    Model(
      name: "Windows Hello Hardware Authenticator", extensions: [], options: ["plat": true, "rk": true, "up": true],
      protocols: [], list: 100, idLength: 32, algorithms: [-257], firmware: 19042, minPINLength: 4, outcome: .fails,
      reasons: [
        "the virtual key with this getInfo fails: es256Unsupported", "no ES256",
        "no hmac-secret: not for somebody else", "ids of at most 32 bytes", "no PIN and no fingerprint",
      ], commands: nil),
    // Ids of 16 bytes name keys that it stores; 16 of them in a list: 1000 / 16, rounded up. Messages of 1,200 bytes
    // hold 13 ids of 64 bytes: 1000 / 13, rounded up.
    Model(
      name: "NEOWAVE WINKEO V2.0", versions: ["U2F_V2", "FIDO_2_0", "FIDO_2_1"], options: ctap21, protocols: [2, 1],
      message: 1200, list: 16, idLength: 16, algorithms: [-7], minPINLength: 4, outcome: .works,
      reasons: ["ids of at most 16 bytes"], commands: 77),
    // An allowed sixteen do not fit into 629 bytes, six of 64 bytes do: 1000 / 6, rounded up.
    Model(
      name: "Cryptnox FIDO2", versions: ["FIDO_2_0", "U2F_V2"], options: ["rk": true, "clientPin": true, "up": true],
      message: 629, list: 16, idLength: 48, algorithms: [-7], outcome: .works,
      reasons: ["small messages: 629 bytes", "ids of at most 48 bytes"], commands: 167),
    // Nothing but its version, a PIN and no limits.
    Model(
      name: "Google Titan Security Key v2", versions: ["FIDO_2_0", "U2F_V2"],
      extensions: ["credProtect", "hmac-secret"], options: ["rk": true, "clientPin": false], message: 2200,
      outcome: .works, reasons: [], commands: 1000),
    // A fingerprint is not enrolled yet; with its PIN it works. Firmware 5.5.5.
    Model(
      name: "YubiKey Bio Series - FIDO Edition", versions: ["FIDO_2_0", "FIDO_2_1"],
      options: always.merging(["uv": false, "bioEnroll": false]) { $1 }, protocols: [2, 1], message: 1200, list: 8,
      idLength: 128, algorithms: [-7, -8], firmware: 328965, minPINLength: 4, outcome: .worksWithPIN,
      reasons: [
        "alwaysUv: it always wants its PIN or a fingerprint",
        "advisory: YSA-2024-03 (EUCLEAK), firmware before 5.7.0; YSA-2025-02",
      ], commands: 125),
    // What the metadata says of it is said again.
    Model(
      name: "TruU Windows Authenticator", options: ["plat": true, "rk": true, "up": true, "uv": true],
      message: 2048, list: 100, idLength: 128, algorithms: [-7],
      warnings: ["REVOKED (since 2023-12-20, for firmware 1)"],
      outcome: .works, reasons: ["metadata says REVOKED (since 2023-12-20, for firmware 1)"], commands: 44),
  ]

  @Test("what follows from a published getInfo", arguments: models)
  func model(_ model: Model) async {
    let prediction = await Prediction.of(model.published)
    #expect(prediction.outcome == model.outcome, "\(model.name): \(prediction.reasons)")
    #expect(
      prediction.reasons.filter { !$0.contains("commands look for") && $0 != "nothing stands against it" }
        == model.reasons, "\(model.name)")
    #expect(prediction.probes == model.commands, "\(model.name)")
  }
}
