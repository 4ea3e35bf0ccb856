// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Times as people read them.
public enum UTCText {
  /// `2027-01-15T08:00:00Z`. Times that no calendar has are written as a number of seconds.
  public static func format(_ epoch: Int64) -> String {
    // Years 1 to 9999.
    guard (-62_135_596_800...253_402_300_799).contains(epoch) else { return "\(epoch) s" }
    let (day, second) = divided(epoch, by: 86_400)
    let (year, month, date) = civil(day)
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(date, 2))T"
      + "\(pad(second / 3600, 2)):\(pad(second / 60 % 60, 2)):\(pad(second % 60, 2))Z"
  }

  /// `2027-01-15`.
  public static func date(_ epoch: Int64) -> String {
    let text = format(epoch)
    return text.contains("T") ? String(text.prefix { $0 != "T" }) : text
  }

  /// Year, month and day of a day counted from 1970-01-01, in years that begin in March.
  private static func civil(_ day: Int64) -> (Int64, Int64, Int64) {
    let (era, dayOfEra) = divided(day + 719_468, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let date = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, date)
  }

  private static func divided(_ a: Int64, by b: Int64) -> (Int64, Int64) {
    let rest = ((a % b) + b) % b
    return ((a - rest) / b, rest)
  }

  private static func pad(_ number: Int64, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
