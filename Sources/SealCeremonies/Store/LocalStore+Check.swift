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
    for name in deviceNames { checkDevice(name, &report) }
    for folder in [path, estatesPath, devicesPath] {
      for name in FolderNames(of: folder).odd {
        report.add(
          .bad, "fileNameNotUTF8", "\(folder)/\(name)",
          "The name is not valid UTF-8, so this is no file of the store and is not read: rename it or move it away.")
      }
      for name in Self.names(in: folder) where isOurs(name, in: folder) && AbandonedFile.isAbandoned(name, in: folder) {
        report.add(
          .note, "leftover", name,
          "A program was stopped while it wrote this; it counts for nothing and will be removed.")
      }
    }
    return report
  }

  /// Recomputes the public side from the private halves, and compares it with what stands beside them and with what was
  /// endorsed: a damaged half would else be found out when a share does not open.
  private func checkDevice(_ name: String, _ report: inout VerificationReport) {
    do {
      let halves = try publicHalves(name)
      let short = Hex.encode(halves.devicePublicKey.prefix(9))
      for record in ((try? people())?.records ?? [:]).values.sorted(by: { $0.rootHash < $1.rootHash }) {
        let endorsed = record.deviceEndorsements.filter { $0.devicePublicKey == halves.devicePublicKey }
        guard !endorsed.isEmpty, !endorsed.contains(where: { Self.canOpen(halves, $0.kemBundlePublicKeys) }) else {
          continue
        }
        report.add(
          .bad, "halvesDoNotMatch", name,
          "It was endorsed for \(record.displayName) with another key bundle than its private halves have: what is "
            + "wrapped to it will not open.")
        return
      }
      if try isProtected(name) {
        report.add(.good, "device", name, "It is under a passphrase, and was not opened; public key \(short)...")
      } else {
        report.add(.good, "device", name, "Its private halves are those of its public key \(short)...")
      }
    } catch { Self.add(error, name, &report) }
  }

  /// Whether a device with these halves opens what is wrapped to that bundle. Without ML-KEM here, X25519 must do.
  private static func canOpen(_ halves: PublicHalves, _ bundle: [UInt8]) -> Bool {
    if halves.kemBundle == bundle { return true }
    guard let mine = try? KEMBundle(parsing: halves.kemBundle), let theirs = try? KEMBundle(parsing: bundle) else {
      return false
    }
    return mine.x25519 == theirs.x25519 && (mine.mlkem768 == nil || theirs.mlkem768 == nil)
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
        let unproven = try record.provenPart().leftOut
        // Nothing of the kind is taken in: whoever put it there did so behind this program's back.
        for (count, name, what) in [
          (unproven.endorsements, "endorsementInvalid", "endorsement"), (unproven.backups, "backupInvalid", "backup"),
          (unproven.revocations, "revocationInvalid", "revocation"),
        ] where count > 0 {
          report.add(.bad, name, subject, "\(counted(count, what)) in the record, signed by nobody who may.")
        }
        if record.tier == Tier.deleted.rawValue {
          report.add(.note, "identityDeleted", subject, "The identity was deleted for good.")
        } else if unproven.isEmpty {
          report.add(.good, "identityRecord", subject, "\(counted(verified.devices.count, "live device")), proven.")
        }
      }
      let (records, pins) = (people.records.count, people.pins.count)
      report.add(
        .good, "directory", "directory",
        "\(counted(records, "identity", "identities")), \(counted(pins, "pinned key")).")
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
          .bad, "signatureDoesNotMatch", "\(subject), \(event.plainKind) \(event.id.prefix(8))",
          "The device that it names did not sign it: the file was changed.")
      }
      if unsigned.isEmpty {
        report.add(
          .good, "estate", subject, "\(counted(history.events.count, "entry", "entries")), each of them signed.")
      }
    } catch { Self.add(error, file, &report) }
  }
}
