// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies

/// The files that a run is to write, looked at before anybody is asked for anything: a touch cannot be made again.
enum OutputFiles {
  private static let outputs = ["out", "into", "lock", "sheet", "handshake", "page"]
  /// What is read or made beside them. `--into` may be the capsule that was read: it holds all of it.
  private static let others = ["identity", "device", "friend", "pending", "capsule"]
  /// What one command writes and others read, by the command that writes it.
  private static let writtenBy = ["request": "pending", "demo": "capsule"]

  /// - Parameters:
  ///   - command: the command's name.
  ///   - mayHoldIt: a file that is there may be the result already: the command looks itself, with
  ///     ``checkNew(_:except:)``.
  /// - Throws: ``FileError``; ``UsageError`` when one file is named twice.
  static func check(_ options: ParsedOptions, store: LocalStore, of command: String, mayHoldIt: Bool = false) throws {
    let outputs = outputs + (writtenBy[command].map { [$0] } ?? [])
    var taken: [(option: String, path: String)] = others.filter { !outputs.contains($0) }.compactMap { name in
      options[name].map { (name, $0) }
    }
    for name in outputs {
      guard let path = options[name] else { continue }
      if let other = taken.first(where: {
        isSameFile($0.path, path) && !(name == "into" && $0.option == "capsule")
      }) {
        if outputs.contains(other.option) { throw UsageError.sameFile(other.option, name) }
        throw UsageError.badValue(
          option: "--\(name)", value: path, wanted: "a file of its own, and --\(other.option) names the same")
      }
      taken.append((name, path))
      try checkTarget(path, store, mayBeThere: mayHoldIt || mayBeThere(name, path, options))
    }
  }

  /// The same for a file whose name is made from another's.
  static func checkDerived(_ path: String, _ options: ParsedOptions, store: LocalStore) throws {
    try checkTarget(path, store, mayBeThere: options.has("replace"))
  }

  private static func checkTarget(_ path: String, _ store: LocalStore, mayBeThere: Bool) throws {
    try AtomicFile.checkCanReplace(path)
    // Pins and devices that are kept here are nowhere else.
    if places(path).contains(where: { store.owns($0) }) { throw OutputTaken.inStore(path) }
    if !mayBeThere, isThere(path) { throw OutputTaken.exists(path) }
    // Private halves are never written over: nothing brings them back.
    if beginsWithPrivateHalves(path) { throw FileError.exists(path: path) }
  }

  /// Whether something of that name is there. A link that leads nowhere is: nothing can be made in its place.
  static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Nothing is there that would be replaced.
  /// - Parameter held: options whose files hold the result already.
  static func checkNew(_ options: ParsedOptions, except held: Set<String> = []) throws {
    for name in outputs where !held.contains(name) {
      guard let path = options[name], !mayBeThere(name, path, options), isThere(path) else { continue }
      throw OutputTaken.exists(path)
    }
  }

  /// Whether a file may stand where a result goes. What has not been published yet may be nowhere else; the capsule that
  /// was read is in what replaces it.
  private static func mayBeThere(_ name: String, _ path: String, _ options: ParsedOptions) -> Bool {
    options.has("replace") || name == "into" && isCapsuleThatIsRead(path, options)
  }

  /// Whether what `--into` names is the capsule that was read.
  static func isCapsuleThatIsRead(_ into: String, _ options: ParsedOptions) -> Bool {
    options["capsule"].map { isSameFile($0, into) } ?? false
  }

  /// Whether two paths lead to one file, there already or not, however they are spelt.
  static func isSameFile(_ a: String, _ b: String) -> Bool {
    a == b || !places(a).isDisjoint(with: places(b))
  }

  /// Where a path leads: the name in its folder, and what a link of that name stands for.
  private static func places(_ path: String) -> Set<String> {
    func resolved(_ path: String) -> String? {
      guard let real = realpath(path, nil) else { return nil }
      defer { free(real) }
      return String(cString: real)
    }
    let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    let parts = trimmed.split(separator: "/", omittingEmptySubsequences: false)
    let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."
    var found: Set<String> = [path]
    if let folder = resolved(folder.isEmpty ? "/" : folder) { found.insert("\(folder)/\(parts.last ?? "")") }
    if let whole = resolved(path) { found.insert(whole) }
    return found
  }

  /// Told by how the file begins; nothing secret is read.
  static func beginsWithPrivateHalves(_ path: String) -> Bool {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return false }
    defer { close(file) }
    var head = [UInt8](repeating: 0, count: 16)
    let count = max(0, read(file, &head, head.count))
    return ["{\"signingKey\":", "{\"mlkem768Seed\":", "sealkey device "].contains { start in
      head.prefix(count).starts(with: Array(start.utf8.prefix(head.count)))
    }
  }
}

extension Invocation {
  /// Writes a result. Somebody may have made a file of that name since it was looked for: without `--replace` it stays.
  func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o644) throws(FileError) {
    try AtomicFile.write(bytes, to: path, mode: mode, replacing: options.has("replace"))
  }
}

/// A result may not go there.
enum OutputTaken: NamedError {
  /// A file is there already, and nobody said that it may go.
  case exists(String)
  /// What a store keeps is not written over, whatever a person said.
  case inStore(String)

  var name: String { "fileExists" }
  var kind: FaultKind { .file }
  var message: String {
    switch self {
    case .exists(let path): "\(path) is there already and was not touched."
    case .inStore(let path): "\(path) is where this computer keeps its own, and was not touched."
    }
  }
  var next: String {
    switch self {
    case .exists: "Choose another name, move the old file away, or say --replace."
    case .inStore: "Choose another name, in another folder."
    }
  }
}
