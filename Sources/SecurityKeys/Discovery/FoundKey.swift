// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// A key that is there, not opened yet.
public struct FoundKey: Sendable, Hashable {
  /// Where it is.
  public enum Place: Sendable, Hashable {
    /// A hidraw node, by its path.
    case node(String)
    /// A card on a PC/SC reader, by the reader's name.
    case reader(String)
  }

  /// Whether it can be used now.
  public enum Access: Sendable, Hashable {
    /// Yes.
    case ready
    /// This user may not open the node.
    case notPermitted
    /// Another program holds it; its name, when /proc tells.
    case inUse(by: String?)
    /// It went away.
    case gone
    /// The reader has no card on it.
    case noCard
    /// The card on the reader does not answer.
    case mute
    /// The reader is the card face of a USB key: its FIDO is on USB.
    case useUSB
  }

  /// A short id, lowercase hexadecimal, stable for this key: its serial number decides, or the socket it sits in.
  public internal(set) var id: String
  /// Where it is.
  public let place: Place
  /// What to call it.
  public let name: String
  /// USB vendor ID.
  public let vendorID: UInt16?
  /// USB product ID.
  public let productID: UInt16?
  /// Whether it is known to be no real key: made up by the kernel, or behind a virtual reader.
  public let isSimulated: Bool
  /// The full text that ``id`` is a digest of.
  let identity: String
  /// How its reports look; nil for a reader.
  public let reports: FIDOReports?

  /// A key on a hidraw node; nil when the node speaks no FIDO.
  public init?(_ node: HIDNode) {
    guard let reports = FIDOReports(descriptor: node.descriptor) else { return nil }
    self.reports = reports
    place = .node(node.path)
    name = node.name
    vendorID = node.vendorID
    productID = node.productID
    isSimulated = node.isSimulated
    identity = node.identity
    id = Self.shortID(node.identity)
  }

  /// What is on a PC/SC reader.
  init(reader: String, isSimulated: Bool) {
    reports = nil
    place = .reader(reader)
    name = HIDNode.cleaned(reader) ?? "card reader"
    vendorID = nil
    productID = nil
    self.isSimulated = isSimulated
    identity = "pcsc|\(reader)"
    id = Self.shortID(identity)
  }

  /// `hidraw` or `pcsc`.
  public var kindName: String { if case .node = place { "hidraw" } else { "pcsc" } }

  /// The node's path, or the reader's name.
  public var placeName: String {
    switch place {
    case .node(let path): path
    case .reader(let name): name
    }
  }

  private static func shortID(_ identity: String, length: Int = 6) -> String {
    let digits = SHA256.hash(Array(identity.utf8)).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return String(digits.joined().prefix(length))
  }

  /// Makes the ids of a list differ: longer where two digests begin alike, numbered where two keys cannot be told apart.
  static func distinguish(_ keys: [FoundKey]) -> [FoundKey] {
    var keys = keys.sorted { $0.placeName < $1.placeName }
    for length in [6, 12, 64] {
      let counts = Dictionary(keys.map { ($0.id, 1) }, uniquingKeysWith: +)
      for i in keys.indices where counts[keys[i].id, default: 0] > 1 {
        keys[i].id = shortID(keys[i].identity, length: length)
      }
    }
    var seen: [String: Int] = [:]
    for i in keys.indices {
      let number = seen[keys[i].id, default: 0]
      seen[keys[i].id] = number + 1
      if number > 0 {
        keys[i].id = "\(keys[i].id.prefix(6))-\(number + 1)"
      } else if keys[i].id.count == 64 {
        keys[i].id = String(keys[i].id.prefix(6))
      }
    }
    return keys
  }
}
