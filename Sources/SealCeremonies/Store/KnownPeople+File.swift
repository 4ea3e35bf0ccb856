// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealFormats
import WebAuthnCore

/// The people as a file.
extension KnownPeople {
  /// The file's text. `includingPins` is false for what is handed to somebody else.
  public func encoded(includingPins: Bool = true) -> [UInt8] {
    let json: JSONValue = .object([
      ("format", .string(Self.format)), ("version", .int(LocalStore.version)),
      ("simulated", records.values.contains(where: \.isSimulated) ? .bool(true) : nil),
      ("records", .array(records.values.sorted { $0.rootHash < $1.rootHash }.map(\.json))),
      (
        "pins",
        includingPins
          ? .array(
            pins.values.sorted { $0.rootHash < $1.rootHash }.map {
              .object([
                ("rootHash", .string($0.rootHash)), ("publicKeyHex", .hex($0.publicKey)),
                ("displayName", .string($0.displayName)), ("origin", .string($0.origin.rawValue)),
                ("pinnedAtEpoch", .int($0.pinnedAt)),
              ])
            }) : nil
      ),
    ])
    return JSONWriter.write(json, .readable) + [0x0a]
  }

  /// Reads the file.
  /// - Throws: ``StoreError``: `damaged`, `newerVersion`.
  public init(parsing bytes: [UInt8], path: String) throws(StoreError) {
    let json: JSONValue
    do {
      json = try JSONReader.parse(bytes, limits: .init(maximumDepth: 32, maximumByteCount: 256 << 20))
    } catch { throw .damaged(path: path, reason: error.message) }
    guard json["format"]?.string == Self.format else {
      throw .damaged(path: path, reason: "It is another kind of file.")
    }
    guard let version = json["version"]?.int else { throw .damaged(path: path, reason: "It has no version.") }
    guard version == LocalStore.version else { throw .newerVersion(path: path, version: version) }
    for element in json["records"]?.array ?? [] {
      let record: DirectoryRecord
      do { record = try DirectoryRecord(json: element) } catch { throw .damaged(path: path, reason: error.message) }
      records[record.rootHash] = record
    }
    for element in json["pins"]?.array ?? [] {
      guard let hash = element["rootHash"]?.string,
        let key = element["publicKeyHex"]?.string.flatMap({ Hex.decode($0) }),
        key.count == 64, let name = element["displayName"]?.string,
        let origin = element["origin"]?.string.flatMap({ Pin.Origin(rawValue: $0) }),
        let time = element["pinnedAtEpoch"]?.int
      else { throw .damaged(path: path, reason: "A pin in it does not read.") }
      pins[hash] = Pin(rootHash: hash, publicKey: key, displayName: name, origin: origin, pinnedAt: time)
    }
  }
}

extension LocalStore {
  /// Who is known. No lock is needed.
  /// - Throws: ``StoreError``, ``FileError``.
  public func people() throws -> KnownPeople {
    do {
      return try KnownPeople(parsing: AtomicFile.read(directoryPath, limit: 256 << 20), path: directoryPath)
    } catch FileError.notFound { return KnownPeople() }
  }

  /// Changes who is known: all of the change or nothing.
  /// - Throws: ``StoreError``, ``FileError``, or what `change` throws.
  @discardableResult
  public func updatePeople<R: Sendable>(_ change: (inout KnownPeople) throws -> R) async throws -> R {
    try await locked {
      var people = try people()
      let before = people.encoded()
      let result = try change(&people)
      let after = people.encoded()
      if after != before { try AtomicFile.write(after, to: directoryPath, mode: 0o600) }
      return result
    }
  }
}
