// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import InteropMatrix
import SealCeremonies
import SealFormats
import WebAuthnCore

/// What a file is, found out when a command could not use it: whoever took the wrong file, or the wrong command, is told which
/// it is.
enum FileKind: Hashable {
  case artefact(ArtefactKind)
  case directory
  case run
  case device
  case pending

  /// Whether it is one of Seal's own files.
  var isArtefact: Bool {
    if case .artefact = self { true } else { false }
  }

  /// A file that was looked at.
  struct Found {
    let kind: FileKind
    /// What it is, with its article.
    let what: String
    /// What takes it.
    let use: String
  }

  /// Reads with `body`. When that fails because the file is another than `wanted`, the error says what it is and which command
  /// takes it; a file that is one of `wanted` and bad keeps its own error.
  static func reading<R: ~Copyable>(
    _ path: String, as wanted: Set<FileKind>, _ name: String, _ body: () throws -> R
  ) throws -> R {
    do { return try body() } catch let error as any NamedError {
      // What is wrong with the file itself is said first; that others can read it matters only where it is secret.
      if let file = error as? FileError, file.name != "fileTooOpen" { throw error }
      guard let found = of(path), !wanted.contains(found.kind) else {
        let json: JSONError? = if case FormatError.notJSON(let json) = error { json } else { error as? JSONError }
        guard let json else {
          if error is FormatError { throw FaultInFile(path: path, below: error) }
          throw error
        }
        throw NoSuchText(path: path, wanted: name.hasSuffix(",") ? String(name.dropLast()) : name, error: json)
      }
      throw WrongFile(path: path, what: found.what, wanted: name, use: found.use)
    }
  }

  /// Looks at a file; nil when it is nothing that this program knows. Private halves are told by how their file begins, and are
  /// not read.
  static func of(_ path: String) -> Found? {
    if OutputFiles.beginsWithPrivateHalves(path) {
      return Found(
        kind: .device, what: "the private halves of a device", use: "Commands that use a device take it with --device.")
    }
    guard let bytes = try? AtomicFile.read(path, limit: Capsule.maximumSize) else { return nil }
    if let artefact = try? Artefact(parsing: bytes) {
      return Found(kind: .artefact(artefact.kind), what: what(artefact), use: use(artefact, path))
    }
    if (try? RunRecord(parsing: bytes)) != nil {
      return Found(
        kind: .run, what: MatrixVerb.recordName, use: "Check it with: sealkey matrix verify \(path)")
    }
    if (try? PasskeyRequest(parsing: bytes)) != nil {
      return Found(
        kind: .pending, what: "a request that waits for its answer",
        use: "When the answer is there: sealkey import ANSWER --pending \(path)")
    }
    guard let json = try? JSONReader.parse(bytes, limits: .init(maximumDepth: 32, maximumByteCount: 256 << 20)) else {
      return nil
    }
    if json["format"]?.string == Capsule.format { return capsule(path) }
    guard json["format"]?.string == "sealkey.directory" || json.array?.isEmpty == false else { return nil }
    return Found(
      kind: .directory, what: "a list of identity records",
      use: "Check it with: sealkey verify \(path); keep it with: sealkey directory import \(path)")
  }

  static let capsuleName = "a capsule, the whole record of an estate"

  private static func capsule(_ path: String) -> Found {
    Found(
      kind: .artefact(.capsule), what: capsuleName,
      use: "Check it with: sealkey capsule verify \(path)")
  }

  private static func use(_ artefact: Artefact, _ path: String) -> String {
    let check = "Check it with: sealkey verify \(path)"
    switch artefact.kind {
    case .capsule: return capsule(path).use
    case .identityRecord: return "\(check); keep it with: sealkey directory import \(path)"
    case .endorsement where isLock(artefact): return "Open it with its key: sealkey unlock \(path)"
    default: return check
    }
  }

  private static func isLock(_ artefact: Artefact) -> Bool {
    let endorsement: DeviceEndorsement? = try? artefact.shape(.endorsement)
    return endorsement?.lockedPrivate != nil
  }

  private static func what(_ artefact: Artefact) -> String {
    switch artefact.kind {
    case .identity: return "an identity"
    case .identityRecord: return "an identity record"
    case .endorsement: return isLock(artefact) ? "a lock that a key opens" : "the endorsement of a device"
    case .assertion: return signature(artefact.evidence?.statement)
    case .backup: return "a backup that an identity took on"
    case .revocation: return "a revocation"
    case .friendshipAttestation, .friendship: return "a friendship"
    case .forgeHandshake: return "a handshake"
    case .deleteMarker: return "a delete marker"
    case .receipt: return "a receipt"
    case .event:
      let event = try? JSONReader.parse(artefact.seal)
      let kind = event?["kind"]?.string.flatMap { EventKind(rawValue: $0) }
      return "an entry of an estate's record" + (kind.map { " (\($0.plainName))" } ?? "")
    case .capsuleIdentity: return "an identity as a capsule holds it"
    case .capsule: return capsuleName
    }
  }

  private static func signature(_ statement: Statement?) -> String {
    switch statement {
    case .releaseAuthorize: "a tap"
    case .custodyConfirm: "a confirmation"
    default: "what a key signed"
    }
  }
}

/// A file without the text that should be in it.
struct NoSuchText: NamedError, Hashable {
  let path: String
  let wanted: String
  let error: JSONError

  var name: String { error.name }
  var offset: Int? { error.offset }
  var message: String {
    if error == .truncated(offset: 0) { return "\(path) is empty: it is not \(wanted)." }
    // What begins well was it once.
    let isOther = error.offset == 0
    return "\(path) \(isOther ? "is not" : "does not read as") \(wanted). \(error.message)"
  }
  var next: String { "Give another file, or get this one again from where it came from." }
}

/// A good file in the wrong place.
struct WrongFile: NamedError, Hashable {
  let path: String
  let what: String
  let wanted: String
  let use: String

  let name = "unexpectedKind"
  var message: String { "\(path) is \(what), and \(wanted) is needed here." }
  var next: String { use }
}
