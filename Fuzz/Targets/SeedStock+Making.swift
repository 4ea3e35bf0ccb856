// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import InteropMatrix
import SealCeremonies
import SealFormats
import SecurityKeys
import VirtualAuthenticator
import WebAuthnCore

extension SeedStock {
  /// Everything.
  public static func made() async throws -> SeedStock {
    var stock = SeedStock()
    try stock.addKeys()
    try await stock.addEstate()
    try await stock.addRun()
    stock.addTestData()
    return stock
  }

  /// Registrations and getInfo of virtual keys of every kind.
  private mutating func addKeys() throws {
    for profile in ModelProfile.builtIn where profile.speaksCTAP2 {
      let key = try VirtualAuthenticator(profile: profile)
      infos.append(Array(key.handle([4]).dropFirst()))
      let client = ClientData(type: .create, challenge: Random.bytes(32), origin: "https://example.org")
      let reply = key.handle(
        [1]
          + CBORValue.encode(
            .intMap([
              (1, .bytes(client.hash)), (2, .textMap([("id", .text("example.org")), ("name", .text("E"))])),
              (3, .textMap([("id", .bytes([1, 2])), ("name", .text("n")), ("displayName", .text("d"))])),
              (4, .array([.textMap([("alg", .int(-7)), ("type", .text("public-key"))])])),
              (6, .textMap([("credProtect", .int(2)), ("hmac-secret", .bool(true))])),
            ])))
      guard reply.first == 0 else { continue }
      let map = Array(reply.dropFirst())
      guard let item = try? CBORDecoder.decodeAll(map), let data = item[2]?.bytes,
        let object = AttestationObject.build(makeCredentialReply: item, in: map)
      else { continue }
      registrations.append(
        Registration(attestationObject: object, clientData: client.json, authenticatorData: data))
      if let statement = SeedStatement(object) {
        statements.append(statement)
        if let item = try? CBORDecoder.decodeAll(statement.statement), let signature = item["sig"]?.bytes {
          signatures.append(signature)
        }
      }
    }
    statements.append(contentsOf: try u2fStatement())
    signatures.append(try P256.Signing.PrivateKey().signature(for: [1]))
    signatures.append(try P384.Signing.PrivateKey().signature(for: [1]))
    signatures.append(try P521.Signing.PrivateKey().signature(for: [1]))
  }

  /// What a client makes of a U2F registration (WebAuthn level 3 section 8.6).
  private func u2fStatement() throws -> [SeedStatement] {
    let key = try VirtualAuthenticator(profile: .virtual)
    let apdu = CommandAPDU(ins: 1, data: [UInt8](repeating: 3, count: 64), le: 65536)
    let response = try ResponseAPDU(parsing: key.handleU2F(apdu.extendedForm())).data
    guard response.count > 67, response.count > 67 + Int(response[66]),
      let (_, range) = DERItem.first(of: response, from: 67 + Int(response[66]))
    else { return [] }
    let statement = CBORValue.textMap([
      ("sig", .bytes(Array(response[range.upperBound...]))), ("x5c", .array([.bytes(Array(response[range]))])),
    ])
    let object = AttestationObject.build(
      format: "fido-u2f", statement: CBORValue.encode(statement), authenticatorData: Self.fixedAuthenticatorData)
    return [SeedStatement(object)].compactMap { $0 }
  }

  /// A root in memory.
  private final class Root: Sendable {
    let id = Random.bytes(32)
    let key: P256.Signing.PrivateKey
    init() throws { key = try P256.Signing.PrivateKey() }

    func tap(_ statement: Statement) throws -> StoredAssertion {
      let data = Seal.rpIdHash + [0x05, 0, 0, 0, 1]
      let client = ClientData(type: .get, challenge: try statement.commitment().digest, origin: Seal.origin).json
      return StoredAssertion(
        credentialID: id, clientDataJSON: client, authenticatorData: data,
        signature: try key.signature(for: data + SHA256.hash(client)))
    }

    func person(_ name: String) async throws -> SyntheticPerson {
      let identity = RootIdentity(
        credentialID: id, publicKey: key.publicKey.rawRepresentation, tier: .verified, displayName: name)
      return try await SyntheticPerson(identity: identity, halves: PrivateHalves(), endorsedAt: 1_700_000_000) {
        try self.tap($0)
      }
    }
  }

  /// An estate from its beginning to its release, and every kind of file that its people keep.
  private mutating func addEstate() async throws {
    let root = try Root()
    let owner = try await root.person("Owner")
    let holders = [try await Root().person("Karin"), try await Root().person("David")]
    let estate = SyntheticEstate(
      owner: owner, holders: holders, recipients: [try await Root().person("Emma")], start: 1_700_000_000,
      policy: ReleasePolicy(threshold: 2))
    try await estate.write(upTo: .sealed)
    capsules.append(estate.capsule.encoded())
    try await estate.write(upTo: .released)
    var small = estate.capsule
    small.entries = Array(small.entries.suffix(3))
    small.contentBlobs = [:]
    capsules.append(small.encoded())
    let assertion = try root.tap(.identityDelete(nonce: [UInt8](repeating: 1, count: 32)))
    addPayloads(estate.capsule, assertion)
    addArtefacts(owner, estate.capsule, assertion)
    var known = KnownPeople()
    _ = try known.take(owner.record)
    try known.pin(
      .init(
        rootHash: owner.hash, publicKey: owner.identity.publicKey, displayName: "Owner", origin: .confirmed,
        pinnedAt: 1_700_000_000))
    people.append(known.encoded())
    passkeys.append(try PasskeyRequest(registering: "Emma").encoded())
    passkeys.append(
      try PasskeyRequest(
        signing: .identityDelete(nonce: [UInt8](repeating: 1, count: 32)), as: owner.record, isSimulated: true
      ).encoded())
    halves.append(owner.halves.encoded().withUnsafeBytes { Array($0) })
    bundles.append(owner.halves.bundle.publicKeys.bytes)
    bundles.append([UInt8](repeating: 9, count: 32))
  }

  private mutating func addPayloads(_ capsule: Capsule, _ assertion: StoredAssertion) {
    let places: [EventKind: UInt8] = [
      .authorization: 0, .custodyConfirmed: 1, .releaseClaimed: 2, .objection: 3, .released: 4, .silenceObserved: 5,
      .estateCreated: 6, .policyChanged: 7, .epochPublished: 8, .ownerDeparted: 9, .cancellation: 10,
      .vaultUpdated: 11,
    ]
    for event in capsule.events {
      guard let kind = EventKind(rawValue: event.terms.kind), let place = places[kind] else { continue }
      payloads.append([place] + event.terms.payload)
    }
    let envelope = WrapEnvelope(
      suite: WrapEnvelope.hybrid, ephemeralPublicKey: [1], mlkemCiphertext: [2], ciphertext: [3])
    let share = EpochMaterial.HolderShare(
      custodianHash: "ab", shareIndex: 1, envelopes: [envelope], commitment: [UInt8](repeating: 1, count: 32))
    payloads.append([12] + envelope.encoded())
    payloads.append(
      [13]
        + KeyTable(
          tableID: "t", epoch: 1, ownerWraps: [envelope], releaseWraps: [envelope], ciphertext: [9]
        ).encoded())
    payloads.append(
      [14]
        + EpochMaterial(
          estateID: "e", epoch: 1, threshold: 2, ownerWraps: [envelope], custodianShares: [share],
          estateKeyCommitment: [UInt8](repeating: 2, count: 32)
        ).encoded())
    payloads.append([15] + share.encoded())
    payloads.append([3] + ObjectionPayload(claimID: "c", withdrawn: true, note: "n").encoded())
    payloads.append([9] + OwnerDepartedPayload(keepEnvelopes: true, departedAtEpoch: 5).encoded())
    payloads.append([10] + CancellationPayload(claimID: nil).encoded())
  }

  private mutating func addArtefacts(_ person: SyntheticPerson, _ capsule: Capsule, _ assertion: StoredAssertion) {
    let date = SealDate(secondsSince2001: 700_000_000.25)
    var evidence = Evidence()
    evidence.rootPublicKey = person.identity.publicKey
    evidence.credentialID = assertion.credentialID
    evidence.statement = .identityDelete(nonce: [UInt8](repeating: 1, count: 32))
    evidence.attestationObject = registrations.first?.attestationObject
    evidence.registrationClientDataJSON = registrations.first?.clientData
    evidence.registrationChallenge = [UInt8](repeating: 2, count: 32)
    evidence.key = KeyEvidence(
      isSimulated: true, name: "virtual key", transport: "virtual", aaguid: [UInt8](repeating: 3, count: 16),
      firmwareVersion: 7, getInfo: infos.first)
    func add(_ kind: ArtefactKind, _ shape: some SealShape) {
      artefacts.append(Artefact(kind, shape, isSimulated: true, evidence: evidence).encoded())
      artefacts.append(shape.encoded())
    }
    let meeting = FriendshipAttestation(nonce: [UInt8](repeating: 1, count: 32), timestamp: date, assertion: assertion)
    add(.identity, person.identity)
    add(.identityRecord, person.record)
    add(.endorsement, person.endorsement)
    add(.assertion, assertion)
    add(
      .backup,
      BackupCredential(
        credentialID: [1, 2, 3], publicKey: person.identity.publicKey, tier: .verified, label: "spare",
        assertion: assertion, acceptance: assertion, createdAt: date))
    add(
      .revocation,
      DeviceRevocation(devicePublicKey: person.halves.devicePublicKey, assertion: assertion, revokedAt: date))
    add(.friendshipAttestation, meeting)
    add(.friendship, Friendship(friendRootID: person.hash, attestation: meeting, forgedAt: date, sponsored: true))
    add(
      .forgeHandshake,
      ForgeHandshake(
        senderHash: person.hash, recipientHash: person.hash, senderDevicePublicKey: person.halves.devicePublicKey,
        nonce: [UInt8](repeating: 1, count: 32), signature: assertion.signature, forgedAt: date))
    add(.deleteMarker, TombstoneProof(nonce: [UInt8](repeating: 1, count: 32), assertion: assertion))
    if let event = capsule.events.first { add(.event, event) }
    add(.capsuleIdentity, CapsuleIdentity(person.record))
  }

  /// A run of the matrix on a virtual key, only begun, and one that says it was of a real key.
  private mutating func addRun() async throws {
    let key = try VirtualAuthenticator()
    let begun = Locked<RunRecord?>(nil)
    do {
      // The record is kept for the first time before the first step.
      let first = MatrixRunner(
        .virtual(key), pin: nil, tool: "fuzz",
        save: { record in
          begun.withLock { $0 = record }
          throw CancellationError()
        })
      _ = try await first.run(at: 1_800_000_000)
    } catch is CancellationError {}
    var options = MatrixRunner.Options()
    options.finishesNow = true
    var record = try await MatrixRunner(.virtual(key), pin: nil, options: options, tool: "fuzz")
      .run(continuing: begun.withLock { $0 }, at: 1_800_000_000)
    records.append(record.encoded())
    record.isSimulated = false
    record.key = .init(
      name: "Maker | Key <5>", transport: "hidraw", place: "/sys/devices/pci0000:00/usb1", vendorID: 1, productID: 2)
    var info = AuthenticatorInfo(versions: ["FIDO_2_1"], aaguid: Array("a maker's aaguid".utf8))
    info.options = ["clientPin": true]
    record.before = .init(info: info.encoded(), pinTries: 8, discoverable: 0)
    record.after = record.before
    records.append(record.encoded())
    Self.madeRun.withLock { $0 = MatrixSheet.Run(file: record.fileName, record: record) }
  }

  /// What the tests hold: attestations and a timestamp that were made with other programs, and the sheet itself.
  private mutating func addTestData() {
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    func text(_ path: String) -> String {
      guard let file = fopen("\(root)/\(path)", "r") else { return "" }
      defer { fclose(file) }
      var buffer = [UInt8](repeating: 0, count: 1 << 20)
      let count = fread(&buffer, 1, buffer.count, file)
      return String(decoding: buffer[..<count], as: UTF8.self)
    }
    /// The texts between triple quotes, without white space and line continuations.
    func literals(_ source: String) -> [String] {
      let parts = source.split(separator: "\"\"\"", omittingEmptySubsequences: false)
      return stride(from: 1, to: parts.count, by: 2).map { parts[$0].filter { !$0.isWhitespace && $0 != "\\" } }
    }
    for literal in literals(text("Tests/WebAuthnCoreTests/MadeAttestations.swift")) {
      if let bytes = Hex.decode(literal), let statement = SeedStatement(bytes) { statements.append(statement) }
    }
    for literal in literals(text("Tests/SealFormatsTests/TimestampTests.swift")) {
      if let bytes = Base64.decode(literal) { timestamps.append(bytes) }
    }
    sheets.append(Array(text("docs/SECURITY_KEY_TEST_MATRIX.md").utf8))
    let heads =
      "| # | Key model | Firmware | PIN set? | NFC/USB | Register: result | Register: alg / crv / xLen / yLen | "
      + "Sign-in: result | Friend tap: result | verify line seen | Notes |\r\n"
    let sponsored = "| Model | PRF at register | PRF at endorse | Sign-in on a second phone unlocks | Notes |\n"
    sheets.append(
      Array((heads + "|-|-|-|-|-|-|-|-|-|-|-|\n| 1 |\n\n" + sponsored + "|-|-|-|-|-|").utf8))
  }
}
