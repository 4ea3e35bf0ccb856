// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// What gives whoever sits at the screen the use of keys: udev's rules.
public struct DeviceRules: Sendable, Hashable {
  /// The file whose rule tags every FIDO key, whatever its maker; nil when there is none.
  public private(set) var forAll: String?
  /// The file that has udev look whether a node is a FIDO key; ``forAll`` rests on it.
  public private(set) var detection: String?
  /// Files with rules for single makers or models, and the vendor numbers they name.
  public private(set) var forVendors: [String: Set<UInt16>] = [:]
  /// Files that an empty file or a link to nothing of the same name has put out of force.
  public private(set) var masked: [String] = []

  /// Where udev looks, the strongest first: a file hides those of the same name in later folders (udev(7)).
  static let folders = [
    "/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
  ]

  /// Reads all rules.
  init(_ root: SystemRoot) {
    var taken: [String: String] = [:]
    for folder in Self.folders {
      for name in root.names(folder) where name.hasSuffix(".rules") {
        let path = "\(folder)/\(name)"
        if let first = taken[name] {
          if root.resolved(first) != root.resolved(path), Self.lines(root.text(first) ?? "").isEmpty {
            masked.append(path)
          }
          continue
        }
        taken[name] = path
        for line in Self.lines(root.text(path) ?? "") { read(line, path) }
      }
    }
  }

  /// Whether a key of this vendor is given to whoever sits at the screen.
  func covers(_ vendor: UInt16?) -> Bool {
    if forAll != nil, detection != nil { return true }
    guard let vendor else { return false }
    return forVendors.values.contains { $0.contains(vendor) }
  }

  private mutating func read(_ line: String, _ path: String) {
    if line.contains("fido_id"), line.contains("IMPORT") { detection = detection ?? path }
    let grants =
      line.contains("uaccess") || line.contains("MODE=\"0666\"") || line.contains("MODE=\"666\"")
      || line.contains("MODE=\"0660\"") && line.contains("GROUP=")
    guard grants, !line.contains("TAG-=") else { return }
    if line.contains("ID_SECURITY_TOKEN") || line.contains("ID_FIDO_TOKEN") {
      forAll = forAll ?? path
      return
    }
    let vendors = Self.vendors(line)
    if !vendors.isEmpty { forVendors[path, default: []].formUnion(vendors) }
  }

  /// Vendor numbers in `ATTRS{idVendor}=="1050"`, in `"1050|20a0"`, and in `KERNELS=="0003:1050:0407.*"`.
  static func vendors(_ line: String) -> Set<UInt16> {
    var found: Set<UInt16> = []
    for part in line.split(separator: ",") {
      guard let quote = part.firstIndex(of: "\"") else { continue }
      let value = part[part.index(after: quote)...].prefix { $0 != "\"" }
      if part.contains("idVendor") {
        found.formUnion(value.split(separator: "|").compactMap { UInt16($0, radix: 16) })
      } else if part.contains("KERNELS") {
        for name in value.split(separator: "|") {
          let numbers = name.split(separator: ":")
          if numbers.count >= 2, let vendor = UInt16(numbers[1], radix: 16) { found.insert(vendor) }
        }
      }
    }
    return found
  }

  /// Rules without comments, continued lines joined.
  static func lines(_ text: String) -> [String] {
    var lines: [String] = []
    var open = ""
    for line in text.split(whereSeparator: \.isNewline) {
      let trimmed = line.drop { $0.isWhitespace }
      if trimmed.first == "#" { continue }
      if trimmed.last == "\\" {
        open += trimmed.dropLast()
      } else {
        lines.append(open + trimmed)
        open = ""
      }
    }
    return (open.isEmpty ? lines : lines + [open]).filter { $0.contains { !$0.isWhitespace } }
  }

  /// What the rules mean for keys on this computer.
  var finding: Finding {
    if let forAll, let detection {
      return Finding(
        .good, "udevRules", "Whoever sits at the screen gets every security key, by \(forAll) with \(detection).")
    }
    if !masked.isEmpty, forAll == nil || detection == nil {
      return Finding(
        .bad, "udevRulesMasked",
        "Rules for security keys are put out of force by a file of the same name in front of them.",
        about: masked.joined(separator: ", "),
        next: "Look at that file in /etc/udev/rules.d, and remove it if nobody needs it.")
    }
    if let file = forVendors.keys.sorted().first {
      return Finding(
        .note, "udevRulesForSome",
        "Rules give the keys of some makers to whoever sits at the screen, not those of all.",
        about: file, next: Self.install)
    }
    if let forAll {
      return Finding(
        .bad, "udevDetectionMissing",
        "\(forAll) would give security keys to whoever sits at the screen, but nothing here finds out which they are.",
        next: "Install udev whole (apt install udev). \(Self.install)")
    }
    return Finding(
      .bad, "udevRulesMissing", "No rule gives security keys to whoever sits at the screen.", next: Self.install)
  }

  private static let install =
    "sealkey comes with rules for this: install its package, or copy Packaging/70-sealkey.rules from its source to "
    + "/etc/udev/rules.d, then: "
    + "sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=hidraw"
}
