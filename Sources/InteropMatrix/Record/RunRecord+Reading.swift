// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// Why a file is not a record that can be used.
public enum RunRecordError: NamedError, Hashable {
  /// Not a record, or not one this program knows.
  case format(FormatError)
  /// The digest is not the record's: something was changed.
  case digestDoesNotMatch
  /// The bytes are not those that this record is written with; the first difference is named.
  case notCanonical(offset: Int)
  /// A cell says something that the evidence does not.
  case cellDoesNotFollow(cell: String)

  public var name: String {
    switch self {
    case .format(let error): error.name
    case .digestDoesNotMatch: "evidenceDigestDoesNotMatch"
    case .notCanonical: "recordNotCanonical"
    case .cellDoesNotFollow(let cell): "cellDoesNotFollow(\(cell))"
    }
  }

  public var message: String {
    switch self {
    case .format(let error): error.message
    case .digestDoesNotMatch: "The record was changed after it was made: its digest is not that of what it holds."
    case .notCanonical: "The record was changed after it was made: it is not written as this program writes it."
    case .cellDoesNotFollow(let cell): "The cell '\(cell)' does not follow from what the key said."
    }
  }

  public var next: String {
    switch self {
    case .format(let error): error.next
    default: "Take the record from whoever made it, unchanged, or run the key again."
    }
  }

  public var offset: Int? {
    switch self {
    case .format(let error): error.offset
    case .notCanonical(let offset): offset
    default: nil
    }
  }
}

extension RunRecord {
  /// Reads a record whose bytes are exactly those it is written with, and whose cells follow from its evidence.
  /// - Throws: RunRecordError.
  public init(parsing bytes: [UInt8]) throws(RunRecordError) {
    let json: JSONValue
    do { json = try JSONReader.parse(bytes, limits: .init(maximumDepth: 12, maximumByteCount: Self.maximumSize)) } catch
    {
      throw .format(.notJSON(error))
    }
    let record: RunRecord
    do { record = try RunRecord(json: json) } catch { throw .format(error) }
    let written = record.encoded()
    if written == bytes { self = record } else { throw record.difference(json, bytes, written) }
  }

  private func difference(_ json: JSONValue, _ bytes: [UInt8], _ written: [UInt8]) -> RunRecordError {
    let derived = cellsJSON
    for cell in derived.object ?? [] {
      let found = json["cells"]?[cell.name].map { JSONWriter.write($0) }
      if found != JSONWriter.write(cell.value) { return .cellDoesNotFollow(cell: cell.name) }
    }
    if let extra = json["cells"]?.object?.first(where: { derived[$0.name] == nil }) {
      return .cellDoesNotFollow(cell: extra.name)
    }
    if json["evidenceDigestHex"]?.string != Hex.encode(evidenceDigest) { return .digestDoesNotMatch }
    return .notCanonical(
      offset: zip(bytes, written).enumerated().first { $1.0 != $1.1 }?.offset ?? min(bytes.count, written.count))
  }

  private init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "run record")
    let format = try m.string("format")
    guard format.isExactly(Self.format) else { throw .unknownFormat(format) }
    let version = try m.int("version")
    guard version == Self.version else { throw .unsupportedVersion(format: format, version: version) }
    isSimulated = try m.bool("simulated")
    tool = try m.string("tool")
    nonce = try m.hex("nonceHex", count: 32)
    startedAt = try m.int("startedAt")
    finishedAt = try m.ifPresent("finishedAt") { (name) throws(FormatError) in try m.int(name) }
    tester = try m.ifPresent("tester") { (name) throws(FormatError) in try m.string(name) }
    key = try KeyDescription(json: m.required("key"))
    hosts = []
    for host in try m.array("hosts") { hosts.append(try HostDescription(json: host)) }
    before = try KeyState(json: m.required("before"))
    after = try m.optional("after").map { (json) throws(FormatError) in try KeyState(json: json) }
    device = try TestDevice(json: m.required("device"))
    steps = []
    for step in try m.array("steps") { steps.append(try StepRecord(json: step)) }
    guard Set(steps.map(\.step)).count == steps.count else { throw m.fail("steps", "names a step twice") }
    guard steps.allSatisfy({ $0.attempts.allSatisfy { hosts.indices.contains($0.host) } }) else {
      throw m.fail("steps", "names a computer that is not there")
    }
  }
}

extension RunRecord.KeyDescription {
  fileprivate init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "key")
    func small(_ name: String) throws(FormatError) -> UInt16? {
      guard m.optional(name) != nil else { return nil }
      guard let number = UInt16(exactly: try m.int(name)) else { throw m.fail(name, "is not a number of 16 bits") }
      return number
    }
    self.init(
      name: try m.string("name"), transport: try m.string("transport"),
      place: try m.ifPresent("place") { (name) throws(FormatError) in try m.string(name) },
      vendorID: try small("vendorID"), productID: try small("productID"),
      deviceVersion: try m.hex("deviceVersionHex", count: 3),
      capabilities: UInt8(truncatingIfNeeded: try small("capabilities") ?? 0),
      serial: try m.ifPresent("serial") { (name) throws(FormatError) in try m.string(name) })
  }
}

extension RunRecord.HostDescription {
  fileprivate init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "host")
    self.init(
      mark: try m.hex("markHex"), kernel: try m.string("kernel"), libfido2: try m.string("libfido2"),
      pcscd: try m.ifPresent("pcscd") { (name) throws(FormatError) in try m.string(name) })
  }
}

extension RunRecord.KeyState {
  fileprivate init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "key state")
    self.init(
      info: try m.hex("getInfoHex"), pinTries: try m.small("pinTries"), discoverable: try m.small("discoverable"))
  }
}

extension RunRecord.TestDevice {
  fileprivate init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "test device")
    self.init(
      publicKey: try m.hex("publicKeyHex", count: 65), kemBundle: try m.hex("kemBundleHex"),
      salt: try m.hex("saltHex", count: 32),
      locked: try m.ifPresent("lockedHex") { (name) throws(FormatError) in try m.hex(name) })
  }
}

extension StepRecord {
  fileprivate init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "step")
    let text = try m.string("step")
    guard let step = MatrixStep(rawValue: text) else { throw m.fail("step", "is none that this program knows") }
    self.init(step, skipped: try m.ifPresent("skipped") { (name) throws(FormatError) in try m.string(name) })
    for attempt in try m.array("attempts") { attempts.append(try Attempt(json: attempt)) }
  }
}

extension StepRecord.Attempt {
  fileprivate init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "attempt")
    self.init(host: try m.small("host") ?? 0, clientDataJSON: Array(try m.string("clientDataJSON").utf8))
    for item in try m.array("exchanges") {
      let e = try MemberReader(item, "exchange")
      exchanges.append(.init(request: try e.hex("requestHex"), reply: try e.hex("replyHex")))
    }
    if let json = m.optional("answer") {
      let a = try MemberReader(json, "answer")
      func hex(_ name: String) throws(FormatError) -> [UInt8]? { a.optional(name) == nil ? nil : try a.hex(name) }
      var answer = StepRecord.Answer()
      answer.attestationObject = try hex("attestationObjectHex")
      answer.credentialID = try hex("credentialIDHex")
      answer.authenticatorData = try hex("authenticatorDataHex")
      answer.signature = try hex("signatureHex")
      self.answer = answer
    }
    failure = try m.ifPresent("failure") { (name) throws(FormatError) in try m.string(name) }
    status = try m.small("status")
    touches = try m.small("touches") ?? 0
    firstKeepalive = try m.small("firstKeepaliveMs")
    duration = try m.small("durationMs") ?? 0
    opensLock = try m.ifPresent("opensLock") { (name) throws(FormatError) in try m.bool(name) }
  }
}

extension MemberReader {
  /// A count or a time: not negative, of 32 bits.
  fileprivate func small(_ name: String) throws(FormatError) -> Int? {
    guard optional(name) != nil else { return nil }
    guard let number = Int32(exactly: try int(name)), number >= 0 else { throw fail(name, "is no count") }
    return Int(number)
  }
}
