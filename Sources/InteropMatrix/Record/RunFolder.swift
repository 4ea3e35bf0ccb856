// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies

/// A folder of records: `matrix/runs`, or `matrix/practice`.
public struct RunFolder: Sendable {
  /// Where it is.
  public let path: String
  /// A folder; it need not be there.
  public init(_ path: String) { self.path = path }

  /// The records in it, in the order of their names. A folder that is not there has none.
  /// - Throws: ``RunFolderError`` naming the file that cannot be used.
  public func runs() throws(RunFolderError) -> [MatrixSheet.Run] {
    let folder = FolderNames(of: path)
    if let odd = folder.odd.first(where: { $0.hasSuffix(".json") }) {
      throw RunFolderError(file: path, below: FileError.nameNotUTF8(shown: odd))
    }
    var runs: [MatrixSheet.Run] = []
    // A run that is not finished has a name with a dot in front.
    for name in folder.names where name.hasSuffix(".json") && !name.hasPrefix(".") {
      runs.append(.init(file: name, record: try Self.read("\(path)/\(name)")))
    }
    return runs
  }

  /// One record.
  /// - Throws: ``RunFolderError``.
  public static func read(_ path: String) throws(RunFolderError) -> RunRecord {
    do {
      return try RunRecord(parsing: AtomicFile.read(path, limit: RunRecord.maximumSize))
    } catch let error
      as any NamedError
    {
      throw RunFolderError(file: path, below: error)
    } catch { throw RunFolderError(file: path, below: FileError.notFound(path: path)) }
  }

  /// Keeps a run: under its own name when it is finished, else where ``begun(_:)`` finds it.
  /// - Returns: the file.
  /// - Throws: ``FileError``.
  @discardableResult
  public func keep(_ record: RunRecord, _ key: RunRecord.KeyDescription) throws(FileError) -> String {
    try make()
    let waiting = begunPath(key)
    guard record.finishedAt != nil else {
      try AtomicFile.write(record.encoded(), to: waiting)
      return waiting
    }
    let file = "\(path)/\(record.fileName)"
    try AtomicFile.write(record.encoded(), to: file)
    unlink(waiting)
    return file
  }

  /// The run that was begun with such a key and not finished.
  public func begun(_ key: RunRecord.KeyDescription) -> RunRecord? {
    guard let bytes = try? AtomicFile.read(begunPath(key), limit: RunRecord.maximumSize) else {
      return nil
    }
    return try? RunRecord(parsing: bytes)
  }

  private func begunPath(_ key: RunRecord.KeyDescription) -> String {
    let name = String(
      String.UnicodeScalarView(
        key.name.lowercased().unicodeScalars.prefix(48).map { scalar in
          ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) ? scalar : "_"
        }))
    return "\(path)/.unfinished-\(name)-\(key.transport).json"
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

/// A file among the records that cannot be used.
public struct RunFolderError: NamedError {
  /// The file.
  public let file: String
  /// What is wrong with it.
  public let below: any NamedError

  public var name: String { below.name }
  public var message: String { "\(file): \(below.message)" }
  public var next: String { below.next }
  public var offset: Int? { below.offset }
  public var kind: FaultKind { below.kind }
}
