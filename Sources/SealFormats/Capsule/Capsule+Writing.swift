// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

extension Capsule {
  /// Writes the capsule as Seal's encoder does: members sorted, many lines, slashes escaped. Text is handed to `sink`
  /// in pieces, so that a large capsule is never held twice.
  public func encode<E: Error>(into sink: ([UInt8]) throws(E) -> Void) throws(E) {
    var members: [String: MemberContent] = [
      "contentBlobsBase64": .blobs(contentBlobs), "epochBlobsBase64": .blobs(epochBlobs),
      "estateID": .value(.string(estateID)), "events": .events, "exportedAtEpoch": .value(.int(exportedAtEpoch)),
      "exportedBy": .value(.string(exportedBy)), "format": .value(.string(Self.format)),
      "identities": .value(.object(identities.keys.sorted(by: utf8Order).map { ($0, identities[$0]?.json) })),
      "ownerHash": .value(.string(ownerHash)), "relyingPartyID": .value(.string(relyingPartyID)),
      "tableBlobsBase64": .blobs(tableBlobs), "version": .value(.int(Self.version)),
    ]
    if isSimulated { members["simulated"] = .value(.bool(true)) }
    if let stateAtExport { members["stateAtExport"] = .value(.string(stateAtExport)) }
    for member in otherMembers where members[member.name] == nil { members[member.name] = .value(member.value) }

    var out = CapsuleText<E>()
    try out.object(members.keys.sorted(by: utf8Order), depth: 0, sink) { (name, text) throws(E) in
      switch members[name] {
      case .value(let value): text.append(value, depth: 1)
      case .blobs(let blobs):
        try text.object(blobs.keys.sorted(by: utf8Order), depth: 1, sink) { (key, text) throws(E) in
          // A dictionary's own key is always there.
          text.append(.base64(blobs[key] ?? []), depth: 2)
        }
      case .events:
        let sorted = entries.map(\.event).sorted { $0.logPosition < $1.logPosition }
        try text.array(sorted, depth: 1, sink) { (event, text) in text.append(event.capsuleJSON, depth: 2) }
      case nil: break
      }
    }
    out.appendRaw("\n")
    try out.flush(sink)
  }

  private enum MemberContent {
    case value(JSONValue)
    case blobs([String: [UInt8]])
    case events
  }

  /// The whole text at once.
  public func encoded() -> [UInt8] {
    var out: [UInt8] = []
    encode { (piece) throws(Never) in out += piece }
    return out
  }
}

func utf8Order(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }

/// JSON text that grows and is handed on in pieces.
private struct CapsuleText<E: Error> {
  private var buffer: [UInt8] = []

  mutating func appendRaw(_ text: String) { buffer += Array(text.utf8) }

  /// A value at this depth: lines after its first are moved to the right. No string holds a raw line feed.
  mutating func append(_ value: JSONValue, depth: Int) {
    let text = JSONWriter.write(value, .sortedPretty)
    let indent = [UInt8](repeating: 0x20, count: depth * 2)
    for byte in text {
      buffer.append(byte)
      if byte == 0x0a { buffer += indent }
    }
  }

  private mutating func line(_ depth: Int) {
    buffer.append(0x0a)
    buffer += [UInt8](repeating: 0x20, count: depth * 2)
  }

  mutating func object(
    _ names: [String], depth: Int, _ sink: ([UInt8]) throws(E) -> Void,
    _ each: (String, inout CapsuleText) throws(E) -> Void
  ) throws(E) {
    try list("{", "}", names, depth, sink) { (name, text) throws(E) in
      text.buffer += JSONWriter.write(.string(name))
      text.appendRaw(" : ")
      try each(name, &text)
    }
  }

  mutating func array<T>(
    _ elements: [T], depth: Int, _ sink: ([UInt8]) throws(E) -> Void, _ each: (T, inout CapsuleText) -> Void
  ) throws(E) {
    try list("[", "]", elements, depth, sink) { (element, text) throws(E) in each(element, &text) }
  }

  private mutating func list<T>(
    _ open: String, _ close: String, _ elements: [T], _ depth: Int, _ sink: ([UInt8]) throws(E) -> Void,
    _ each: (T, inout CapsuleText) throws(E) -> Void
  ) throws(E) {
    appendRaw(open)
    if elements.isEmpty { buffer.append(0x0a) }
    for (index, element) in elements.enumerated() {
      if index > 0 { appendRaw(",") }
      line(depth + 1)
      try each(element, &self)
      if buffer.count > 1 << 18 { try flush(sink) }
    }
    line(depth)
    appendRaw(close)
  }

  mutating func flush(_ sink: ([UInt8]) throws(E) -> Void) throws(E) {
    try sink(buffer)
    buffer.removeAll(keepingCapacity: true)
  }
}
