// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import WebAuthnCore

/// A folder of records: `matrix/runs`, or `matrix/practice`.
public struct RunFolder: Sendable {
  /// Where it is.
  public let path: String
  /// A folder; it need not be there.
  public init(_ path: String) { self.path = path }

  /// The records in it, in the order of their names. A folder that is not there has none.
  /// - Throws: ``FaultInFile`` naming the file that cannot be used.
  public func runs() throws(FaultInFile) -> [MatrixSheet.Run] {
    let (runs, damaged) = readable()
    if let first = damaged.first { throw first }
    return runs
  }

  /// The records that can be read, in the order of their names, and for each other file why not.
  public func readable() -> (runs: [MatrixSheet.Run], damaged: [FaultInFile]) {
    let folder = FolderNames(of: path)
    var damaged = folder.odd.filter { $0.hasSuffix(".json") }.map {
      FaultInFile(path: path, below: FileError.nameNotUTF8(shown: $0))
    }
    var runs: [MatrixSheet.Run] = []
    // A run that is not finished has a name with a dot in front.
    for name in folder.names where name.hasSuffix(".json") && !name.hasPrefix(".") {
      do throws(FaultInFile) {
        runs.append(.init(file: name, record: try Self.read("\(path)/\(name)")))
      } catch { damaged.append(error) }
    }
    return (runs, damaged)
  }

  /// One record.
  /// - Throws: ``FaultInFile``.
  public static func read(_ path: String) throws(FaultInFile) -> RunRecord {
    do {
      return try RunRecord(parsing: AtomicFile.read(path, limit: RunRecord.maximumSize))
    } catch let error
      as any NamedError
    {
      throw FaultInFile(path: path, below: error)
    } catch { throw FaultInFile(path: path, below: FileError.notFound(path: path)) }
  }

  /// Keeps a run: under its own name when it is finished, else where ``begun(_:)`` finds it. Runs that other keys of the
  /// model began stay as they are.
  /// - Returns: the file.
  /// - Throws: ``FileError``.
  @discardableResult
  public func keep(_ record: RunRecord, _ key: RunRecord.KeyDescription) throws(FileError) -> String {
    try make()
    let begun = "\(path)/\(Self.stem(key))-\(Hex.encode(record.nonce.prefix(8))).json"
    let file = record.finishedAt == nil ? begun : "\(path)/\(record.fileName)"
    try AtomicFile.write(record.encoded(), to: file)
    if file != begun { unlink(begun) }
    // Where older versions kept this very run.
    let older = "\(path)/\(Self.stem(key)).json"
    if (try? Self.read(older))?.nonce == record.nonce { unlink(older) }
    return file
  }

  /// A run that was begun and not finished.
  public struct Begun: Sendable {
    /// The file that it is kept in.
    public let file: String
    /// What was done.
    public let record: RunRecord
  }

  /// The runs that were begun with such keys and not finished, in the order of their names, and for each file of that name
  /// that is none why not. Which of several is a key's, only the key can tell.
  public func begun(_ key: RunRecord.KeyDescription) -> (runs: [Begun], damaged: [FaultInFile]) {
    var runs: [Begun] = []
    var damaged: [FaultInFile] = []
    for name in FolderNames(of: path).names.sorted() where Self.isBegun(name, key) {
      let file = "\(path)/\(name)"
      do throws(FaultInFile) { runs.append(Begun(file: file, record: try Self.read(file))) } catch {
        damaged.append(error)
      }
    }
    return (runs, damaged)
  }

  /// Gives a damaged file another name, under which nothing looks for it and nothing is written.
  /// - Returns: the new name; nil when it could not be given.
  public static func setAside(_ file: String) -> String? {
    for number in 1...99 {
      let other = file + (number == 1 ? ".damaged" : ".damaged-\(number)")
      if link(file, other) == 0 {
        unlink(file)
        return other
      }
      guard errno == EEXIST else { return nil }
    }
    return nil
  }

  private static func isBegun(_ name: String, _ key: RunRecord.KeyDescription) -> Bool {
    guard name.hasPrefix(stem(key)), name.hasSuffix(".json") else { return false }
    let rest = name.dropFirst(stem(key).count).dropLast(5)
    // Older versions kept one for each model, and no digits in the name.
    return rest.isEmpty || rest.count == 17 && rest.first == "-" && rest.dropFirst().allSatisfy(\.isHexDigit)
  }

  private static func stem(_ key: RunRecord.KeyDescription) -> String {
    let name = String(
      String.UnicodeScalarView(
        key.name.lowercased().unicodeScalars.prefix(48).map { scalar in
          ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) ? scalar : "_"
        }))
    return ".unfinished-\(name)-\(key.transport)"
  }

  private func make() throws(FileError) {
    var made = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: false) {
      made +=
        made.isEmpty && part.isEmpty ? "/" : (made.isEmpty || made.hasSuffix("/") ? "" : "/") + part
      if made == "/" || made.isEmpty { continue }
      if mkdir(made, 0o755) != 0, errno != EEXIST { throw .unwritable(path: path, errno: errno) }
    }
  }
}
