// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

@testable import SealFormats

extension TestPerson {
  /// This person in a made-up estate, with fresh device halves and the root in memory.
  func synthetic(endorsedAt: Int64 = 1_800_000_000) async throws -> SyntheticPerson {
    let root = self.root
    return try await SyntheticPerson(identity: identity, halves: PrivateHalves(), endorsedAt: endorsedAt) {
      try root.tap($0)
    }
  }
}

/// A made-up estate with its people: an owner, three key holders, one recipient.
struct TestEstate {
  let owner: SyntheticPerson
  let holders: [SyntheticPerson]
  let recipient: SyntheticPerson
  let estate: SyntheticEstate

  init(policy: ReleasePolicy = ReleasePolicy(threshold: 2), holders count: Int = 3) async throws {
    owner = try await TestPerson("Owner").synthetic()
    var holders: [SyntheticPerson] = []
    for name in ["Karin", "David", "Ruth"].prefix(count) { holders.append(try await TestPerson(name).synthetic()) }
    self.holders = holders
    recipient = try await TestPerson("Emma").synthetic()
    estate = SyntheticEstate(
      owner: owner, holders: holders, recipients: [recipient], start: 1_800_000_000, policy: policy, isSimulated: false)
  }

  static func written(
    upTo stage: SyntheticEstate.Stage, policy: ReleasePolicy = ReleasePolicy(threshold: 2), holders: Int = 3
  ) async throws -> TestEstate {
    let made = try await TestEstate(policy: policy, holders: holders)
    try await made.estate.write(upTo: stage)
    return made
  }

  var capsule: Capsule { estate.capsule }
  var now: Int64 { estate.moment + 60 }
  var context: CapsuleContext { CapsuleContext(now: now, pins: [owner.hash: owner.identity.publicKey]) }

  func verify(_ changed: Capsule? = nil, _ context: CapsuleContext? = nil) async -> CapsuleVerification {
    await CapsuleVerifier(context ?? self.context).verify(changed ?? capsule)
  }

  /// An event by one of the people, signed by their device.
  func event(
    _ kind: EventKind, by person: SyntheticPerson, _ payload: [UInt8], at: Int64? = nil, estateID: String? = nil,
    previous: [UInt8]? = nil, id: String = UUIDText.random()
  ) throws -> EstateEvent {
    try EventTerms(
      id: id, estateID: estateID ?? capsule.estateID, kind: kind.rawValue, actorHash: person.hash,
      actorDevicePublicKey: person.halves.devicePublicKey, occurredAtEpoch: at ?? estate.moment,
      previousDigest: previous ?? capsule.events.last?.digest ?? [], payload: payload
    ).signed { try person.halves.signature(for: $0) }
  }
}
