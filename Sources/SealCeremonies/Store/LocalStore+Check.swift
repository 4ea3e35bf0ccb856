// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealFormats
import WebAuthnCore

extension LocalStore {
  /// Looks at everything in the store; changes nothing.
  public func check() -> VerificationReport {
    var report = VerificationReport()
    guard access(path, F_OK) == 0 else {
      report.add(.note, "storeEmpty", path, "There is no store yet.")
      return report
    }
    checkModes(&report)
    checkPeople(&report)
    for name in Self.names(in: estatesPath) where name.hasSuffix(".jsonl") { checkEstate(name, &report) }
    for name in deviceNames {
      do {
        let halves = try publicHalves(name)
        report.add(
          .good, "device", name,
          "Its private halves read; public key \(Hex.encode(halves.devicePublicKey.prefix(9)))...")
      } catch { Self.add(error, name, &report) }
    }
    for folder in [path, estatesPath, devicesPath] {
      for name in Self.names(in: folder) where Self.isLeftover(name) {
        report.add(
          .note, "leftover", name,
          "A program was stopped while it wrote this; it counts for nothing and will be removed.")
      }
    }
    return report
  }

  private static func add(_ error: any Error, _ subject: String, _ report: inout VerificationReport) {
    let named = error as? any NamedError
    report.add(.bad, named?.name ?? "unexpected", subject, named?.message ?? "\(error)")
  }

  private func checkModes(_ report: inout VerificationReport) {
    var places = [path, directoryPath, estatesPath, devicesPath]
    for folder in [estatesPath, devicesPath] { places += Self.names(in: folder).map { "\(folder)/\($0)" } }
    for place in places {
      var status = stat()
      guard stat(place, &status) == 0 else { continue }
      if status.st_mode & 0o077 != 0 {
        report.add(.bad, "fileTooOpen", place, "Other users of this computer can get at it: chmod go= \(place)")
      }
      if status.st_uid != getuid() {
        report.add(.warning, "fileOfAnotherUser", place, "It belongs to another user of this computer.")
      }
    }
  }

  private func checkPeople(_ report: inout VerificationReport) {
    do {
      let people = try people()
      for record in people.records.values.sorted(by: { $0.rootHash < $1.rootHash }) {
        let subject = "\(record.displayName) \(record.rootHash.prefix(16))"
        if let pin = people.pins[record.rootHash], pin.publicKey != record.publicKey {
          report.add(.bad, "publicKeyChanged", subject, "The record has another root key than the pin.")
          continue
        }
        let verified = try VerifiedIdentity(record: record)
        let bad = verified.report.failures
        if bad.isEmpty {
          report.add(.good, "identityRecord", subject, "\(verified.devices.count) live devices, all of them proven.")
        }
        for check in bad { report.add(.warning, check.name, subject, check.explanation) }
      }
      report.add(
        .good, "directory", "directory", "\(people.records.count) identities, \(people.pins.count) pinned keys.")
    } catch { Self.add(error, directoryPath, &report) }
  }

  private func checkEstate(_ name: String, _ report: inout VerificationReport) {
    let file = "\(estatesPath)/\(name)"
    do {
      let history = try EstateHistory(parsing: AtomicFile.read(file, limit: Self.historyLimit), path: file)
      let subject = "estate \(history.estateID)"
      guard
        historyPath(estateID: history.estateID, ownerHash: history.ownerHash, ownerKey: history.ownerKey) == file
      else { throw StoreError.damaged(path: file, reason: "It is of another estate than its name says.") }
      let unsigned = history.events.filter { !$0.hasValidSignature }
      for event in unsigned {
        report.add(
          .bad, "signatureDoesNotMatch", "\(subject), \(event.terms.kind) \(event.id.prefix(8))",
          "The device that it names did not sign it: the file was changed.")
      }
      if unsigned.isEmpty {
        report.add(.good, "estate", subject, "\(history.events.count) entries, each of them signed.")
      }
    } catch { Self.add(error, file, &report) }
  }
}
