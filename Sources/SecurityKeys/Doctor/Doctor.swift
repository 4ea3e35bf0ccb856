// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CUdev
import Glibc

/// Looks at a computer: everything that stands between a person and a key, and says what to do about it.
public enum Doctor {
  /// What can be found out without opening a key.
  /// - Parameters:
  ///   - readerProblem: why pcscd's readers could not be listed; nil when they could.
  ///   - readers: how many there are.
  public static func look(
    at root: SystemRoot = .this, readerProblem: CardError?, readers: Int, now: Int64
  ) -> [Finding] {
    let rules = DeviceRules(root)
    return NodeCheck.findings(root, rules) + [rules.finding]
      + SurroundingsCheck.readers(root, problem: readerProblem, count: readers)
      + SurroundingsCheck.confinement(root) + LibraryCheck.findings()
      + [SurroundingsCheck.lockedMemory(), clock(now: now, isSynchronised: isSynchronised())]
  }

  /// Whether the clock can be believed. A tap is dated by it, and one from a clock that runs ahead does not count yet.
  static func clock(now: Int64, isSynchronised: Bool?) -> Finding {
    // Nothing of this program is older.
    guard now >= 1_735_689_600, now < 4_102_444_800 else {
      return Finding(
        .bad, "clockWrong",
        "This computer's clock is wrong by years: everything that is signed here would be misdated.",
        next: "Set it: sudo timedatectl set-ntp true")
    }
    guard isSynchronised != false else {
      return Finding(
        .note, "clockNotSynchronised", "Nobody keeps this computer's clock right. A tap is dated by it.",
        next: "Compare it with another clock, or: sudo timedatectl set-ntp true")
    }
    return Finding(.good, "clock", "The clock is kept right.")
  }

  /// What the kernel says of its clock; nil when it does not.
  private static func isSynchronised() -> Bool? {
    let state = cudev_clock_state()
    return state < 0 ? nil : state != 5
  }
}
