// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// Whether everything is tried, and not a sample.
enum FullRun { static let isOn = getenv("SEALKEY_FULL").map { String(cString: $0) } == "1" }
