// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore

/// What `--key` names.
public enum KeyAddress: Sendable, Hashable {
  /// A hidraw node, by its path.
  case node(String)
  /// A PC/SC reader: by its name or a part of it, or any with a card.
  case nfc(reader: String?)
  /// The virtual key in this process, as a model.
  case virtual(model: String?)
  /// A firmware simulator on this computer: reports to a UDP port, and back from `replyPort` where it differs.
  case udp(port: UInt16, replyPort: UInt16?)
  /// A short id that `sealkey list` printed, or the beginning of one.
  case shortID(String)

  /// Reads `/dev/hidrawN`, `nfc`, `nfc:READER`, `virtual`, `virtual:MODEL`, `udp:PORT`, `udp:PORT:REPLYPORT` or a short
  /// id.
  /// - Throws: ``KeyAddressError/notUnderstood(_:)``.
  public init(parsing text: String) throws(KeyAddressError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let rest = parts.count > 1 ? parts[1] : nil
    switch parts[0] {
    case "nfc" where rest != "": self = .nfc(reader: rest)
    case "virtual" where rest != "": self = .virtual(model: rest)
    case "udp":
      let ports = (rest ?? "").split(separator: ":", omittingEmptySubsequences: false).map(Self.port)
      guard (1...2).contains(ports.count), let port = ports[0] else { throw .notUnderstood(text) }
      if ports.count == 2, ports[1] == nil { throw .notUnderstood(text) }
      self = .udp(port: port, replyPort: ports.count == 2 ? ports[1] : nil)
    default:
      if text.hasPrefix("/") {
        self = .node(text)
      } else if !text.isEmpty, text.utf8.count <= 64, text.allSatisfy({ $0.isASCII && ($0.isHexDigit || $0 == "-") }) {
        self = .shortID(text.lowercased())
      } else {
        throw .notUnderstood(text)
      }
    }
  }

  private static func port(_ text: Substring) -> UInt16? {
    guard text.allSatisfy({ ("0"..."9").contains($0) }), let port = UInt16(text), port > 0 else { return nil }
    return port
  }
}

/// Why an address leads to no key.
public enum KeyAddressError: NamedError, Hashable {
  /// Not one of the forms.
  case notUnderstood(String)
  /// No key is plugged in.
  case noKey
  /// No key of that id or at that place is plugged in.
  case notThere(String)
  /// The id begins more than one key's.
  case ambiguous(String, count: Int)
  /// The node is there, and no security key.
  case notAKey(String)

  public var name: String {
    switch self {
    case .notUnderstood: "badKeyAddress"
    case .noKey: "noKey"
    case .notThere: "noSuchKey"
    case .ambiguous: "ambiguousKey"
    case .notAKey: "notASecurityKey"
    }
  }

  public var message: String {
    switch self {
    case .notUnderstood(let text): "\"\(text)\" names no key."
    case .noKey: "No security key is plugged in."
    case .notThere(let text): "The key \"\(text)\" is not there."
    case .ambiguous(let text, let count): "\(count) keys begin with \"\(text)\"."
    case .notAKey(let path): "\(path) is not a security key."
    }
  }

  public var next: String {
    switch self {
    case .notUnderstood:
      "Name a key as /dev/hidrawN, nfc, nfc:READER, virtual, virtual:MODEL, udp:PORT[:REPLYPORT] or a short id."
    case .noKey: "Plug the key in, or lay it on the reader; sealkey watch shows what the computer sees."
    case .notThere, .notAKey: "See what is there with sealkey list."
    case .ambiguous: "Give more of the id."
    }
  }

  public var kind: FaultKind {
    switch self {
    case .notUnderstood, .ambiguous: .usage
    case .noKey, .notThere, .notAKey: .noKey
    }
  }
}
