// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// What a pinentry program answers, put together from single bytes: the reading half of the Assuan protocol.
///
/// Nothing of it is trusted: lines, their number and their length are bounded, and of its words only the numbers of errors
/// are used. The line and the PIN lie in locked memory, because a line may be the PIN.
public final class AssuanReplies {
  /// The longest line in bytes, without its end (Assuan's own limit).
  public static let lineLimit = 1000
  /// Lines before the OK or ERR of one command.
  public static let linesLimit = 64
  /// The longest PIN in bytes, more than any key takes.
  public static let pinLimit = 256

  private var line = SecretBytes(count: AssuanReplies.lineLimit) { _ in }
  private var length = 0
  private var lines = 0
  private var pin = SecretBytes(count: AssuanReplies.pinLimit) { _ in }
  /// The length of the PIN so far, in bytes.
  public private(set) var pinLength = 0
  private var takesPIN = false
  /// Whether the program says that the person typed the PIN twice.
  public private(set) var wasRepeated = false

  /// Before the first answer, a greeting.
  public init() {}

  /// Before the answer to a command; what the last one gave is forgotten.
  /// - Parameter takesPIN: whether the command asked for the PIN. Data is refused otherwise.
  public func begin(takesPIN: Bool) {
    self.takesPIN = takesPIN
    (length, lines, wasRepeated) = (0, 0, false)
    pin.withUnsafeMutableBytes { room in room.indices.forEach { room[$0] = 0 } }
    pinLength = 0
  }

  /// The PIN of the last answer, empty when nothing was typed.
  public func secret() -> SecretBytes { pin.slice(0..<pinLength) }

  /// The next byte.
  /// - Returns: whether the answer is complete with it, and is OK.
  /// - Throws: ``PinentryError/refused(code:)``, ``PinentryError/badReply(_:)``.
  public func take(_ byte: UInt8) throws(PinentryError) -> Bool {
    guard byte == 0x0A else {
      guard length < Self.lineLimit else { throw .badReply("a line of more than \(Self.lineLimit) bytes") }
      line.withUnsafeMutableBytes { $0[length] = byte }
      length += 1
      return false
    }
    let count = length
    length = 0
    switch begins(count) {
    case .ok: return true
    case .error(let code): throw .refused(code: code)
    case .data:
      guard takesPIN else { throw .badReply("data that nobody asked for") }
      try addPIN(2..<count)
    case .status(let wasRepeated): self.wasRepeated = self.wasRepeated || wasRepeated
    case .comment: break
    case .unknown: throw .badReply("a line that is none of Assuan's")
    }
    lines += 1
    guard lines < Self.linesLimit else { throw .badReply("more than \(Self.linesLimit) lines") }
    return false
  }

  private enum Line {
    case ok
    case error(Int)
    case data
    case status(wasRepeated: Bool)
    case comment
    case unknown
  }

  /// What the line in the buffer is. Only the first words are looked at; the rest may be the PIN.
  private func begins(_ count: Int) -> Line {
    line.withUnsafeBytes { room in
      let bytes = room[..<count]
      func word(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard bytes.count >= length, bytes.count == length || bytes[length] == UInt8(ascii: " ") else { return false }
        return (0..<length).allSatisfy { bytes[$0] == text.utf8Start[$0] }
      }
      if word("OK") { return .ok }
      if word("ERR") {
        let digits = bytes.dropFirst(4).prefix { (0x30...0x39).contains($0) }.prefix(10)
        return .error(digits.reduce(0) { $0 * 10 + Int($1 - 0x30) })
      }
      if word("D"), count >= 2 { return .data }
      if word("S") {
        let wanted: StaticString = "PIN_REPEATED"
        let rest = bytes.dropFirst(2)
        return .status(
          wasRepeated: rest.count >= wanted.utf8CodeUnitCount
            && zip(rest, 0..<wanted.utf8CodeUnitCount).allSatisfy { $0 == wanted.utf8Start[$1] })
      }
      return bytes.isEmpty || bytes.first == UInt8(ascii: "#") ? .comment : .unknown
    }
  }

  /// Adds percent-encoded bytes of the line to the PIN, decoded.
  private func addPIN(_ range: Range<Int>) throws(PinentryError) {
    var at = range.lowerBound
    while at < range.upperBound {
      guard pinLength < Self.pinLimit else { throw .badReply("a PIN of more than \(Self.pinLimit) bytes") }
      var byte = line.withUnsafeBytes { $0[at] }
      if byte == UInt8(ascii: "%") {
        let digits = line.withUnsafeBytes { room in
          at + 2 < range.upperBound ? (Self.digit(room[at + 1]), Self.digit(room[at + 2])) : (nil, nil)
        }
        guard let high = digits.0, let low = digits.1 else { throw .badReply("data that is not percent-encoded") }
        byte = high << 4 | low
        at += 2
      }
      pin.withUnsafeMutableBytes { $0[pinLength] = byte }
      pinLength += 1
      at += 1
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }

  /// Text as Assuan wants it on a line: at most what a line holds.
  public static func escaped(_ text: String) -> String {
    var out = ""
    for byte in text.utf8 {
      guard out.utf8.count < 900 else { break }
      switch byte {
      case 0x25, 0..<0x20, 0x7F:
        let digits = String(byte, radix: 16, uppercase: true)
        out += "%" + (digits.count == 1 ? "0" : "") + digits
      case 0x80...: out += "%" + String(byte, radix: 16, uppercase: true)
      default: out.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    return out
  }
}
