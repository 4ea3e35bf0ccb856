// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// How slow this run may be. Tests with scaled-down deadlines multiply them by it, so that a sanitizer or a crowded
/// computer is not taken for a silent key.
public enum Pace {
  /// `$SEALKEY_SLOWNESS`, 1 to 100; 1 when it is not set.
  public static let factor: Int64 = {
    guard let set = getenv("SEALKEY_SLOWNESS"), let value = Int64(String(cString: set)) else { return 1 }
    return min(100, max(1, value))
  }()

  /// A deadline at this run's pace.
  public static func milliseconds(_ count: Int64) -> Duration { .milliseconds(count * factor) }

  /// Every case at full speed; evenly spread ones when each takes many times as long. Always the first and the last.
  public static func sample<Case>(_ cases: [Case]) -> [Case] {
    guard factor > 1, cases.count > 24 else { return cases }
    let step = Double(cases.count - 1) / Double(max(24, cases.count / Int(factor)) - 1)
    return (0..<max(24, cases.count / Int(factor))).map { cases[min(cases.count - 1, Int(Double($0) * step + 0.5))] }
  }
}
