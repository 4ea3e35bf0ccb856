// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import SecurityKeys
import VirtualAuthenticator
import WebAuthnCore

/// What Seal will meet with a model, predicted by giving its published getInfo to a virtual key. No hardware is touched.
public struct Prediction: Sendable {
  /// How registration and sign-in go.
  public enum Outcome: String, Sendable, Hashable {
    /// Without a PIN.
    case works
    /// Only with a PIN or a fingerprint.
    case worksWithPIN
    /// Not at all.
    case fails
    /// The model could not be imitated.
    case unknown
  }

  /// The model.
  public let model: PublishedModel
  /// How it goes.
  public internal(set) var outcome: Outcome
  /// Why, and what else is worth knowing; never empty.
  public internal(set) var reasons: [String]
  /// How many commands look for one of 1,000 credentials.
  public internal(set) var probes: Int?

  /// Predicts one model.
  public static func of(_ model: PublishedModel) async -> Prediction {
    var prediction = Prediction(model: model, outcome: .unknown, reasons: [], probes: nil)
    prediction.readLimits()
    guard model.info.speaksCTAP2 else {
      prediction.outcome = .works
      prediction.reasons.insert("U2F only: no PIN, no secret for somebody else", at: 0)
      return prediction
    }
    do { try await prediction.tryOut() } catch {
      let named = error as? any NamedError
      prediction.outcome = .fails
      prediction.reasons.insert(
        "the virtual key with this getInfo fails: \(named?.name ?? "\(error)")", at: 0)
    }
    return prediction
  }

  /// What the published data says by itself.
  private mutating func readLimits() {
    let info = model.info
    if !info.algorithms.isEmpty, !info.algorithms.contains(where: { $0.alg == -7 }) {
      reasons.append("no ES256")
    }
    if !info.extensions.contains("hmac-secret") {
      reasons.append("no hmac-secret: not for somebody else")
    }
    if info.pinUvAuthProtocols == [2] { reasons.append("PIN protocol 2 only") }
    if info.effectiveMaxMsgSize < 1024 {
      reasons.append("small messages: \(info.effectiveMaxMsgSize) bytes")
    }
    if let limit = info.maxCredentialIdLength, limit < 64 { reasons.append("ids of at most \(limit) bytes") }
    if info.option("pinUvAuthToken") == true, info.pinUvAuthProtocols.isEmpty {
      reasons.append("pinUvAuthToken without a PIN protocol: the published data contradicts itself")
    }
    if info.option("alwaysUv") == true {
      reasons.append("alwaysUv: it always wants its PIN or a fingerprint")
    }
    if info.option("clientPin") == nil, info.option("uv") == nil {
      reasons.append("no PIN and no fingerprint")
    }
    if let advisory = Advisories.note(for: model) { reasons.append(advisory) }
    for warning in model.warnings { reasons.append("metadata says \(warning)") }
  }

  private static let pin = Array("159357".utf8)

  private mutating func tryOut() async throws {
    var profile = ModelProfile(name: "atlas", info: model.info)
    // The published reply is a key's in use: it has its PIN already, its fingerprints may be enrolled.
    if model.info.option("uv") == true { profile.enrolledFingerprints = 1 }
    if !profile.info.pinUvAuthProtocols.isEmpty {
      profile.info.pinUvAuthProtocols.removeAll { !(1...2).contains($0) }
    }
    // The virtual key's own ids are longer than what some models make; that must not count against the model.
    if let limit = profile.info.maxCredentialIdLength, limit < 80 { profile.info.maxCredentialIdLength = 80 }
    let virtual = try VirtualAuthenticator(profile: profile)
    let place = RunPlace.virtual(virtual)
    var typed: [UInt8]?
    if (try? await Self.registerAndSignIn(place, nil)) != nil {
      outcome = .works
    } else {
      let length = max(Self.pin.count, model.info.minPINLength ?? 4)
      let pin = Array(
        (String(decoding: Self.pin, as: UTF8.self) + String(repeating: "8", count: 64)).utf8.prefix(
          min(length, 63)))
      if model.info.option("clientPin") != nil {
        let key = SecurityKey(place.endpoint)
        do { try await key.setPIN(SecretBytes(pin)) } catch {
          await key.close()
          throw error
        }
        await key.close()
      }
      try await Self.registerAndSignIn(place, pin)
      outcome = .worksWithPIN
      typed = pin
    }
    probes = try await Self.probes(place, virtual, typed)
    if let probes, probes > 100 {
      reasons.append("\(probes) commands look for one of 1,000 credentials")
    }
    if reasons.isEmpty {
      reasons.append(outcome == .works ? "nothing stands against it" : "it wants its PIN")
    }
  }

  private static func provider(_ pin: [UInt8]?) -> PINProvider? {
    pin.map { pin -> PINProvider in { @Sendable _ in SecretBytes(pin) } }
  }

  private static func registerAndSignIn(_ place: RunPlace, _ pin: [UInt8]?) async throws {
    let key = SecurityKey(place.endpoint)
    let provider = provider(pin)
    do {
      let made = try await key.makeCredential(
        RegistrationRequest(
          rpID: Seal.relyingPartyID, rpName: Seal.relyingPartyName, origin: Seal.origin,
          challenge: Random.bytes(32),
          userID: Random.bytes(16), userName: "atlas", userDisplayName: "atlas"), pin: provider)
      _ = try SealRegistration(attestationObject: made.attestationObject)
      _ = try await key.getAssertion(
        AssertionRequest(
          rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: Random.bytes(32),
          allowList: [CredentialDescriptor(id: made.credentialID)]), pin: provider)
      await key.close()
    } catch {
      await key.close()
      throw error
    }
  }

  /// Commands for 1,000 ids of 64 bytes, from the longest list that the key is sent: silently, or, where a key
  /// answers nobody unverified, in the sign-in itself.
  private static func probes(_ place: RunPlace, _ virtual: VirtualAuthenticator, _ pin: [UInt8]?) async throws -> Int {
    virtual.log.clear()
    let key = SecurityKey(place.endpoint)
    let ids = (0..<72).map {
      CredentialDescriptor(id: [UInt8($0)] + [UInt8](repeating: 0x5A, count: 63))
    }
    _ = try? await key.find(ids, rpID: Seal.relyingPartyID)
    if longestList(virtual) == 0 {
      _ = try? await key.getAssertion(
        AssertionRequest(
          rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: Random.bytes(32), allowList: ids),
        pin: provider(pin))
    }
    await key.close()
    let most = max(1, longestList(virtual))
    return (1000 + most - 1) / most
  }

  private static func longestList(_ virtual: VirtualAuthenticator) -> Int {
    let lists = virtual.log.entries.filter { $0.command == .getAssertion }.compactMap { entry in
      (try? CBORDecoder.decodeAll(Array(entry.request.dropFirst())))?[3]?.array?.count
    }
    return lists.max() ?? 0
  }
}

/// Security notes by model and firmware.
enum Advisories {
  /// What is known; nil for nothing.
  static func note(for model: PublishedModel) -> String? {
    guard let firmware = model.info.firmwareVersion else { return nil }
    let name = model.name.lowercased()
    guard
      name.contains("yubikey") || name.contains("security key by yubico") || name.contains("yubico")
    else { return nil }
    // Yubico writes 5.7.4 as 0x050704.
    if firmware < 0x05_07_00 {
      return "advisory: YSA-2024-03 (EUCLEAK), firmware before 5.7.0; YSA-2025-02"
    }
    if firmware < 0x05_07_04 { return "advisory: YSA-2025-02, firmware before 5.7.4" }
    return nil
  }
}

/// The atlas as a page of text.
public enum Atlas {
  /// Predicts every model, a few at a time.
  public static func predict(_ models: [PublishedModel]) async -> [Prediction] {
    await withTaskGroup(of: (Int, Prediction).self) { group in
      var found: [Int: Prediction] = [:]
      var next = 0
      func add() {
        guard next < models.count else { return }
        let (index, model) = (next, models[next])
        next += 1
        group.addTask { (index, await Prediction.of(model)) }
      }
      for _ in 0..<4 { add() }
      while let (index, prediction) = await group.next() {
        found[index] = prediction
        add()
      }
      return models.indices.compactMap { found[$0] }
    }
  }

  /// docs/ATLAS.md.
  public static func markdown(_ predictions: [Prediction], number: Int64, nextUpdate: String)
    -> String
  {
    var lines = [
      "# An atlas of published keys", "",
      "**Predicted from published data. No hardware was touched.** Each model's getInfo, as its maker published it in the FIDO",
      "Metadata Service (number \(number), to be replaced on \(nextUpdate)), was given to a virtual key, and Seal's ceremonies were run on it.",
      "What a real key does is in [SECURITY_KEY_TEST_MATRIX.md](SECURITY_KEY_TEST_MATRIX.md) once somebody has measured it.",
      "Credential ids are the virtual key's own, 66 bytes long: a published limit below 80 bytes was raised to 80 for the trial. *Works*",
      "says that the ceremonies work with such a getInfo, not that a key of that model was ever in our hands.",
      "",
    ]
    for outcome in [Prediction.Outcome.works, .worksWithPIN, .fails, .unknown] {
      lines.append("- \(words[outcome] ?? ""): \(predictions.count { $0.outcome == outcome })")
    }
    lines += [
      "",
      "| Model | AAGUID | Firmware | Prediction | Commands for 1,000 ids | Why, and what else |",
      "|---|---|---|---|---|---|",
    ]
    for p in predictions {
      lines.append(
        MarkdownRow.line(
          [
            p.model.name, Hex.encode(p.model.aaguid),
            p.model.info.firmwareVersion.map { "\($0)" } ?? "–",
            words[p.outcome] ?? "", p.probes.map { "\($0)" } ?? "–",
            p.reasons.joined(separator: "; "),
          ].map(MarkdownRow.escaped)))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  static let words: [Prediction.Outcome: String] = [
    .works: "works", .worksWithPIN: "works with PIN", .fails: "fails", .unknown: "unknown",
  ]
}
