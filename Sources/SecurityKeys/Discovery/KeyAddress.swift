// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What `--key` can name.
public enum KeyAddress: Sendable, Hashable {
  /// A hidraw node.
  case node(String)
  /// The short id that `sealkey list` prints.
  case id(String)
  /// The built-in virtual key, of a model.
  case virtual(model: String?)
  /// A simulator on a loopback UDP port.
  case udp(port: UInt16, replyPort: UInt16?)
  /// A PC/SC reader, or any.
  case nfc(reader: String?)

  /// Nil when the text is none of these.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    switch parts[0] {
    case "virtual": self = .virtual(model: parts.count > 1 ? parts[1] : nil)
    case "nfc": self = .nfc(reader: parts.count > 1 ? parts[1] : nil)
    case "udp":
      guard parts.count > 1 else { return nil }
      let ports = parts[1].split(separator: ":", omittingEmptySubsequences: false).map { UInt16($0) }
      guard (1...2).contains(ports.count), let port = ports[0], port > 0 else { return nil }
      if ports.count == 2, ports[1] == nil { return nil }
      self = .udp(port: port, replyPort: ports.count == 2 ? ports[1] : nil)
    case let path where path.hasPrefix("/"): self = .node(text)
    case let id
    where (4...12).contains(id.utf8.count)
      && id.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) } && parts.count == 1:
      self = .id(id)
    default: return nil
    }
  }
}
