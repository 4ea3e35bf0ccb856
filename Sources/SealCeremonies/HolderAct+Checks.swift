// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// What speaks against an act of a key holder's.
extension HolderAct {
  static func check(
    _ reading: EstateReading, _ holder: DirectoryRecord, _ device: [UInt8]
  ) throws(HolderActError) -> EpochPublishedPayload {
    let verified = reading.verification
    let failures = verified.report.failures.map(\.name)
    guard failures.isEmpty else { throw .recordNotGood(Array(Set(failures)).sorted()) }
    guard reading.context.pins[reading.capsule.ownerHash] != nil else {
      throw .ownerNotPinned(name: verified.name(of: reading.capsule.ownerHash))
    }
    guard let statement = verified.statement else { throw .noEpoch }
    // An owner who is named as a key holder is the owner only.
    guard holder.rootHash != reading.capsule.ownerHash,
      let place = statement.custodianHashes.firstIndex(of: holder.rootHash)
    else {
      throw .notAKeyHolder(
        name: holder.displayName,
        holders: statement.custodianHashes.map { reading.context.directory[$0]?.displayName ?? verified.name(of: $0) })
    }
    guard statement.custodianPublicKeys.indices.contains(place),
      statement.custodianPublicKeys[place] == holder.publicKey
    else { throw .holderKeyDiffers(name: holder.displayName) }
    guard verified.identities[holder.rootHash]?.device(device) != nil else { throw .deviceNotEndorsed }
    return statement
  }

  /// An act is dated by this computer's clock: a tap too early is wasted for everybody, one that runs ahead opens a claim
  /// before its time, and a confirmation that does stands for years. Nothing here knows the time better, but the record
  /// can show that it is wrong.
  static func checkClock(_ reading: EstateReading) throws(HolderActError) {
    let now = reading.context.now
    let entries = reading.verification.admitted.map(\.terms.occurredAtEpoch)
    let latest = [reading.verification.tokenTimes.values.max(), reading.latestSight, entries.max()].compactMap { $0 }
    if let latest = latest.max(), latest > now + EstateHistory.clockTolerance {
      throw .clockBehind(now: now, latest: latest)
    }
    if let newest = entries.max(), now - newest > longestPause { throw .clockAhead(now: now, newest: newest) }
  }

  /// Seconds after which a record without any new entry is unlikely: two years.
  static let longestPause: Int64 = 730 * 86_400

  static func openClaim(
    _ reading: EstateReading, _ holder: String, _ claimID: String?, _ usesRecordTimes: Bool, at now: Int64
  ) throws(HolderActError) -> Claim {
    let gate = TapGate(entries: reading.entries(usingRecordTimes: usesRecordTimes))
    let current = gate.clamped.currentClaim
    if let claimID, let current, current.id != claimID { throw .notTheCurrentClaim(current: current.id) }
    if usesRecordTimes, let current, !reading.verification.provenClaims.contains(current.position.id) {
      throw .claimTimeUnproven
    }
    let reasons = gate.refusals(for: holder, at: now)
    guard reasons.isEmpty, let current else { throw .refused(reasons.isEmpty ? [.noClaim] : reasons) }
    return current
  }

  /// The claimant with the freshest endorsements: those of the capsule, and those known here, without what was revoked.
  static func claimant(_ hash: String, _ reading: EstateReading) throws -> VerifiedIdentity {
    guard let found = reading.verification.identities[hash], var identity = reading.capsule.identities[hash] else {
      throw HolderActError.claimantUnknown
    }
    guard let record = reading.context.directory[hash] else { return found }
    // Only what verifies counts of either, so none can stand in the way of another.
    identity.deviceEndorsements =
      record.deviceEndorsements
      + identity.deviceEndorsements.filter { one in
        !record.deviceEndorsements.contains { $0.isSameWord(as: one) }
      }
    return try VerifiedIdentity(capsule: identity, backups: record.backups, revocations: record.revocations)
  }
}
