// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A file of this program: Seal's own JSON, untouched, with evidence beside it; or a raw file of Seal's.
public struct Artefact: Sendable {
  /// The version of the wrapper that this program writes, and the only one it reads.
  public static let version: Int64 = 1

  /// What the file holds.
  public let kind: ArtefactKind
  /// True when a virtual key, or anything that imitates one, had a part in it.
  public let isSimulated: Bool
  /// Seal's own JSON, exactly as it stood.
  public let seal: [UInt8]
  /// What stands beside it; nil for a raw file of Seal's.
  public let evidence: Evidence?

  /// A file to be written, around one of Seal's shapes.
  public init(_ kind: ArtefactKind, _ shape: some SealShape, isSimulated: Bool, evidence: Evidence = Evidence()) {
    self.init(kind, seal: shape.encoded(.sorted), isSimulated: isSimulated, evidence: evidence)
  }

  /// A file to be written, around bytes that are already Seal's JSON.
  public init(_ kind: ArtefactKind, seal: [UInt8], isSimulated: Bool, evidence: Evidence = Evidence()) {
    self.kind = kind
    self.isSimulated = isSimulated
    self.seal = seal
    self.evidence = evidence
  }

  /// Reads a wrapper, or a raw file of Seal's whose kind is told by its members. A capsule is recognised, and read
  /// with ``Capsule`` instead when it is large.
  ///
  /// - Throws: ``FormatError``: `unknownFormat`, `unsupportedVersion`, or what is wrong with the JSON.
  public init(parsing bytes: [UInt8]) throws(FormatError) {
    let top = try parseJSON(bytes)
    guard top.object != nil else { throw .wrongShape(what: "file", offset: top.range.lowerBound) }
    guard let format = top["format"]?.string, format != Capsule.format else {
      guard let kind = ArtefactKind(membersOf: top) else { throw .unknownFormat("") }
      self.kind = kind
      isSimulated = top["simulated"]?.bool ?? false
      seal = Array(bytes[top.range])
      evidence = nil
      return
    }
    guard let kind = ArtefactKind.allCases.first(where: { $0.format == format }) else {
      throw .unknownFormat(format)
    }
    let m = try MemberReader(top, "file")
    let version = try m.int("version")
    guard version == Self.version else { throw .unsupportedVersion(format: format, version: version) }
    self.kind = kind
    let inner = try m.required("seal")
    guard inner.object != nil else { throw .wrongShape(what: "Seal part", offset: inner.range.lowerBound) }
    seal = Array(bytes[inner.range])
    let beside = try m.ifPresent("evidence") { name throws(FormatError) in
      try Evidence(json: m.required(name))
    }
    evidence = beside ?? Evidence()
    // Any word of a virtual key makes the whole simulated: the mark can be added by a careless copy, never lost.
    isSimulated =
      try m.bool("simulated") || (beside?.isOfVirtualKey ?? false) || inner["simulated"]?.bool == true
  }

  /// The file's text. `seal` stands in it byte for byte, in both layouts.
  public func encoded(pretty: Bool = false) -> [UInt8] {
    let style = pretty ? JSONWriter.Style(isPretty: true, escapesSlashes: false) : .compact
    func member(_ name: String, _ value: [UInt8]) -> [UInt8] {
      (pretty ? Array("  \"\(name)\" : ".utf8) : Array("\"\(name)\":".utf8)) + value
    }
    var members = [
      member("format", JSONWriter.write(.string(kind.format), style)),
      member("version", JSONWriter.write(.int(Self.version))),
      member("simulated", JSONWriter.write(.bool(isSimulated))),
      member("seal", seal),
    ]
    if let evidence {
      // Nested one level down: each new line of it moves two spaces to the right.
      let text = JSONWriter.write(evidence.json, style)
      members.append(
        member("evidence", pretty ? Array(text.split(separator: 0x0a).joined(separator: [10, 32, 32])) : text))
    }
    return pretty
      ? Array("{\n".utf8) + Array(members.joined(separator: Array(",\n".utf8))) + Array("\n}\n".utf8)
      : Array("{".utf8) + Array(members.joined(separator: Array(",".utf8))) + Array("}\n".utf8)
  }

  /// Seal's own JSON alone, as `--seal` writes it: when a key was simulated, with a member `simulated` in front that
  /// Seal's decoders pass over.
  public func sealOnly() -> [UInt8] {
    guard isSimulated, seal.first == UInt8(ascii: "{"), let top = try? JSONReader.parse(seal), let members = top.object,
      top["simulated"]?.bool != true
    else { return seal + [0x0a] }
    guard top["simulated"] == nil else {
      // It says that it is not, or something else.
      let others = members.filter { $0.name != "simulated" }.map { ($0.name, Optional($0.value)) }
      return JSONWriter.write(.object([("simulated", .bool(true))] + others), .init(escapesSlashes: false)) + [0x0a]
    }
    return Array("{\"simulated\":true\(members.isEmpty ? "" : ",")".utf8) + seal.dropFirst() + [0x0a]
  }

  /// The shape inside, when the file is of that kind.
  ///
  /// - Throws: ``FormatError/unexpectedKind(found:wanted:)``, or what is wrong with the shape.
  public func shape<T: SealShape>(_ kind: ArtefactKind, as type: T.Type = T.self) throws(FormatError) -> T {
    guard self.kind == kind else { throw .unexpectedKind(found: self.kind.rawValue, wanted: kind.rawValue) }
    return try T(parsing: seal)
  }
}
