// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// A command APDU (ISO 7816-4 section 5.3), in either length form.
public struct CommandAPDU: Sendable, Hashable {
  /// Class. 0x10 set means: more of this command follows.
  public var cla: UInt8
  /// Instruction.
  public var ins: UInt8
  /// First parameter.
  public var p1: UInt8
  /// Second parameter.
  public var p2: UInt8
  /// The data field, 0 to 65535 bytes.
  public var data: [UInt8]
  /// The most bytes wanted in return: nil none, 256 or 65536 "all" in the short or extended form.
  public var le: Int?

  /// All fields.
  public init(cla: UInt8 = 0, ins: UInt8, p1: UInt8 = 0, p2: UInt8 = 0, data: [UInt8] = [], le: Int? = nil) {
    self.cla = cla
    self.ins = ins
    self.p1 = p1
    self.p2 = p2
    self.data = data
    self.le = le
  }

  /// SELECT of the FIDO applet, A0000006472F0001 (CTAP 2.1 section 11.3.3).
  /// - Parameter withLe: some cards want Le, some refuse it.
  public static func selectFIDO(withLe: Bool = true) -> CommandAPDU {
    CommandAPDU(ins: 0xA4, p1: 0x04, data: fidoAID, le: withLe ? 256 : nil)
  }

  /// The application identifier of FIDO, 8 bytes.
  public static let fidoAID: [UInt8] = [0xA0, 0x00, 0x00, 0x06, 0x47, 0x2F, 0x00, 0x01]

  /// NFCCTAP_MSG: a CTAP2 command byte and its map (CTAP 2.1 section 11.3.5.1).
  /// - Parameter polling: P1 0x80, the host can follow 9100 with NFCCTAP_GETRESPONSE.
  public static func ctapMessage(_ request: [UInt8], polling: Bool = false) -> CommandAPDU {
    CommandAPDU(cla: 0x80, ins: 0x10, p1: polling ? 0x80 : 0x00, data: request, le: 256)
  }

  /// NFCCTAP_GETRESPONSE, after 9100 (CTAP 2.1 section 11.3.5.2).
  /// - Parameter cancel: P1 0x11, give the request up.
  public static func ctapGetResponse(cancel: Bool = false) -> CommandAPDU {
    CommandAPDU(cla: 0x80, ins: 0x11, p1: cancel ? 0x11 : 0x00, le: 256)
  }

  /// GET RESPONSE, after 61xx (ISO 7816-4 section 11.7.1).
  /// - Parameter available: the xx, where 0 means 256 or more.
  public static func getResponse(available: UInt8) -> CommandAPDU {
    CommandAPDU(ins: 0xC0, le: available == 0 ? 256 : Int(available))
  }

  /// The short form: at most 255 bytes of data, Le at most 256.
  /// - Throws: ``APDUError/dataTooLong(length:limit:)``.
  public func shortForm() throws(APDUError) -> [UInt8] {
    guard data.count <= 255 else { throw .dataTooLong(length: data.count, limit: 255) }
    var out = [cla, ins, p1, p2]
    if !data.isEmpty { out += [UInt8(data.count)] + data }
    if let le { out.append(le >= 256 ? 0 : UInt8(max(le, 1))) }
    return out
  }

  /// The extended form: at most 65535 bytes of data, Le at most 65536.
  /// - Throws: ``APDUError/dataTooLong(length:limit:)``.
  public func extendedForm() throws(APDUError) -> [UInt8] {
    guard data.count <= 0xFFFF else { throw .dataTooLong(length: data.count, limit: 0xFFFF) }
    var out = [cla, ins, p1, p2]
    if !data.isEmpty || le != nil { out.append(0) }
    if !data.isEmpty { out += [UInt8(data.count >> 8), UInt8(data.count & 0xFF)] + data }
    if let le {
      let n = min(max(le, 1), 0x10000) & 0xFFFF
      out += [UInt8(n >> 8), UInt8(n & 0xFF)]
    }
    return out
  }

  /// The command as short APDUs, all but the last with the chaining bit, Le only on the last (ISO 7816-4 section
  /// 5.3.3).
  /// - Parameter segment: bytes of data in each, 1 to 255.
  public func chained(segment: Int = 240) -> [CommandAPDU] {
    let size = min(max(segment, 1), 255)
    var parts: [CommandAPDU] = []
    var start = 0
    while data.count - start > size {
      parts.append(
        CommandAPDU(cla: cla | 0x10, ins: ins, p1: p1, p2: p2, data: Array(data[start..<start + size]), le: nil))
      start += size
    }
    parts.append(
      CommandAPDU(cla: cla, ins: ins, p1: p1, p2: p2, data: Array(data[start...]), le: le.map { min($0, 256) }))
    return parts
  }

  /// Reads either form, as a card does.
  /// - Throws: ``APDUError/malformed(length:)``.
  public init(parsing bytes: [UInt8]) throws(APDUError) {
    guard bytes.count >= 4 else { throw .malformed(length: bytes.count) }
    let body = Array(bytes[4...])
    let (data, le) = try Self.body(body, total: bytes.count)
    self.init(cla: bytes[0], ins: bytes[1], p1: bytes[2], p2: bytes[3], data: data, le: le)
  }

  private static func body(_ body: [UInt8], total: Int) throws(APDUError) -> ([UInt8], Int?) {
    func le16(_ high: UInt8, _ low: UInt8) -> Int { high == 0 && low == 0 ? 0x10000 : Int(high) << 8 | Int(low) }
    guard let first = body.first else { return ([], nil) }
    if body.count == 1 { return ([], first == 0 ? 256 : Int(first)) }
    if first != 0 {
      let end = 1 + Int(first)
      if body.count == end { return (Array(body[1...]), nil) }
      guard body.count == end + 1 else { throw .malformed(length: total) }
      return (Array(body[1..<end]), body[end] == 0 ? 256 : Int(body[end]))
    }
    guard body.count >= 3 else { throw .malformed(length: total) }
    if body.count == 3 { return ([], le16(body[1], body[2])) }
    // A length of zero before Le is not ISO's, but what U2F clients have always sent over USB.
    let end = 3 + (Int(body[1]) << 8 | Int(body[2]))
    if body.count == end { return (Array(body[3...]), nil) }
    guard body.count == end + 2 else { throw .malformed(length: total) }
    return (Array(body[3..<end]), le16(body[end], body[end + 1]))
  }
}

/// Why bytes are not an APDU, or cannot become one.
public enum APDUError: NamedError, Hashable {
  /// More data than the form can carry, in bytes.
  case dataTooLong(length: Int, limit: Int)
  /// Bytes whose lengths do not add up; the length of the whole.
  case malformed(length: Int)
  /// A response of fewer than the two bytes of a status word.
  case noStatusWord(length: Int)
  /// A link of a chain that does not belong to the one before it.
  case brokenChain

  public var name: String {
    switch self {
    case .dataTooLong: "apduDataTooLong"
    case .malformed: "apduMalformed"
    case .noStatusWord: "apduNoStatusWord"
    case .brokenChain: "apduBrokenChain"
    }
  }

  public var message: String {
    switch self {
    case .dataTooLong(let length, let limit): "A command of \(length) bytes does not fit: this form takes \(limit)."
    case .malformed(let length): "The lengths in a command of \(length) bytes do not add up."
    case .noStatusWord(let length): "The card answered \(length) bytes, too few for a status word."
    case .brokenChain: "A part of a chained command does not belong to the part before it."
    }
  }

  public var next: String { "Lift the key off the reader, lay it on again and repeat." }

  public var kind: FaultKind { .key }
}
