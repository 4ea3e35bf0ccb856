// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Testing

@testable import InteropMatrix

@Test(
  "dates in UTC",
  arguments: [
    (0, "1970-01-01 00:00:00Z"), (951_782_400, "2000-02-29 00:00:00Z"), (1_800_000_000, "2027-01-15 08:00:00Z"),
    (-1, "1969-12-31 23:59:59Z"), (4_107_542_399, "2100-02-28 23:59:59Z"), (4_107_542_400, "2100-03-01 00:00:00Z"),
  ] as [(Int64, String)])
func dates(seconds: Int64, text: String) { #expect(MatrixDate.text(seconds) == text) }
