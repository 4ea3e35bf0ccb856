// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// A published weakness of keys, by maker and firmware, and what it means for somebody who uses one with Seal.
public struct Advisory: Sendable, Hashable {
  /// How much it matters here.
  public enum Weight: Sendable, Hashable {
    /// Nothing that Seal does is weakened.
    case none
    /// It takes a laboratory, or somebody who is in the computer already.
    case small
    /// Use another key.
    case replace
  }

  /// Its published number.
  public let id: String
  /// What is wrong, in one sentence.
  public let fault: String
  /// What it means for Seal, and what to do.
  public let meaning: String
  /// How much it matters here.
  public let weight: Weight
  /// USB vendor of the keys it is about.
  let vendorID: UInt16
  /// USB products it is about; nil for all of the vendor's.
  var productIDs: Set<UInt16>?
  /// Firmware from here on, this one too; nil where the maker's numbers do not tell.
  var from: [Int]?
  /// Firmware before this one.
  var before: [Int]?
  /// Other bounds for models whose name contains a word.
  var special: (word: String, before: [Int])? { id == "YSA-2024-03" ? ("bio", [5, 7, 2]) : nil }

  /// What is known, newest first. Only what touches keys that can do FIDO.
  static let all: [Advisory] = [
    Advisory(
      id: "YSA-2025-02",
      fault: "It checks only half of the proof that the PIN was given, where that proof is 32 bytes long.",
      meaning: "16 bytes are still far too many to guess. Nothing to do.", weight: .none, vendorID: 0x1050,
      from: [5, 0, 0], before: [5, 7, 4]),
    Advisory(
      id: "YSA-2024-03",
      fault:
        "Its chip (EUCLEAK) lets somebody who opens it in a laboratory, and knows the PIN, copy what it signs with.",
      meaning:
        "As long as the key stays with you, nothing changes. If it was out of your hands for days and looks opened, "
        + "register a newer key. For a new root take firmware 5.7 or later.", weight: .small, vendorID: 0x1050,
      from: [5, 0, 0], before: [5, 7, 0]),
    Advisory(
      id: "YSA-2024-03",
      fault: "Some keys of this maker have the chip in which EUCLEAK was found; the key does not say which.",
      meaning:
        "As long as the key stays with you, nothing changes. If it was out of your hands for days and looks opened, "
        + "register another key.", weight: .small, vendorID: 0x096E),
    Advisory(
      id: "CVE-2021-3011", fault: "Its chip lets somebody who opens it in a laboratory copy what it signs with.",
      meaning:
        "It is a U2F key besides, so it cannot unlock what was left for somebody. Keep it with you, and register a newer "
        + "key.", weight: .small, vendorID: 0x18D1, productIDs: [0x5026]),
    Advisory(
      id: "CVE-2021-3011", fault: "Its chip lets somebody who opens it in a laboratory copy what it signs with.",
      meaning: "Keep it with you, and register a newer key.", weight: .small, vendorID: 0x1050, from: [3, 0, 0],
      before: [4, 0, 0]),
    Advisory(
      id: "YSA-2019-02",
      fault:
        "After it is plugged in, a FIPS model of this firmware signs with too little chance in it: signatures give the key away.",
      meaning: "If it is a FIPS model, do not use it with Seal: register another key.", weight: .replace,
      vendorID: 0x1050,
      from: [4, 4, 2], before: [4, 4, 5]),
    Advisory(
      id: "YSA-2017-01", fault: "RSA keys that it made itself (ROCA) can be computed from their public half.",
      meaning: "Seal uses no RSA. What you have in its PIV or OpenPGP part should be replaced.", weight: .none,
      vendorID: 0x1050, from: [4, 2, 6], before: [4, 3, 5]),
  ]

  /// Those that are about a key.
  /// - Parameters:
  ///   - firmware: the maker's version, as numbers; nil when it is not known: then only what is about all firmware counts.
  static func about(vendorID: UInt16?, productID: UInt16?, name: String, firmware: [Int]?) -> [Advisory] {
    guard let vendorID else { return [] }
    return all.filter { advisory in
      guard advisory.vendorID == vendorID else { return false }
      if let products = advisory.productIDs { return productID.map(products.contains) ?? false }
      guard advisory.from != nil || advisory.before != nil else { return true }
      guard let firmware else { return false }
      var before = advisory.before
      if let special = advisory.special, before != nil, name.lowercased().contains(special.word) {
        before = special.before
      }
      if let from = advisory.from, firmware.lexicographicallyPrecedes(from) { return false }
      if let before, !firmware.lexicographicallyPrecedes(before) { return false }
      return true
    }
  }
}

extension KeyFacts {
  /// The maker's firmware version as numbers, where it is known how the maker writes it. Yubico puts one byte for each into
  /// getInfo's firmwareVersion, and the same into CTAPHID's INIT.
  func firmware(vendorID: UInt16?) -> [Int]? {
    guard vendorID == 0x1050 else { return nil }
    if let number = info?.firmwareVersion, number >= 1 << 16, number < 1 << 24 {
      return [Int(number >> 16), Int(number >> 8 & 255), Int(number & 255)]
    }
    let version = initReply.deviceVersion.map(Int.init)
    return version.first.map { $0 > 0 } == true ? version : nil
  }

  /// Published weaknesses of this key.
  /// - Parameters:
  ///   - vendorID: its USB vendor; nil for a key on a reader, which does not say.
  ///   - productID: its USB product.
  public func advisories(vendorID: UInt16?, productID: UInt16?) -> [Advisory] {
    Advisory.about(
      vendorID: vendorID, productID: productID, name: name, firmware: firmware(vendorID: vendorID))
  }
}
