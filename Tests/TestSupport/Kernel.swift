// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import Testing

/// A kernel that tests may plug virtual keys into: that of the guest which `Tests/Integration/faults.sh` boots.
public enum Kernel {
  /// `$SEALKEY_KERNEL` says so. What is missing then is a failure and nothing to be skipped.
  public static let isOurs = getenv("SEALKEY_KERNEL") != nil
  /// Why they are skipped elsewhere.
  public static let why: Comment = "needs a kernel of its own: Tests/Integration/faults.sh"
}
