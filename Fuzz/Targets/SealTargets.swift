// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import WebAuthnCore

/// Seal's own files.
extension FuzzTarget {
  static let sealTargets: [FuzzTarget] = [
    FuzzTarget(
      "artefact",
      ["SealFormats/Artefacts/Artefact.swift", "SealFormats/Artefacts/Evidence.swift", "SealFormats/Shapes/"],
      limit: 32768, seeds: { $0.artefacts }
    ) { input in
      guard let artefact = attempt({ () throws(FormatError) in try Artefact(parsing: input) }) else { return }
      for isPretty in [false, true] {
        let written = artefact.encoded(pretty: isPretty)
        let second = again("artefact") { () throws(FormatError) in try Artefact(parsing: written) }
        must(second.kind == artefact.kind && second.seal == artefact.seal, "Seal's part stays byte for byte")
        must(second.isSimulated || !artefact.isSimulated, "the mark of a virtual key is never lost")
        // A raw file of Seal's gets its wrapper by being written, and from then on stays as it is.
        let settled = second.encoded(pretty: isPretty)
        let third = again("artefact") { () throws(FormatError) in try Artefact(parsing: settled) }
        must(third.encoded(pretty: isPretty) == settled, "an artefact changes when it is written again")
      }
      let alone = artefact.sealOnly()
      let raw = attempt { () throws(FormatError) in try Artefact(parsing: alone) }
      must(raw == nil || raw?.isSimulated == true || !artefact.isSimulated, "the mark survives --seal")
      tryShape(artefact.kind, artefact.seal)
    },
    FuzzTarget(
      "payload",
      ["SealFormats/Events/", "SealFormats/Shares/KeyTable.swift", "SealFormats/Shares/EpochMaterial.swift"],
      limit: 16384, seeds: { $0.payloads }
    ) { input in
      // The first byte chooses what it is read as.
      guard let first = input.first else { return }
      let bytes = Array(input.dropFirst())
      switch first & 15 {
      case 0: keeps(AuthorizationPayload.self, bytes)
      case 1: keeps(CustodyConfirmedPayload.self, bytes)
      case 2: keeps(ReleaseClaimedPayload.self, bytes)
      case 3: keeps(ObjectionPayload.self, bytes)
      case 4: keeps(ReleasedPayload.self, bytes)
      case 5: keeps(SilenceObservedPayload.self, bytes)
      case 6: keeps(EstateCreatedPayload.self, bytes)
      case 7: keeps(PolicyChangedPayload.self, bytes)
      case 8: keeps(EpochPublishedPayload.self, bytes)
      case 9: keeps(OwnerDepartedPayload.self, bytes)
      case 10: keeps(CancellationPayload.self, bytes)
      case 11: keeps(VaultUpdatedPayload.self, bytes)
      case 12: keeps(WrapEnvelope.self, bytes)
      case 13: keeps(KeyTable.self, bytes)
      case 14: keeps(EpochMaterial.self, bytes)
      default: keeps(EpochMaterial.HolderShare.self, bytes)
      }
    },
    FuzzTarget(
      "capsule", ["SealFormats/Capsule/Capsule+Reading.swift", "SealFormats/Capsule/Capsule+Writing.swift"],
      limit: 65536, seeds: { $0.capsules }
    ) { input in
      guard let capsule = attempt({ () throws(FormatError) in try Capsule(parsing: input) }) else { return }
      let written = capsule.encoded()
      let second = again("capsule") { () throws(FormatError) in try Capsule(parsing: written) }
      must(second.encoded() == written, "a capsule changes when it is written again")
      must(second.entries.count == capsule.entries.count, "no event is lost")
      for event in capsule.events { _ = event.digest }
    },
    FuzzTarget("timestamp", ["SealFormats/Timestamps/"], limit: 8192, seeds: { $0.timestamps }) { input in
      let digest = SHA256.hash(Array("sealkey timestamp".utf8))
      let loose = attempt { () throws(TimestampError) in
        try TimestampToken(verifying: input, digest: digest, pins: [], demandsPin: false)
      }
      let strict = attempt { () throws(TimestampError) in try TimestampToken(verifying: input, digest: digest) }
      must(strict == nil, "nothing here is signed by the pinned authority")
      must(loose?.isPinned != true, "nothing is pinned without pins")
    },
    FuzzTarget(
      "private-halves", ["SealFormats/Wraps/SecretJSON.swift", "SealFormats/Wraps/PrivateHalves.swift"],
      limit: 1024, seeds: { $0.halves }
    ) { input in
      let key = attempt { () throws(WrapError) in try PrivateHalves(parsing: SecretBytes(input)).devicePublicKey }
      must(key == nil || key?.count == 65, "a device key is a point")
    },
    FuzzTarget("kem-bundle", ["SealFormats/Wraps/KEMBundle.swift"], limit: 1300, seeds: { $0.bundles }) { input in
      guard let bundle = attempt({ () throws(WrapError) in try KEMBundle(parsing: input) }) else { return }
      must(bundle.bytes == input, "a bundle has one form")
    },
    FuzzTarget(
      "people", ["SealCeremonies/Store/KnownPeople.swift", "SealFormats/Shapes/DirectoryRecord.swift"], limit: 16384,
      seeds: { $0.people }
    ) { input in
      guard let people = attempt({ () throws(StoreError) in try KnownPeople(parsing: input, path: "p") }) else {
        return
      }
      let written = people.encoded()
      let second = again("the directory") { () throws(StoreError) in try KnownPeople(parsing: written, path: "p") }
      must(second.encoded() == written, "the directory changes when it is written again")
    },
    FuzzTarget("passkey", ["SealCeremonies/PasskeyRequest.swift"], limit: 16384, seeds: { $0.passkeys }) { input in
      guard let request = attempt({ try PasskeyRequest(parsing: input) }) else { return }
      let written = request.encoded()
      let second = again("passkey request") { try PasskeyRequest(parsing: written) }
      must(second.encoded() == written, "a request changes when it is written again")
      _ = attempt { try request.answer(input) }
    },
  ]

  /// What reads as `T` is written and read again, and stays.
  private static func keeps<T: SealShape>(_: T.Type, _ bytes: [UInt8]) {
    guard let shape = attempt({ () throws(FormatError) in try T(parsing: bytes) }) else { return }
    let written = shape.encoded()
    let second = again("\(T.self)") { () throws(FormatError) in try T(parsing: written) }
    must(second.encoded() == written, "\(T.self) changes when it is written again")
  }

  private static func tryShape(_ kind: ArtefactKind, _ bytes: [UInt8]) {
    switch kind {
    case .identity: keeps(RootIdentity.self, bytes)
    case .identityRecord: keeps(DirectoryRecord.self, bytes)
    case .endorsement: keeps(DeviceEndorsement.self, bytes)
    case .assertion: keeps(StoredAssertion.self, bytes)
    case .backup: keeps(BackupCredential.self, bytes)
    case .revocation: keeps(DeviceRevocation.self, bytes)
    case .friendshipAttestation: keeps(FriendshipAttestation.self, bytes)
    case .friendship: keeps(Friendship.self, bytes)
    case .forgeHandshake: keeps(ForgeHandshake.self, bytes)
    case .deleteMarker: keeps(TombstoneProof.self, bytes)
    case .receipt: keeps(CustodyReceipt.self, bytes)
    case .event: keeps(EstateEvent.self, bytes)
    case .capsuleIdentity: keeps(CapsuleIdentity.self, bytes)
    case .capsule: break
    }
  }
}
