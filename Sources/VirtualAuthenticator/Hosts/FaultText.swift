// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// Why text is no fault.
public struct FaultTextError: NamedError, Hashable {
  /// The text.
  public let text: String

  public var name: String { "badFault" }
  public var message: String { "\"\(text)\" is not a fault." }
  public var next: String {
    "Write to-key:N:ACTION or to-host:N:ACTION with drop, duplicate, unplug, delay:MS, truncate:BYTES or flip:BIT; or "
      + "command:N:ACTION with status:N, hid-error:N, busy, delay:MS, no-reply, truncate:BYTES, flip:BIT, reply:HEX, "
      + "ignore-cancel or unplug."
  }
  public var kind: FaultKind { .usage }
}

extension Fault {
  /// Reads a fault as the command line writes it: `to-key:3:drop`, `to-host:5:delay:100`, `command:2:status:0x2e`.
  /// - Throws: ``FaultTextError``.
  public init(parsing text: String) throws(FaultTextError) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard (3...4).contains(parts.count), let index = Self.number(parts[1], upTo: Int(Int32.max)) else {
      throw FaultTextError(text: text)
    }
    let value = parts.count == 4 ? parts[3] : nil
    let fault: Fault? =
      switch parts[0] {
      case "to-key": Self.packetAction(parts[2], value).map { .packet(.toKey, index, $0) }
      case "to-host": Self.packetAction(parts[2], value).map { .packet(.toHost, index, $0) }
      case "command": Self.commandAction(parts[2], value).map { .command(index, $0) }
      default: nil
      }
    guard let fault else { throw FaultTextError(text: text) }
    self = fault
  }

  private static func packetAction(_ name: String, _ value: String?) -> PacketAction? {
    guard let value else {
      switch name {
      case "drop": return .drop
      case "duplicate": return .duplicate
      case "unplug": return .unplug
      default: return nil
      }
    }
    guard let n = number(value, upTo: 3_600_000) else { return nil }
    switch name {
    case "delay": return .delay(milliseconds: Int64(n))
    case "truncate": return .truncate(to: n)
    case "flip": return .flipBit(n)
    default: return nil
    }
  }

  private static func commandAction(_ name: String, _ value: String?) -> CommandAction? {
    guard let value else {
      switch name {
      case "busy": return .hidError(.channelBusy)
      case "no-reply": return .noReply
      case "ignore-cancel": return .ignoreCancel
      case "unplug": return .unplug
      default: return nil
      }
    }
    if name == "reply" { return Hex.decode(value).map { .replaceReply($0) } }
    guard let n = number(value, upTo: 3_600_000) else { return nil }
    switch name {
    case "status": return UInt8(exactly: n).map { .status(CTAPStatus(rawValue: $0)) }
    case "hid-error": return UInt8(exactly: n).flatMap(CTAPHIDErrorCode.init(rawValue:)).map { .hidError($0) }
    case "delay": return .delay(milliseconds: Int64(n))
    case "truncate": return .truncateReply(to: n)
    case "flip": return .flipReplyBit(n)
    default: return nil
    }
  }

  /// Decimal, or hexadecimal after 0x.
  private static func number(_ text: String, upTo limit: Int) -> Int? {
    let isHex = text.hasPrefix("0x")
    guard let n = isHex ? Int(text.dropFirst(2), radix: 16) : Int(text), (0...limit).contains(n) else { return nil }
    return n
  }
}
