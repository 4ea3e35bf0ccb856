// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

extension Capsule {
  /// Reads a capsule, event by event: the tree of the whole file is never held.
  ///
  /// - Throws: ``FormatError``: what is wrong with the JSON, `unknownFormat`, `unsupportedVersion`, `missingMember`,
  ///   `badMember` with the offset in the file.
  public init(parsing bytes: [UInt8]) throws(FormatError) {
    guard bytes.count <= Self.maximumSize else { throw .notJSON(.tooLarge(offset: Self.maximumSize)) }
    guard !bytes.starts(with: [0xef, 0xbb, 0xbf]) else { throw .notJSON(.byteOrderMark) }
    var reader = CapsuleReader(bytes)
    self = try reader.read()
  }
}

/// One pass over a capsule's text.
private struct CapsuleReader {
  private static let what = "capsule"
  private let scanner: JSONScanner
  private var capsule = Capsule(estateID: "", ownerHash: "", exportedBy: "", exportedAtEpoch: 0)
  private var seen = Set<String>()
  private var format: String?
  private var version: Int64?
  private var interner = Interner()

  init(_ bytes: [UInt8]) { scanner = JSONScanner(input: bytes) }

  mutating func read() throws(FormatError) -> Capsule {
    var failure: FormatError?
    // A copy: the text itself is shared, and the walk must not hold this reader.
    var scanner = self.scanner
    do throws(JSONError) {
      // The walk throws JSON errors only: an error of ours is kept aside and stops the walk.
      try scanner.members { (name, scanner) throws(JSONError) in
        do throws(FormatError) {
          try self.member(name, &scanner)
        } catch {
          failure = error
          throw JSONError.truncated(offset: scanner.position)
        }
      }
      scanner.skipSpace()
      guard scanner.position == scanner.input.count else { throw JSONError.trailingBytes(offset: scanner.position) }
    } catch { throw failure ?? .notJSON(error) }
    // A file of another kind lacks members too: its format is the first thing to say.
    guard format == Capsule.format else { throw .unknownFormat(format ?? "") }
    guard let version else { throw .missingMember(what: Self.what, member: "version") }
    guard version == Capsule.version else { throw .unsupportedVersion(format: Capsule.format, version: version) }
    for required in [
      "relyingPartyID", "exportedAtEpoch", "exportedBy", "estateID", "ownerHash", "identities", "events",
      "epochBlobsBase64", "tableBlobsBase64", "contentBlobsBase64",
    ] where !seen.contains(required) {
      throw .missingMember(what: Self.what, member: required)
    }
    return capsule
  }

  private mutating func member(_ name: String, _ scanner: inout JSONScanner) throws(FormatError) {
    seen.insert(name)
    switch name {
    case "identities":
      try each(&scanner) { (key, scanner, me) throws(FormatError) in
        me.capsule.identities[key] = try CapsuleIdentity(json: try me.value(&scanner))
      }
    case "events": try events(&scanner)
    case "epochBlobsBase64":
      try each(&scanner) { (key, scanner, me) throws(FormatError) in
        me.capsule.epochBlobs[key] = try me.blob(name, &scanner)
      }
    case "tableBlobsBase64":
      try each(&scanner) { (key, scanner, me) throws(FormatError) in
        me.capsule.tableBlobs[key] = try me.blob(name, &scanner)
      }
    case "contentBlobsBase64":
      try each(&scanner) { (key, scanner, me) throws(FormatError) in
        me.capsule.contentBlobs[key] = try me.blob(name, &scanner)
      }
    default:
      let value = try value(&scanner)
      if name == "format", value.string != Capsule.format { throw .unknownFormat(value.string ?? "") }
      try simple(name, value)
    }
  }

  private mutating func simple(_ name: String, _ value: JSONValue) throws(FormatError) {
    let m = try MemberReader(.object([(name, value)]), Self.what)
    switch name {
    case "format": format = try m.string(name)
    case "version": version = try m.int(name)
    case "relyingPartyID": capsule.relyingPartyID = try m.name(name)
    case "exportedAtEpoch": capsule.exportedAtEpoch = try m.int(name)
    case "exportedBy": capsule.exportedBy = try m.name(name)
    case "estateID": capsule.estateID = try m.name(name)
    case "ownerHash": capsule.ownerHash = try m.name(name)
    case "stateAtExport":
      capsule.stateAtExport = try m.ifPresent(name) { name throws(FormatError) in try m.string(name) }
    case "simulated": capsule.isSimulated = try m.bool(name)
    default: capsule.otherMembers.append(.init(name, value))
    }
  }

  private func value(_ scanner: inout JSONScanner) throws(FormatError) -> JSONValue {
    do { return try scanner.value(depth: 2) } catch { throw .notJSON(error) }
  }

  /// Calls `body` for each member of the object that begins here.
  private mutating func each(
    _ scanner: inout JSONScanner,
    _ body: (String, inout JSONScanner, inout CapsuleReader) throws(FormatError) -> Void
  ) throws(FormatError) {
    var failure: FormatError?
    do throws(JSONError) {
      try scanner.members { (key, scanner) throws(JSONError) in
        do throws(FormatError) { try body(key, &scanner, &self) } catch {
          failure = error
          throw JSONError.truncated(offset: scanner.position)
        }
      }
    } catch { throw failure ?? .notJSON(error) }
  }

  private mutating func events(_ scanner: inout JSONScanner) throws(FormatError) {
    var failure: FormatError?
    do throws(JSONError) {
      try scanner.elements { (scanner) throws(JSONError) in
        do throws(FormatError) {
          self.capsule.entries.append(try self.interner.entry(try self.value(&scanner)))
        } catch {
          failure = error
          throw JSONError.truncated(offset: scanner.position)
        }
      }
    } catch { throw failure ?? .notJSON(error) }
  }

  /// A blob's bytes, decoded from where they stand in the text: a large one is never copied as text.
  private func blob(_ member: String, _ scanner: inout JSONScanner) throws(FormatError) -> [UInt8] {
    let range: Range<Int>
    do { range = try scanner.stringRange().range } catch { throw .notJSON(error) }
    guard let bytes = Base64Text.decode(scanner.input, range) else {
      throw .badMember(
        what: Self.what, member: member, reason: "holds something that is not padded base64", offset: range.lowerBound)
    }
    return bytes
  }
}

/// Events that share what most events share: a hundred thousand of them name the same few people and devices.
private struct Interner {
  private var strings: [String: String] = [:]
  private var keys: [[UInt8]: [UInt8]] = [:]

  private mutating func intern(_ text: String) -> String {
    if let known = strings[text] { return known }
    // A record full of strangers must not make this a second copy of the file.
    if strings.count < 4096 { strings[text] = text }
    return text
  }

  private mutating func intern(_ key: [UInt8]) -> [UInt8] {
    if let known = keys[key] { return known }
    if keys.count < 4096 { keys[key] = key }
    return key
  }

  mutating func entry(_ json: JSONValue) throws(FormatError) -> Capsule.Entry {
    let m = try MemberReader(json, EstateEvent.shapeName)
    let terms = EventTerms(
      id: try m.string("id"), estateID: intern(try m.string("estateID")), kind: intern(try m.string("kind")),
      actorHash: intern(try m.string("actorHash")), actorDevicePublicKey: intern(try m.hex("actorDevicePublicKeyHex")),
      occurredAtEpoch: try m.int("occurredAtEpoch"), previousDigest: try m.hex("previousDigestHex"),
      payload: try m.base64("payloadBase64"))
    let event = EstateEvent(
      terms: terms, signature: try m.hex("signatureHex"),
      timestampToken: try m.ifPresent("timestampTokenBase64") { name throws(FormatError) in try m.base64(name) })
    return Capsule.Entry(event, statedDigest: try m.hex("digestHex"))
  }
}

/// Padded base64 inside JSON text, where a slash may be escaped.
enum Base64Text {
  /// The bytes, or nil when the text is not exactly padded base64.
  static func decode(_ text: [UInt8], _ range: Range<Int>) -> [UInt8]? {
    var out: [UInt8] = []
    out.reserveCapacity(range.count / 4 * 3)
    let isGood = text.withUnsafeBufferPointer { bytes -> Bool in
      var (position, group, digits, padding) = (range.lowerBound, UInt32(0), 0, 0)
      while position < range.upperBound {
        var character = bytes[position]
        position += 1
        if character == UInt8(ascii: "\\") {
          guard position < range.upperBound, bytes[position] == UInt8(ascii: "/") else { return false }
          character = bytes[position]
          position += 1
        }
        let value: UInt8
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): value = 62
        case UInt8(ascii: "/"): value = 63
        case UInt8(ascii: "="):
          padding += 1
          continue
        default: return false
        }
        guard padding == 0 else { return false }
        group = group << 6 | UInt32(value)
        digits += 1
        if digits % 4 == 0 {
          out.append(UInt8(truncatingIfNeeded: group >> 16))
          out.append(UInt8(truncatingIfNeeded: group >> 8))
          out.append(UInt8(truncatingIfNeeded: group))
          group = 0
        }
      }
      guard padding <= 2, (digits + padding) % 4 == 0 else { return false }
      switch digits % 4 {
      case 0: return padding == 0
      case 2:
        out.append(UInt8(truncatingIfNeeded: group >> 4))
        return group & 0xf == 0
      case 3:
        out.append(UInt8(truncatingIfNeeded: group >> 10))
        out.append(UInt8(truncatingIfNeeded: group >> 2))
        return group & 0x3 == 0
      default: return false
      }
    }
    return isGood ? out : nil
  }
}
