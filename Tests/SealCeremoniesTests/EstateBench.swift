// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import TestSupport
import WebAuthnCore

/// A root credential in memory, as a key that ceremonies can ask: quick, and it counts how often it was touched.
actor SoftKey: CeremonyKey {
  let id: [UInt8]
  let root: P256.Signing.PrivateKey
  private(set) var touches = 0

  init(id: [UInt8]? = nil) throws {
    self.id = id ?? Random.bytes(32)
    root = try P256.Signing.PrivateKey()
  }

  nonisolated var publicKey: [UInt8] { root.publicKey.rawRepresentation }

  func capabilities() -> KeyCapabilities {
    KeyCapabilities(
      supportsPRF: false, canVerifyUser: false, supportsES256: true, isSimulated: true, name: "soft key")
  }

  func makeCredential(_ request: RegistrationRequest) throws -> RegistrationResponse { throw CancellationError() }

  func getAssertion(_ request: AssertionRequest) throws -> AssertionResponse {
    touches += 1
    let authData = SHA256.hash(Array(request.rpID.utf8)) + [0x01, 0, 0, 0, UInt8(truncatingIfNeeded: touches)]
    let clientData = ClientData(type: .get, challenge: request.challenge, origin: request.origin)
    return AssertionResponse(
      credentialID: id, clientDataJSON: clientData.json, authenticatorData: authData,
      signature: try root.signature(for: authData + clientData.hash),
      evidence: KeyEvidence(isSimulated: true, name: "soft key", transport: "virtual"))
  }
}

/// Somebody with a soft key.
struct SoftPerson: Sendable {
  let key: SoftKey
  let record: DirectoryRecord
  let person: SyntheticPerson

  init(_ name: String, endorsedAt: Int64, credentialID: [UInt8]? = nil) async throws {
    let key = try SoftKey(id: credentialID)
    let identity = RootIdentity(credentialID: key.id, publicKey: key.publicKey, tier: .verified, displayName: name)
    let bare = DirectoryRecord(identity: identity)
    let ceremony = Ceremony(key: key)
    person = try await SyntheticPerson(identity: identity, halves: PrivateHalves(), endorsedAt: endorsedAt) {
      try await ceremony.sign($0, as: bare).assertion
    }
    self.key = key
    record = person.record
  }

  /// A copy of the device's private halves.
  func device() throws -> PrivateHalves { try PrivateHalves(parsing: person.halves.encoded()) }
}

/// A made-up estate, and the store of whoever looks at it.
struct EstateBench: Sendable {
  static let start: Int64 = 1_800_000_000
  let owner: SoftPerson
  /// Karin, David (who claims), Ruth.
  let holders: [SoftPerson]
  let recipient: SoftPerson
  let capsule: Capsule
  let now: Int64
  let folder: TemporaryFolder
  let store: LocalStore

  init(_ stage: SyntheticEstate.Stage, policy: ReleasePolicy = ReleasePolicy(threshold: 2)) async throws {
    owner = try await SoftPerson("Ada", endorsedAt: Self.start)
    var made: [SoftPerson] = []
    for name in ["Karin", "David", "Ruth"] { made.append(try await SoftPerson(name, endorsedAt: Self.start)) }
    holders = made
    recipient = try await SoftPerson("Emma", endorsedAt: Self.start)
    let estate = SyntheticEstate(
      owner: owner.person, holders: holders.map(\.person), recipients: [recipient.person], start: Self.start,
      policy: policy, isSimulated: true)
    try await estate.write(upTo: stage)
    capsule = estate.capsule
    now = estate.moment + 60
    folder = try TemporaryFolder()
    store = LocalStore(path: "\(folder.path)/data")
  }

  var ownerKey: [UInt8] { owner.record.publicKey }

  /// As if this computer had seen everything when it happened.
  func seenAsItHappened(_ events: [EstateEvent]? = nil) async throws {
    try await store.remember(
      events ?? capsule.events, estateID: capsule.estateID, ownerHash: owner.record.rootHash, ownerKey: ownerKey,
      seenAt: nil)
  }

  func read(
    _ changed: Capsule? = nil, at moment: Int64? = nil, pinned: Bool = true,
    remembering: LocalStore.Remembering = .always
  ) async throws -> EstateReading {
    let context = CapsuleContext(
      now: moment ?? now, pins: pinned ? [owner.record.rootHash: ownerKey] : [:])
    return try await store.read(changed ?? capsule, context, remembering: remembering)
  }

  /// An entry by one of the people.
  func event(
    _ kind: EventKind, by person: SoftPerson, _ payload: [UInt8] = [], at moment: Int64? = nil, previous: [UInt8]? = nil
  ) throws -> EstateEvent {
    try EventTerms(
      id: UUIDText.random(), estateID: capsule.estateID, kind: kind.rawValue, actorHash: person.record.rootHash,
      actorDevicePublicKey: person.person.halves.devicePublicKey, occurredAtEpoch: moment ?? now,
      previousDigest: previous ?? capsule.events.last?.digest ?? [], payload: payload
    ).signed { try person.person.halves.signature(for: $0) }
  }

  func adding(_ events: [EstateEvent]) -> Capsule {
    var changed = capsule
    changed.entries += events.map { Capsule.Entry($0) }
    return changed
  }
}
