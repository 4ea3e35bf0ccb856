// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

extension StringProtocol {
  /// Whether both are the same bytes. Swift's `==` also holds for texts that Unicode calls equivalent (the Kelvin sign
  /// and K), which other readers tell apart; what is compared as an exact string is compared with this.
  public func isExactly(_ other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }
}

/// Lowercase hexadecimal, as Seal writes it everywhere.
public enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Two lowercase digits a byte.
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { out in
      var i = 0
      for byte in bytes {
        out[i] = digits[Int(byte >> 4)]
        out[i + 1] = digits[Int(byte & 15)]
        i += 2
      }
      return i
    }
  }

  /// The bytes, or nil when the length is odd or a character is not a hexadecimal digit. Either case is read
  /// unless `lowercaseOnly`.
  public static func decode(_ text: some StringProtocol, lowercaseOnly: Bool = false) -> [UInt8]? {
    var text = String(text)
    return text.withUTF8 { decode(utf8: $0, lowercaseOnly: lowercaseOnly) }
  }

  /// The bytes, likewise.
  public static func decode(utf8: UnsafeBufferPointer<UInt8>, lowercaseOnly: Bool = false) -> [UInt8]? {
    guard utf8.count.isMultiple(of: 2) else { return nil }
    // An array of no capacity is one that all threads share, and even its count is written.
    guard !utf8.isEmpty else { return [] }
    let table = lowercaseOnly ? lowercaseTable : anyCaseTable
    // Every bad digit has a high bit that no good one has: one test at the end suffices.
    var seen: UInt8 = 0
    let out = table.withUnsafeBufferPointer { table in
      [UInt8](unsafeUninitializedCapacity: utf8.count / 2) { out, count in
        count = utf8.count / 2
        for i in 0..<count {
          let (high, low) = (table[Int(utf8[2 * i])], table[Int(utf8[2 * i + 1])])
          seen |= high | low
          out[i] = high << 4 | (low & 15)
        }
      }
    }
    return seen < 16 ? out : nil
  }

  private static let anyCaseTable = table("0123456789abcdef", "ABCDEF")
  private static let lowercaseTable = table("0123456789abcdef", "")
  private static func table(_ digits: String, _ alsoFromTen: String) -> [UInt8] {
    var table = [UInt8](repeating: 0xff, count: 256)
    for (i, c) in digits.utf8.enumerated() { table[Int(c)] = UInt8(i) }
    for (i, c) in alsoFromTen.utf8.enumerated() { table[Int(c)] = UInt8(i + 10) }
    return table
  }
}

/// Base64 of RFC 4648, strict both ways: one alphabet, exact padding, no white space, no stray bits.
public enum Base64 {
  /// The alphabet and whether `=` padding is written and demanded.
  public enum Form: Sendable {
    /// Section 4, padded: what Swift's JSONEncoder writes for Data.
    case standard
    /// Section 5, unpadded: what WebAuthn calls base64url.
    case url
  }

  /// Encodes `bytes`.
  public static func encode(_ bytes: [UInt8], _ form: Form = .standard) -> String {
    let alphabet = form == .url ? urlAlphabet : standardAlphabet
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count + 2) / 3 * 4)
    var i = 0
    while i + 2 < bytes.count {
      let n = UInt32(bytes[i]) << 16 | UInt32(bytes[i + 1]) << 8 | UInt32(bytes[i + 2])
      out.append(alphabet[Int(n >> 18)])
      out.append(alphabet[Int(n >> 12 & 63)])
      out.append(alphabet[Int(n >> 6 & 63)])
      out.append(alphabet[Int(n & 63)])
      i += 3
    }
    if i < bytes.count {
      let second = i + 1 < bytes.count ? UInt32(bytes[i + 1]) : 0
      let n = UInt32(bytes[i]) << 16 | second << 8
      out.append(alphabet[Int(n >> 18)])
      out.append(alphabet[Int(n >> 12 & 63)])
      if i + 1 < bytes.count { out.append(alphabet[Int(n >> 6 & 63)]) }
      if form == .standard { while out.count % 4 != 0 { out.append(0x3d) } }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// The bytes, or nil when `text` is not exactly of this form.
  public static func decode(_ text: some StringProtocol, _ form: Form = .standard) -> [UInt8]? {
    var text = String(text)
    return text.withUTF8 { decode(utf8: $0, form) }
  }

  /// The bytes, or nil when `utf8` is not exactly of this form.
  public static func decode(utf8: [UInt8], _ form: Form = .standard) -> [UInt8]? {
    utf8.withUnsafeBufferPointer { decode(utf8: $0, form) }
  }

  /// The bytes, likewise.
  public static func decode(utf8: UnsafeBufferPointer<UInt8>, _ form: Form = .standard) -> [UInt8]? {
    var end = utf8.count
    if form == .standard {
      guard end % 4 == 0 else { return nil }
      if end > 0, utf8[end - 1] == 0x3d {
        end -= 1
        if utf8[end - 1] == 0x3d { end -= 1 }
      }
    }
    guard end % 4 != 1 else { return nil }
    let table = form == .url ? urlTable : standardTable
    var out: [UInt8] = []
    out.reserveCapacity(end / 4 * 3 + 2)
    var buffer: UInt32 = 0
    var bits = 0
    for i in 0..<end {
      let value = table[Int(utf8[i])]
      guard value < 64 else { return nil }
      buffer = buffer << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        out.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
      }
    }
    // Bits that encode nothing must be zero, or two texts would mean the same bytes.
    guard buffer & ((1 << UInt32(bits)) - 1) == 0 else { return nil }
    return out
  }

  private static let standardAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  private static let standardTable = table(standardAlphabet)
  private static let urlTable = table(urlAlphabet)
  private static func table(_ alphabet: [UInt8]) -> [UInt8] {
    var table = [UInt8](repeating: 255, count: 256)
    for (i, c) in alphabet.enumerated() { table[Int(c)] = UInt8(i) }
    return table
  }
}
