// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// The last two bytes of every card response (ISO 7816-4 section 5.6).
public struct StatusWord: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// SW1 and SW2, big-endian.
  public let rawValue: UInt16

  /// Any status word.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 9000: done.
  public static let success = StatusWord(rawValue: 0x9000)
  /// 9100: the key still works on it; poll with NFCCTAP_GETRESPONSE.
  public static let keepalive = StatusWord(rawValue: 0x9100)
  /// 6700: wrong length; often the answer to an extended APDU.
  public static let wrongLength = StatusWord(rawValue: 0x6700)
  /// 6883: the last command of a chain was expected.
  public static let lastOfChainExpected = StatusWord(rawValue: 0x6883)
  /// 6884: chaining is not supported.
  public static let chainingNotSupported = StatusWord(rawValue: 0x6884)
  /// 6985: conditions of use not satisfied; in U2F, a touch is needed, and so the key handle is known.
  public static let conditionsNotSatisfied = StatusWord(rawValue: 0x6985)
  /// 6986: command not allowed.
  public static let commandNotAllowed = StatusWord(rawValue: 0x6986)
  /// 6A80: wrong data; in U2F, the key handle is not of this key.
  public static let wrongData = StatusWord(rawValue: 0x6A80)
  /// 6A82: no such application.
  public static let notFound = StatusWord(rawValue: 0x6A82)
  /// 6A86: wrong P1 or P2.
  public static let wrongParameters = StatusWord(rawValue: 0x6A86)
  /// 6D00: instruction not supported.
  public static let instructionNotSupported = StatusWord(rawValue: 0x6D00)
  /// 6E00: class not supported.
  public static let classNotSupported = StatusWord(rawValue: 0x6E00)
  /// 6F00: an error without a name.
  public static let unknownError = StatusWord(rawValue: 0x6F00)

  /// 61xx: this many bytes wait for GET RESPONSE (0: 256 or more); nil for any other status word.
  public var bytesAvailable: UInt8? { rawValue >> 8 == 0x61 ? UInt8(rawValue & 0xFF) : nil }
  /// 6Cxx: repeat with this Le (0: 256); nil for any other status word.
  public var correctLe: UInt8? { rawValue >> 8 == 0x6C ? UInt8(rawValue & 0xFF) : nil }

  /// Both bytes, big-endian.
  public var bytes: [UInt8] { [UInt8(rawValue >> 8), UInt8(rawValue & 0xFF)] }

  /// Four hexadecimal digits.
  public var description: String {
    let digits = String(rawValue, radix: 16, uppercase: true)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }
}

/// A response APDU.
public struct ResponseAPDU: Sendable, Hashable {
  /// The bytes before the status word.
  public var data: [UInt8]
  /// The status word.
  public var status: StatusWord

  /// Both parts.
  public init(data: [UInt8] = [], status: StatusWord) {
    self.data = data
    self.status = status
  }

  /// Reads a response.
  /// - Throws: ``APDUError/noStatusWord(length:)``.
  public init(parsing bytes: [UInt8]) throws(APDUError) {
    guard bytes.count >= 2 else { throw .noStatusWord(length: bytes.count) }
    data = Array(bytes.dropLast(2))
    status = StatusWord(rawValue: UInt16(bytes[bytes.count - 2]) << 8 | UInt16(bytes[bytes.count - 1]))
  }

  /// The bytes as the card sends them.
  public var encoded: [UInt8] { data + status.bytes }
}

/// The card's side of command chaining: collects the links of one command.
public struct APDUChain: Sendable {
  private var collected: CommandAPDU?
  private let limit: Int

  /// - Parameter limit: the most bytes of data to collect.
  public init(limit: Int = 0xFFFF) { self.limit = limit }

  /// Takes one link; returns the whole command with the last one, nil before.
  /// - Throws: ``APDUError/brokenChain`` when the header changes in mid-chain, ``APDUError/dataTooLong(length:limit:)``.
  ///   The chain is forgotten then.
  public mutating func add(_ apdu: CommandAPDU) throws(APDUError) -> CommandAPDU? {
    var whole = apdu
    whole.cla &= ~0x10
    if let before = collected {
      guard before.cla == whole.cla, before.ins == whole.ins, before.p1 == whole.p1, before.p2 == whole.p2 else {
        collected = nil
        throw .brokenChain
      }
      whole.data = before.data + apdu.data
    }
    collected = nil
    guard whole.data.count <= limit else { throw .dataTooLong(length: whole.data.count, limit: limit) }
    guard apdu.cla & 0x10 == 0 else {
      collected = whole
      return nil
    }
    return whole
  }

  /// Forgets what was collected.
  public mutating func reset() { collected = nil }
}

/// The card's side of a long response: what did not fit waits for GET RESPONSE.
public struct APDUResponseQueue: Sendable {
  private var rest: ArraySlice<UInt8> = []
  private var finalStatus = StatusWord.success

  /// Nothing waiting.
  public init() {}

  /// Whether bytes wait.
  public var isEmpty: Bool { rest.isEmpty }

  /// Begins a response and gives its first part, of at most `le` bytes.
  public mutating func begin(_ response: ResponseAPDU, le: Int) -> ResponseAPDU {
    rest = response.data[...]
    finalStatus = response.status
    return next(le: le)
  }

  /// The next part, of at most `le` bytes: with 61xx while more waits, with the response's own status at the end.
  public mutating func next(le: Int) -> ResponseAPDU {
    let part = Array(rest.prefix(max(le, 0)))
    rest = rest.dropFirst(part.count)
    guard !rest.isEmpty else { return ResponseAPDU(data: part, status: finalStatus) }
    let waiting = UInt16(rest.count > 255 ? 0 : rest.count)
    return ResponseAPDU(data: part, status: StatusWord(rawValue: 0x6100 | waiting))
  }
}
