// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import SecurityKeys
import WebAuthnCore

/// One run of one verb, with what the person chose.
struct Invocation: Sendable {
  let options: ParsedOptions
  var key: KeyAddress?
  let isQuiet: Bool
  let timings: KeyTimings
  let pinDescriptor: Int32?
  let dataDirectory: String
  /// What was done and could not be written down.
  let losses = Losses()
  /// What keys have refused in this run.
  var refusedPINs = RefusedPINs()

  init(_ options: ParsedOptions) throws(UsageError) {
    self.options = options
    if let text = options["key"] {
      do { key = try KeyAddress(parsing: text) } catch {
        throw .badValue(
          option: "--key", value: text,
          wanted: "/dev/hidrawN, a short id, nfc[:READER], virtual[:MODEL] or udp:PORT[:REPLYPORT]")
      }
    } else {
      key = nil
    }
    isQuiet = options.has("quiet")
    var timings = KeyTimings.standard
    if let text = options["timeout"] {
      guard let seconds = Double(text), seconds > 0, seconds <= 3600 else {
        throw .badValue(option: "--timeout", value: text, wanted: "seconds, more than 0 and at most 3600")
      }
      timings.touch = .milliseconds(Int64(seconds * 1000))
    }
    self.timings = timings
    pinDescriptor = try Self.descriptor("pin-fd", options)
    if let given = options["data-dir"] {
      guard !given.isEmpty else { throw .badValue(option: "--data-dir", value: given, wanted: "a folder") }
      dataDirectory = given
    } else {
      dataDirectory = try Self.standardDataDirectory()
    }
  }

  /// A file descriptor's number.
  func descriptor(_ name: String) throws(UsageError) -> Int32? { try Self.descriptor(name, options) }

  private static func descriptor(_ name: String, _ options: ParsedOptions) throws(UsageError) -> Int32? {
    guard let text = options[name] else { return nil }
    guard let number = Int32(text), Hardening.givenDescriptors.contains(number) else {
      throw .badValue(
        option: "--\(name)", value: text,
        wanted: "the number, below 1024, of a file descriptor that is open when sealkey starts")
    }
    return number
  }

  private static func standardDataDirectory() throws(UsageError) -> String {
    func variable(_ name: String) throws(UsageError) -> String? {
      guard let bytes = getenv(name) else { return nil }
      guard let text = String(validatingCString: bytes) else { throw .environmentNotUTF8(name) }
      return text.hasPrefix("/") ? text : nil
    }
    if let data = try variable("XDG_DATA_HOME") { return "\(data)/sealkey" }
    let home = try variable("HOME")
    return "\(home ?? ".")/.local/share/sealkey"
  }

  /// The data directory, made when it is not there, for its owner alone.
  func madeDataDirectory() throws(FileError) -> String {
    try LocalStore.makeFolder(dataDirectory)
    return dataDirectory
  }

  /// Something for the person, on stderr.
  func say(_ text: String) { if !isQuiet { Console.note(text) } }

  /// Seconds since 1970.
  var now: Int64 { Int64(time(nil)) }

  func required(_ name: String) throws(UsageError) -> String {
    guard let value = options[name] else { throw .missingOption(name) }
    return value
  }

  /// An id that is signed as it stands: what cannot be seen in it would be signed unseen.
  func identifier(_ name: String) throws(UsageError) -> String {
    let value = try required(name)
    guard !value.allSatisfy(\.isWhitespace), value.printable == value else {
      throw .badValue(
        option: "--\(name)", value: value.printable, wanted: "an id, not empty and without control characters")
    }
    return value
  }

  /// Bytes given in hexadecimal.
  func hex(_ name: String, count: Int? = nil) throws(UsageError) -> [UInt8]? {
    guard let text = options[name] else { return nil }
    guard let bytes = Hex.decode(text), count == nil || bytes.count == count else {
      throw .badValue(
        option: "--\(name)", value: text, wanted: count.map { "\($0) bytes in hexadecimal" } ?? "bytes in hexadecimal")
    }
    return bytes
  }

  /// The one operand.
  func operand(_ what: String) throws(UsageError) -> String {
    guard let first = options.operands.first else { throw .missingOperand(what) }
    try noOperands(after: 1)
    guard !first.isEmpty else { throw .emptyOperand(what) }
    return first
  }

  func noOperands(after count: Int = 0) throws(UsageError) {
    if options.operands.count > count { throw .extraOperand(options.operands[count]) }
  }

  /// Writes an artefact to `--out`, or gives it as the result.
  /// - Parameter isThere: the file of `--out` holds it already, and is left as it is.
  func deliver(
    _ artefact: Artefact, _ summary: [String], _ facts: [(String, JSONValue?)], isThere: Bool = false
  ) throws -> Outcome {
    let bytes = options.has("seal") ? artefact.sealOnly() : artefact.encoded(pretty: true)
    var json: [(String, JSONValue?)] = [
      ("kind", .string(artefact.kind.rawValue)), ("simulated", .bool(artefact.isSimulated)),
    ]
    json += facts
    var text = ""
    var isOut = !options.has("out")
    if let path = options["out"] {
      do {
        if !isThere { try write(bytes, to: path) }
        json.append(("file", .string(path)))
        say((isThere ? "\(path) holds it already and was left as it is." : "Wrote \(path).").printable)
      } catch {
        losses.add("so it is on the standard output instead", error)
        isOut = true
      }
    }
    if isOut {
      json.append(("artefact", try? JSONReader.parse(bytes)))
      text = String(decoding: bytes.last == 0x0a ? bytes.dropLast() : bytes[...], as: UTF8.self)
    }
    for line in summary { say(line) }
    if artefact.isSimulated { say("Simulated: a virtual key made this. It is no real key's word.") }
    return Outcome(text: text, json: .object(json), isDocument: isOut)
  }

  /// A capsule from a file.
  func capsule(_ path: String) throws -> Capsule {
    let bytes = try AtomicFile.read(path, limit: Capsule.maximumSize)
    return try FileKind.reading(path, as: [.artefact(.capsule)], "\(FileKind.capsuleName),") {
      try Capsule(parsing: bytes)
    }
  }

  /// An identity from a file, with what is known here to have ended since: the file may be an older copy.
  func identity(_ path: String) throws -> (record: DirectoryRecord, isSimulated: Bool) {
    let (record, isSimulated) = try record(path)
    return (knowing(record), isSimulated)
  }

  /// The record with what is known here to have ended, whatever the file says.
  private func knowing(_ record: DirectoryRecord) -> DirectoryRecord {
    record.knowing(knownPeople().records[record.rootHash])
  }

  /// The record of somebody who acts, with what is known here to have ended.
  /// - Throws: ``StoreError/identityDeleted(name:)``.
  func living(_ record: DirectoryRecord) throws(StoreError) -> DirectoryRecord {
    let record = knowing(record)
    guard record.tier != Tier.deleted.rawValue else { throw .identityDeleted(name: record.displayName) }
    return record
  }

  /// An identity record from a file, as it is there.
  func record(_ path: String) throws -> (record: DirectoryRecord, isSimulated: Bool) {
    let bytes = try AtomicFile.read(path)
    return try FileKind.reading(path, as: [.artefact(.identityRecord)], "an identity record") {
      let artefact = try Artefact(parsing: bytes)
      return (try artefact.shape(.identityRecord), artefact.isSimulated)
    }
  }
}
