// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// authenticatorMakeCredential (CTAP 2.1 section 6.1). Steps are those of section 6.1.2.
extension KeyCore {
  func makeCredential(_ p: CommandParameters) throws(CTAPStatus) -> [UInt8] {
    let clientDataHash = try p.bytes(1).needed()
    let rp = try p.member(2).needed()
    let userItem = try p.member(3).needed()
    let algorithms = try p.map.optional(4) { $0.array }.needed()
    let rpId = try rp.optional("id") { $0.text }.needed()
    let rpName = try rp.optional("name") { $0.text }
    let user = StoredUser(
      id: try userItem.optional("id") { $0.bytes }.needed(), name: try userItem.optional("name") { $0.text },
      displayName: try userItem.optional("displayName") { $0.text })
    guard clientDataHash.count == 32, user.id.count <= 64 else { throw .invalidLength }
    let options = try options(p, 7)
    let extensions = try registrationExtensions(p)
    let enterprise = try p.number(0x0A)
    var c = Ceremony(
      rpId: rpId, clientDataHash: clientDataHash, pinUvAuthParam: try p.bytes(8), pinUvAuthProtocol: try p.number(9))
    let formats = try p.map.optional(0x0B) { $0.array } ?? []

    try checkProtocol(c)  // 1, 2
    let algorithm = try chooseAlgorithm(algorithms)  // 3
    try readUvOption(&c, options)  // 5
    if options["rk"] != nil, !profile.supports("rk") { throw .unsupportedOption }
    c.wantsRk = options["rk"] ?? false
    guard options["up"] ?? true else { throw .invalidOption }
    if alwaysUv { try enforceAlwaysUv(&c) }  // 6
    let uvNotRequired = currentInfo().options["makeCredUvNotRqd"] == true
    if isProtected, !c.wantsUv, c.pinUvAuthParam == nil, !uvNotRequired || c.wantsRk {  // 7, 8
      throw verificationNeeded
    }
    let enterpriseGranted = try enterpriseAttestation(enterprise)  // 9
    try verifyUser(&c, permission: .makeCredential)  // 10, 11
    try checkExcludeList(try descriptors(p, 5) ?? [], c)  // 12
    try collectPresence(&c)  // 13, 14
    return try create(
      c, algorithm: algorithm, rpName: rpName, user: user, extensions: extensions, enterprise: enterpriseGranted,
      formats: formats.compactMap(\.text))  // 15 to 19
  }

  private func chooseAlgorithm(_ list: [CBORItem]) throws(CTAPStatus) -> COSEAlgorithm {
    var chosen: COSEAlgorithm?
    let offered = profile.info.algorithms.isEmpty ? [COSEAlgorithm.es256.rawValue] : profile.info.algorithms.map(\.alg)
    for item in list {
      guard item.map != nil else { throw .cborUnexpectedType }
      guard let type = try item.optional("type", { $0.text }), let alg = try item.optional("alg", { $0.int }) else {
        throw .invalidCBOR
      }
      let algorithm = COSEAlgorithm(rawValue: alg)
      let known = type == "public-key" && offered.contains(alg) && CredentialKey.supported.contains(algorithm)
      if known, chosen == nil { chosen = algorithm }
      if !known, profile.quirks.contains(.refusesUnknownAlgorithm) { throw .unsupportedAlgorithm }
    }
    guard let chosen else { throw .unsupportedAlgorithm }
    return chosen
  }

  /// Step 9. This key's list of relying parties for vendor-facilitated attestation is empty.
  private func enterpriseAttestation(_ value: Int?) throws(CTAPStatus) -> Bool {
    guard let value else { return false }
    guard profile.supports("ep"), facts.enterpriseAttestation else { throw .invalidParameter }
    guard value == 1 || value == 2 else { throw .invalidOption }
    return value == 2
  }

  /// Step 12.
  private func checkExcludeList(_ list: [CredentialDescriptor], _ c: Ceremony) throws(CTAPStatus) {
    let hash = SHA256.hash(Array(c.rpId.utf8))
    for descriptor in list {
      var found = credential(descriptor.id, rpIdHash: hash)
      if found == nil, profile.quirks.contains(.excludesAcrossRPs),
        let stored = facts.credentials.first(where: { $0.id == descriptor.id })
      {
        found = credential(stored.id, rpIdHash: SHA256.hash(Array(stored.rpId.utf8)))
      }
      guard let found, found.protection != .required || c.userVerified else { continue }
      let present = c.pinUvAuthParam != nil ? token.userPresent : c.verifiedByTouch
      if !present, case .cancelled = ask(.touch, rpId: c.rpId) { throw .keepaliveCancel }
      throw .credentialExcluded
    }
  }

  private func create(
    _ c: Ceremony, algorithm: COSEAlgorithm, rpName: String?, user: StoredUser, extensions: RegistrationExtensions,
    enterprise: Bool, formats: [String]
  ) throws(CTAPStatus) -> [UInt8] {
    let rpIdHash = SHA256.hash(Array(c.rpId.utf8))
    var protection = CredentialProtection.optional
    if let wanted = extensions.protection {
      guard let known = UInt8(exactly: wanted).flatMap(CredentialProtection.init(rawValue:)) else {
        throw .invalidOption
      }
      protection = known
    }
    // Section 12.3: only true may be sent, and only for a discoverable credential.
    if let largeBlobKey = extensions.largeBlobKey, !largeBlobKey || !c.wantsRk { throw .invalidOption }
    var traits: CredentialTraits = []
    if c.wantsRk { traits.insert(.discoverable) }
    if extensions.hmacSecret { traits.insert(.hmacSecret) }
    if extensions.largeBlobKey == true { traits.insert(.largeBlobKey) }
    let hmac: HMACSecretInput?
    if extensions.hmacSecret, let request = extensions.hmacRequest { hmac = try hmacInput(request) } else { hmac = nil }

    let made: OpenCredential
    do {
      made = try presentable { () throws(CryptoError) in
        try CredentialHandle.create(
          presented(algorithm), rpIdHash: rpIdHash, protection: protection, traits: traits,
          length: profile.credentialIdLength, under: state.secret)
      }
    } catch { throw .other }

    let blobFits = c.wantsRk && (extensions.credBlob?.count ?? 0) <= (profile.info.maxCredBlobLength ?? 0)
    if c.wantsRk {
      try store(made, c, rpName: rpName, user: user, credBlob: blobFits ? extensions.credBlob : nil)
    }

    var outputs: [(String, CBORValue)] = []
    if extensions.credBlob != nil { outputs.append(("credBlob", .bool(blobFits))) }
    if extensions.protection != nil || profile.quirks.contains(.unaskedExtension) {
      outputs.append(("credProtect", .int(Int(protection.rawValue))))
    }
    if extensions.hmacSecret { outputs.append(("hmac-secret", .bool(true))) }
    if extensions.minPinLength, facts.minPINLengthRPIDs.contains(c.rpId) {
      outputs.append(("minPinLength", .int(facts.minPINLength)))
    }
    if let hmac {
      let random = try credRandom(made, userVerified: c.userVerified)
      outputs.append(("hmac-secret-mc", .bytes(try hmac.output(credRandom: random))))
    }

    let attested =
      profile.info.aaguid + [UInt8(truncatingIfNeeded: made.id.count >> 8), UInt8(made.id.count & 0xFF)] + made.id
      + presentedCOSE(made)
    let authData = authenticatorData(
      rpIdHash: rpIdHash, userPresent: c.userPresent, userVerified: c.userVerified,
      count: try nextSignatureCount(), attested: attested, extensions: outputs)
    let statement = try attest(authData + c.clientDataHash, by: made, formats: formats)
    return CBORValue.encode(
      .intMap([
        (1, .text(statement.format)), (2, .bytes(authData)), (3, statement.value),
        (4, enterprise ? .bool(true) : nil),
        (5, extensions.largeBlobKey == true ? .bytes(try largeBlobKey(made)) : nil),
      ]))
  }

  /// Step 17.
  private func store(
    _ made: OpenCredential, _ c: Ceremony, rpName: String?, user: StoredUser, credBlob: [UInt8]?
  ) throws(CTAPStatus) {
    var list = facts.credentials
    list.removeAll { $0.rpId == c.rpId && $0.user.id == user.id }
    guard list.count < profile.discoverableCapacity else { throw .keyStoreFull }
    list.append(
      StoredCredential(
        id: made.id, rpId: c.rpId, rpName: rpName, user: user, credBlob: credBlob, sequence: facts.sequence))
    facts.sequence += 1
    facts.credentials = list
    try save()
  }

  /// Step 19.
  private func attest(
    _ message: [UInt8], by made: OpenCredential, formats: [String]
  ) throws(CTAPStatus) -> (format: String, value: CBORValue) {
    // CTAP 2.2: the platform's first wish that this key can fulfil.
    if profile.info.attestationFormats.contains("none"),
      formats.first(where: profile.info.attestationFormats.contains) == "none"
    {
      return ("none", .map([]))
    }
    do {
      switch profile.attestation {
      case .none: return ("none", .map([]))
      case .basic:
        return (
          "packed",
          .textMap([
            ("alg", .int(-7)), ("sig", .bytes(try attestation.signature(for: message))),
            ("x5c", .array([.bytes(attestation.certificate)])),
          ])
        )
      case .filledNone: return ("none", .textMap([("alg", .int(-7))]))
      case .brokenCertificate:
        return (
          "packed",
          .textMap([
            ("alg", .int(-7)), ("sig", .bytes(try attestation.signature(for: message))),
            ("x5c", .array([.bytes(brokenCertificate)])),
          ])
        )
      case .selfSigned:
        return (
          "packed",
          .textMap([
            ("alg", .int(Int(made.algorithm.rawValue))), ("sig", .bytes(try made.key.signature(for: message))),
          ])
        )
      case .unknown(let format):
        return (format, .textMap([("sig", .bytes(try made.key.signature(for: message))), ("ver", .text("1"))]))
      }
    } catch { throw .other }
  }
}
