// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// The kinds of file this program reads and writes, each one of Seal's own JSON objects.
public enum ArtefactKind: String, Sendable, Hashable, CaseIterable {
  /// ``RootIdentity``
  case identity
  /// ``DirectoryRecord``
  case identityRecord
  /// ``DeviceEndorsement``
  case endorsement
  /// ``StoredAssertion``
  case assertion
  /// ``BackupCredential``
  case backup
  /// ``DeviceRevocation``
  case revocation
  /// ``FriendshipAttestation``
  case friendshipAttestation
  /// ``Friendship``
  case friendship
  /// ``ForgeHandshake``
  case forgeHandshake
  /// ``TombstoneProof``
  case deleteMarker
  /// ``CustodyReceipt``
  case receipt
  /// ``EstateEvent``
  case event
  /// ``CapsuleIdentity``
  case capsuleIdentity
  /// A whole record.
  case capsule

  /// What the wrapper's `format` says.
  public var format: String { "sealkey.\(rawValue)" }

  /// The members by which a raw file is told, most telling first: all must be there.
  private static let signatures: [(kind: ArtefactKind, members: [String])] = [
    (.event, ["id", "estateID", "kind", "payload", "signature"]),
    (.receipt, ["receiptID", "giverHash", "receiverHash"]),
    (.forgeHandshake, ["senderHash", "recipientHash", "senderDevicePublicKey"]),
    (.friendship, ["friendRootID", "attestation"]),
    (.friendshipAttestation, ["nonce", "timestamp", "assertion"]),
    (.deleteMarker, ["nonce", "assertion"]),
    (.revocation, ["devicePublicKey", "revokedAt", "assertion"]),
    (.endorsement, ["devicePublicKey", "kemBundlePublicKeys", "assertion"]),
    (.backup, ["credentialID", "publicKey", "acceptance"]),
    (.capsuleIdentity, ["rootHash", "publicKeyHex"]),
    (.identity, ["credentialIDHash", "publicKey"]),
    (.assertion, ["credentialID", "clientDataJSON", "authenticatorData", "signature"]),
    (.identityRecord, ["publicKey", "tier", "displayName"]),
  ]

  /// Tells the kind of a raw file of Seal's by its members; nil when it is none.
  public init?(membersOf json: JSONValue) {
    guard let names = json.object.map({ Set($0.map(\.name)) }) else { return nil }
    if json["format"]?.string == Capsule.format {
      self = .capsule
    } else if let found = Self.signatures.first(where: { names.isSuperset(of: $0.members) }) {
      self = found.kind
    } else {
      return nil
    }
  }
}
