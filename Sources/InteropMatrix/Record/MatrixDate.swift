// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Dates as the tables show them, in UTC.
enum MatrixDate {
  /// `YYYY-MM-DD HH:MM:SSZ` (proleptic Gregorian), for seconds since 1970.
  static func text(_ seconds: Int64) -> String {
    let bounded = min(max(seconds, -62_135_596_800), 253_402_300_799)
    let days = (bounded - ((bounded % 86_400) + 86_400) % 86_400) / 86_400
    let second = bounded - days * 86_400
    // Days since 0000-03-01, in eras of 400 years.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func two(_ n: Int64) -> String { n < 10 ? "0\(n)" : "\(n)" }
    let padded = String(repeating: "0", count: max(0, 4 - "\(year)".count)) + "\(year)"
    return "\(padded)-\(two(month))-\(two(day)) \(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))Z"
  }
}
