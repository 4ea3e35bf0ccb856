// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import WebAuthnCore

/// Which of the key holders this computer's person is, and whether their tap is wanted.
struct HolderPart {
  /// What is to be said of one key holder's tap.
  enum Tap {
    /// It counts already.
    case given(at: Int64)
    /// Enough have tapped.
    case notNeeded
    /// It is possible and needed.
    case wanted
    /// These reasons are against it.
    case notNow([TapRefusal])
    /// A check of the record failed.
    case recordNotGood

    var name: String {
      switch self {
      case .given: "given"
      case .notNeeded: "notNeeded"
      case .wanted: "wanted"
      case .notNow, .recordNotGood: "notNow"
      }
    }
  }

  private let here: Set<String>
  private let holders: [String]
  private let taps: [String: Tap]
  private let tally: TapTally?

  /// - Parameters:
  ///   - entries: what the release rules look at, by this computer's times; nil leaves the taps out.
  ///   - here: the root hashes of whoever a device of this computer speaks for.
  init(_ verified: CapsuleVerification, entries: [RecordEntry]?, here: Set<String>, _ now: Int64) {
    self.here = here
    holders = verified.statement?.custodianHashes ?? []
    guard let entries else {
      (taps, tally) = ([:], nil)
      return
    }
    let gate = TapGate(entries: entries)
    let status = gate.clamped.status(at: now)
    var taps: [String: Tap] = [:]
    for hash in holders {
      if let tap = status?.validTaps.first(where: { $0.holder == hash }) {
        taps[hash] = .given(at: tap.time)
        continue
      }
      let refusals = gate.refusals(for: hash, at: now)
      taps[hash] =
        !refusals.isEmpty
        ? .notNow(refusals)
        : !verified.report.isGood ? .recordNotGood : status?.state == .authorized ? .notNeeded : .wanted
    }
    self.taps = taps
    tally = TapTally(entries, at: now)
  }

  func isHere(_ hash: String) -> Bool { here.contains(hash) }

  /// For this computer's person.
  func lines(_ who: PeopleNames) -> [String] {
    var out: [String] = []
    for hash in holders where isHere(hash) {
      guard let tap = taps[hash] else { continue }
      out += ["", "On this computer: \(who(hash))"]
      switch tap {
      case .given(let time): out.append("  Your tap of \(UTCText.format(time)) counts. There is nothing more to do.")
      case .notNeeded: out.append("  Enough have tapped: your tap is not needed.")
      case .wanted:
        out.append("  Your tap is possible now (sealkey tap). \(tally.map { HolderVerb.prospect($0) } ?? "")")
      case .recordNotGood: out.append("  No tap is possible now: a check of the record failed.")
      case .notNow(let reasons):
        out.append("  No tap is possible now. \(reasons[0].message)")
        out.append("  \(reasons[0].next)")
      }
    }
    return out
  }

  func json(_ hash: String) -> [(String, JSONValue?)] {
    var out: [(String, JSONValue?)] = [
      ("thisComputer", .bool(isHere(hash))), ("tap", taps[hash].map { .string($0.name) }),
    ]
    switch taps[hash] {
    case .notNow(let reasons)?: out.append(("refusals", .array(reasons.map { .string($0.name) })))
    case .recordNotGood?: out.append(("refusals", .array([.string("recordNotGood")])))
    default: break
    }
    return out
  }
}

extension Invocation {
  /// The people of a record for whom a device of this computer speaks.
  func peopleHere(in verified: CapsuleVerification) -> Set<String> {
    let keys = store.publicDeviceNames().keys
    return Set(
      verified.identities.compactMap { hash, identity in
        keys.contains { identity.device($0) != nil } ? hash : nil
      })
  }
}
