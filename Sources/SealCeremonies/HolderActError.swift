// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats

/// Why a key holder is not let tap or confirm, beside what the release rules say. Nobody has touched anything, unless
/// it says so.
public enum HolderActError: NamedError, Hashable {
  /// A check of the capsule failed.
  case recordNotGood([String])
  /// The owner's root key is not pinned here.
  case ownerNotPinned(name: String)
  /// The release rules are against it, for each of these reasons.
  case refused([TapRefusal])
  /// Another claim is the current one.
  case notTheCurrentClaim(current: String)
  /// Taking the claim at its stated time was asked for, and no trusted timestamp proves that time.
  case claimTimeUnproven
  /// The owner has not sealed: there are no key holders.
  case noEpoch
  /// This identity is not a key holder of the newest epoch.
  case notAKeyHolder(name: String, holders: [String])
  /// The owner signed another root key for this key holder.
  case holderKeyDiffers(name: String)
  /// The device is none of the key holder's live devices, by the record.
  case deviceNotEndorsed
  /// The material of the newest epoch is missing or is not what the owner signed.
  case materialMissing
  /// The claimant has no usable device.
  case claimantUnknown
  /// The record holds something later than this computer's clock.
  case clockBehind(now: Int64, latest: Int64)
  /// Nothing in the record is anywhere near this computer's clock.
  case clockAhead(now: Int64, newest: Int64)
  /// Something happened between the preparation and the touch. The touch was thrown away.
  case changedMeanwhile(String)
  /// The same key holder made the same entry meanwhile, in another window. This touch was thrown away.
  case madeMeanwhile(isTap: Bool, at: Int64)

  public var name: String {
    switch self {
    case .recordNotGood: "recordNotGood"
    case .ownerNotPinned: "ownerNotPinned"
    case .refused(let reasons): reasons.first?.name ?? "refused"
    case .notTheCurrentClaim: "notTheCurrentClaim"
    case .claimTimeUnproven: "claimTimeUnproven"
    case .noEpoch: "noEpoch"
    case .notAKeyHolder: "notAKeyHolder"
    case .holderKeyDiffers: "holderKeyDiffers"
    case .deviceNotEndorsed: "deviceNotEndorsed"
    case .materialMissing: "materialMissing"
    case .claimantUnknown: "identityMissing"
    case .clockBehind: "clockBehind"
    case .clockAhead: "clockAhead"
    case .changedMeanwhile, .madeMeanwhile: "changedMeanwhile"
    }
  }

  public var message: String {
    switch self {
    case .recordNotGood(let names): "The record does not pass every check: \(names.joined(separator: ", "))."
    case .ownerNotPinned(let name):
      "The root key of the owner, \(name), is not pinned here, so the record alone does not show whose estate it is."
    case .refused(let reasons): reasons.map(\.message).joined(separator: " ")
    case .notTheCurrentClaim(let current): "That is not the current claim, which is \(current)."
    case .claimTimeUnproven:
      "No timestamp by a trusted authority proves when the claim was opened, so this computer's own clock counts."
    case .noEpoch: "The owner has not sealed yet: there are no key holders."
    case .notAKeyHolder(let name, let holders):
      "\(name) is not a key holder of this estate by this record. \(Self.sentence(naming: holders))"
    case .holderKeyDiffers(let name): "The owner signed another root key for \(name) than the one that is used here."
    case .deviceNotEndorsed: "This device is none of the key holder's live devices in the record."
    case .materialMissing: "The newest epoch's material is not in the record, or is not what the owner signed."
    case .claimantUnknown: "Whoever opened the claim is not among the usable identities of the record."
    case .clockBehind(let now, let latest):
      "This computer's clock says \(UTCText.format(now)), and the record knows something of \(UTCText.format(latest))."
    case .clockAhead(let now, let newest):
      "This computer's clock says \(UTCText.format(now)), and the newest entry is of \(UTCText.format(newest))."
    case .madeMeanwhile(let isTap, let time):
      "You \(isTap ? "tapped" : "confirmed") in another window meanwhile, at \(UTCText.format(time)). That one is kept here, "
        + "and this touch was thrown away."
    case .changedMeanwhile(let what): "The key was touched, and \(what) meanwhile. The touch was thrown away."
    }
  }

  public var next: String {
    switch self {
    case .recordNotGood: "See what is wrong: sealkey capsule verify FILE"
    case .ownerNotPinned:
      "Pin it: meet the owner, give the key you know with --owner-key, or compare the fingerprint in a terminal."
    case .refused(let reasons): reasons.first?.next ?? "Look at the record with 'capsule show'."
    case .notTheCurrentClaim:
      "Look at the record with 'sealkey capsule show', and tap for the current claim or not at all."
    case .claimTimeUnproven: "Leave --use-record-times out, and wait until the claim is open by this computer's clock."
    case .notAKeyHolder:
      "Only a key holder taps or confirms. If the owner has named this person since, get the newest record."
    case .madeMeanwhile(isTap: true, _):
      "There is nothing more to do: the same command gives out the tap that counts, without a touch."
    case .madeMeanwhile(isTap: false, _): "There is nothing more to do."
    case .noEpoch: "Check that the right identity and the newest record are used."
    case .holderKeyDiffers: "Do not go on: ask the owner."
    case .deviceNotEndorsed:
      "Endorse this device, have a phone publish it, let the owner seal again, and get the record after that."
    case .materialMissing, .claimantUnknown: "Get the record again from somebody else who holds it."
    case .clockBehind, .clockAhead:
      "Set the clock right: what is signed with a wrong date is wasted, or counts too early or for too long."
    case .changedMeanwhile: "Look at the record again, and tap again only if that is still right."
    }
  }

  /// Who they are instead.
  public static func sentence(naming holders: [String]) -> String {
    holders.isEmpty ? "It names no key holders at all." : "Its key holders are \(holders.joined(separator: ", "))."
  }

  /// A person can make sure that the clock is right, and go on.
  public var isAboutTheClock: Bool {
    switch self {
    case .clockBehind, .clockAhead: true
    default: false
    }
  }

  public var kind: FaultKind {
    switch self {
    case .recordNotGood, .holderKeyDiffers, .materialMissing: .bad
    default: .refused
    }
  }
}
