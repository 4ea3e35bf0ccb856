// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// One letter for each recipient of a made-up estate, with the key table that opens it after the release.
struct SyntheticLetters {
  private(set) var tables: [String: [UInt8]] = [:]
  private(set) var blobs: [String: [UInt8]] = [:]

  /// What the owner signs of them: the names of the content, and of the tables.
  var statement: VaultUpdatedPayload {
    let names = blobs.keys.sorted(by: utf8Order).joined(separator: "\n")
    return VaultUpdatedPayload(
      blobCommitment: SHA256.hash(Array(names.utf8)), tableIDs: tables.keys.sorted(by: utf8Order))
  }

  init(
    estateID: String, epoch: UInt64, estateKey: borrowing SecretBytes, owner: SyntheticPerson,
    recipients: [SyntheticPerson], writtenAt: Int64
  ) throws {
    for recipient in recipients {
      let (tableID, blobID) = (UUIDText.random(), UUIDText.random())
      let contentKey = SecretBytes.random(count: 32)
      let letter = JSONValue.object([
        ("letter", .string("This letter was made up, and so was everybody in it.")), ("photos", .array([])),
        ("revealOrder", .int(0)), ("secrets", .array([])), ("title", .string("A letter")),
        ("writtenAtEpoch", .int(writtenAt)),
      ])
      func aad(_ epoch: UInt64, _ purpose: String) -> [UInt8] {
        SealAAD.estate(estateID: estateID, epoch: epoch, purpose: purpose)
      }
      blobs[blobID] = try Self.box(
        SecretBytes(JSONWriter.write(letter, .sorted)), key: contentKey, aad: aad(0, "blob.\(blobID)"))
      let table = JSONValue.object([
        (
          "entries",
          .array([
            .object([
              ("blobIDs", .array([.string(blobID)])), ("contentKey", .base64(contentKey.exposed())),
              ("envelopeID", .string(UUIDText.random())), ("revealOrder", .int(0)), ("title", .string("A letter")),
            ])
          ])
        ),
        ("recipientHash", .string(recipient.hash)),
      ])
      let tableKey = SecretBytes.random(count: 32)
      // The table's key under the Estate Key: it takes both that and the recipient's own key to open.
      let inner = try Self.box(tableKey, key: estateKey, aad: aad(epoch, "tablekey.inner.\(tableID)"))
      tables[tableID] = KeyTable(
        tableID: tableID, epoch: epoch,
        ownerWraps: [
          try Wrap.seal(
            tableKey, to: owner.halves.bundle.publicKeys, authenticating: aad(0, "tablekey.owner.\(tableID)"))
        ],
        releaseWraps: [
          try Wrap.seal(
            SecretBytes(inner), to: recipient.halves.bundle.publicKeys,
            authenticating: aad(epoch, "tablekey.release.\(tableID)"))
        ],
        ciphertext: try Self.box(
          SecretBytes(JSONWriter.write(table, .sorted)), key: tableKey, aad: aad(0, "table.\(tableID)"))
      ).encoded()
    }
  }

  private static func box(
    _ secret: borrowing SecretBytes, key: borrowing SecretBytes, aad: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    let nonce = Random.bytes(12)
    let sealed = try AES.GCM.seal(secret, using: key, nonce: nonce, authenticating: aad)
    return nonce + sealed.ciphertext + sealed.tag
  }
}
