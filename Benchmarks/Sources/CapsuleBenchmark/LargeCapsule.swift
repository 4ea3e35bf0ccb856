// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// Writes a capsule of very many real events: an owner's heartbeats and holders' confirmations, each with its tap.
enum LargeCapsule {
  /// The text of a capsule of `count` events. Three in ten carry a tap besides the device's signature.
  static func make(count: Int) async throws -> [UInt8] {
    let (owner, _) = try await person("Owner")
    let (karin, root) = try await person("Karin")
    let (david, _) = try await person("David")
    let estate = SyntheticEstate(
      owner: owner, holders: [karin, david], recipients: [], start: 1_700_000_000,
      policy: ReleasePolicy(threshold: 2))
    try await estate.write(upTo: .sealed)
    var capsule = estate.capsule
    let ownersKey = try P256.Signing.PrivateKey(rawRepresentation: owner.halves.signingKey)
    let holdersKey = try P256.Signing.PrivateKey(rawRepresentation: karin.halves.signingKey)
    var head = capsule.events.last?.digest ?? []
    var moment = estate.moment
    while capsule.entries.count < count {
      moment += 60
      let isConfirmation = capsule.entries.count % 10 < 3
      let actor = isConfirmation ? karin : owner
      var payload: [UInt8] = []
      if isConfirmation {
        let statement = Statement.custodyConfirm(estateID: capsule.estateID, epoch: 1, recordHeadDigest: head)
        payload = CustodyConfirmedPayload(
          epoch: 1, recordHeadDigest: head, assertion: try root.tap(statement)
        ).encoded()
      }
      let terms = EventTerms(
        id: UUIDText.random(), estateID: capsule.estateID,
        kind: (isConfirmation ? EventKind.custodyConfirmed : .heartbeat).rawValue, actorHash: actor.hash,
        actorDevicePublicKey: actor.halves.devicePublicKey, occurredAtEpoch: moment, previousDigest: head,
        payload: payload)
      let event = try terms.signed {
        isConfirmation ? try holdersKey.signature(for: $0) : try ownersKey.signature(for: $0)
      }
      capsule.entries.append(Capsule.Entry(event))
      head = event.digest
    }
    return capsule.encoded()
  }

  private static func person(_ name: String) async throws -> (SyntheticPerson, Root) {
    let root = try Root()
    let identity = RootIdentity(
      credentialID: root.id, publicKey: root.key.publicKey.rawRepresentation, tier: .verified, displayName: name)
    let person = try await SyntheticPerson(identity: identity, halves: PrivateHalves(), endorsedAt: 1_700_000_000) {
      try root.tap($0)
    }
    return (person, root)
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
  }
}
