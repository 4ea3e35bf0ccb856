// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What the owner listed of the vault, and what no signature covers.
extension CapsuleCheck {
  /// Checks key tables and content against the owner's newest vault statement. Their bytes are not committed to by
  /// anything: only their names are.
  mutating func checkVault() {
    let newest = admitted.last { $0.kind == .vaultUpdated }
    let statement = newest.flatMap { try? VaultUpdatedPayload(parsing: $0.terms.payload) }
    let listed = Set(statement?.tableIDs ?? [])
    for id in listed.sorted(by: utf8Order) where capsule.tableBlobs[id] == nil {
      soft("tableMissing", "key table \(id.prefix(8))", "The owner listed this key table, and it is not in the file.")
    }
    for id in capsule.tableBlobs.keys.sorted(by: utf8Order) {
      let subject = "key table \(id.prefix(8))"
      if !listed.contains(id) { soft("tableUnlisted", subject, "The owner did not list this key table.") }
      if let table = try? KeyTable(parsing: capsule.tableBlobs[id] ?? []), table.tableID == id { continue }
      soft("badTable", subject, "The key table does not read as one.")
    }
    if capsule.contentBlobs.isEmpty {
      // Nothing is listed by the hash of no name.
      if let statement, statement.blobCommitment != SHA256.hash([]) {
        report.add(
          .note, "contentDiffers", "content",
          "The owner listed content, and the file holds none of it: it may have been left out on the way.")
      }
      return
    }
    let names = capsule.contentBlobs.keys.sorted(by: utf8Order).joined(separator: "\n")
    if let statement, SHA256.hash(Array(names.utf8)) == statement.blobCommitment {
      report.add(
        .good, "contentNames", "content", "The names of the content are those that the owner listed, all of them.")
    } else if statement != nil {
      report.add(
        .note, "contentDiffers", "content", "The content is not exactly what the owner listed: a file may hold a part.")
    } else {
      soft("contentUnlisted", "content", "The owner listed no content, and the file holds some.")
    }
  }

  /// Says of each member of the file that no signature covers it: whoever hands the file on can change it unseen.
  mutating func sayWhatNothingCovers() {
    if !capsule.contentBlobs.isEmpty {
      notCovered(
        "contentBlobsBase64",
        "the content itself, \(counted(capsule.contentBlobs.count)). Only its names are; whoever can open it will see "
          + "whether it was changed.")
    }
    if !capsule.tableBlobs.isEmpty {
      notCovered(
        "tableBlobsBase64",
        "the key tables themselves, \(counted(capsule.tableBlobs.count)). Only their names are; whoever can open them "
          + "will see whether they were changed.")
    }
    notCovered(
      "identities", "what people are called, the tier of their keys, and when a device was endorsed.")
    let told = ["exportedBy", "exportedAtEpoch"] + (capsule.stateAtExport == nil ? [] : ["stateAtExport"])
    notCovered(
      told.joined(separator: ", "), "who wrote the file and when, and what their phone thought of the estate.")
    if !capsule.otherMembers.isEmpty {
      notCovered(
        capsule.otherMembers.map(\.name).joined(separator: ", "), "members that this program does not know.")
    }
  }

  private mutating func notCovered(_ member: String, _ what: String) {
    report.add(.note, "notCovered", member, "Not covered by any signature: \(what)")
  }

  private func counted(_ count: Int) -> String { count == 1 ? "1 blob" : "\(count) blobs" }
}
