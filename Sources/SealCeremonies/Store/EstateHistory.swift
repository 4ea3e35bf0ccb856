// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealFormats
import WebAuthnCore

/// All that this computer has ever seen of one estate: every entry that was admitted, with the time it was first here.
/// It only grows.
public struct EstateHistory: Sendable {
  static let format = "sealkey.estate"

  /// The estate.
  public let estateID: String
  /// Its owner.
  public let ownerHash: String
  /// The owner's root key, 64 bytes: a history is of one key, so a forged record under the same names has another.
  public let ownerKey: [UInt8]
  /// The entries, in the order in which they came.
  public private(set) var events: [EstateEvent] = []
  /// When each was first seen here, in seconds since 1970, by the entry's ID.
  public private(set) var firstSeen: [String: Int64] = [:]
  /// Entries of this computer's that a virtual key touched for, by ID: the mark must outlive the file that had it.
  public private(set) var simulated: Set<String> = []

  /// A history without entries.
  public init(estateID: String, ownerHash: String, ownerKey: [UInt8]) {
    self.estateID = estateID
    self.ownerHash = ownerHash
    self.ownerKey = ownerKey
  }

  /// Adds entries that were admitted. One that is here stays as it is, but for a token: one that is verified takes the
  /// place of another. What differs under an ID that is taken is an entry of its own.
  ///
  /// - Parameters:
  ///   - admitted: with no tokens but those that were verified.
  ///   - time: when they were first seen; nil takes each at its own time, for what this computer wrote.
  ///   - trustsClock: whether the record shows nothing that speaks against `time`. Otherwise, and for an entry that is
  ///     dated later than that, the first sight stays open until it is read by a better clock: a sight too early would take
  ///     the owner's days of warning away.
  ///   - isSimulated: a virtual key touched for what is new.
  /// - Returns: whether anything was new.
  @discardableResult
  public mutating func add(
    _ admitted: [EstateEvent], seenAt time: Int64?, trustsClock: Bool = true, isSimulated: Bool = false
  ) -> Bool {
    var places: [String: [Int]] = [:]
    for (place, event) in events.enumerated() { places[event.terms.id, default: []].append(place) }
    var isChanged = false
    for event in admitted {
      let place = places[event.terms.id]?.first { events[$0].terms == event.terms }
      let sight = Self.sight(of: event, at: time, trustsClock)
      if let place {
        if let token = event.timestampToken, token != events[place].timestampToken {
          events[place].timestampToken = token
          isChanged = true
        }
        if firstSeen[events[place].id] == nil, let sight {
          firstSeen[events[place].id] = sight
          isChanged = true
        }
        continue
      }
      let kept = places[event.terms.id] == nil ? event : event.asRival
      places[event.terms.id, default: []].append(events.count)
      events.append(kept)
      firstSeen[kept.id] = sight
      if isSimulated { simulated.insert(kept.id) }
      isChanged = true
    }
    return isChanged
  }

  /// Seconds by which two honest clocks may differ.
  static let clockTolerance: Int64 = 300

  private static func sight(of event: EstateEvent, at time: Int64?, _ trustsClock: Bool) -> Int64? {
    guard let time else { return event.terms.occurredAtEpoch }
    return trustsClock && event.terms.occurredAtEpoch <= time + clockTolerance ? time : nil
  }

  // MARK: As a file: one line for the estate, one for each entry, one that says how many there are

  func encoded() -> [UInt8] {
    var out = Self.line([
      ("format", .string(Self.format)), ("version", .int(LocalStore.version)), ("estateID", .string(estateID)),
      ("ownerHash", .string(ownerHash)), ("ownerKeyHex", .hex(ownerKey)),
    ])
    for event in events {
      out += Self.line([
        ("firstSeenAtEpoch", firstSeen[event.id].map { .int($0) }), ("event", event.json),
        ("simulated", simulated.contains(event.id) ? .bool(true) : nil),
      ])
    }
    return out + Self.line([("events", .int(events.count))])
  }

  private static func line(_ members: [(String, JSONValue?)]) -> [UInt8] {
    JSONWriter.write(.object(members), .init(escapesSlashes: false)) + [0x0a]
  }

  /// - Throws: ``StoreError``: `damaged`, `newerVersion`.
  init(parsing bytes: [UInt8], path: String) throws(StoreError) {
    var lines = bytes.split(separator: 0x0a, omittingEmptySubsequences: false)[...]
    func fail(_ reason: String) -> StoreError { .damaged(path: path, reason: reason) }
    func parse(_ line: ArraySlice<UInt8>) throws(StoreError) -> JSONValue {
      // What was written is read again, however long an entry in it is.
      var limits = JSONReader.Limits.standard
      limits.maximumByteCount = max(limits.maximumByteCount, line.count)
      do { return try JSONReader.parse(Array(line), limits: limits) } catch { throw fail(error.message) }
    }
    guard let first = lines.popFirst(), lines.popLast()?.isEmpty == true, let last = lines.popLast() else {
      throw fail("It ends too early.")
    }
    let head = try parse(first)
    guard head["format"]?.string == Self.format, let version = head["version"]?.int else {
      throw fail("It is another kind of file.")
    }
    guard version == LocalStore.version else { throw .newerVersion(path: path, version: version) }
    guard let estateID = head["estateID"]?.string, let ownerHash = head["ownerHash"]?.string,
      let key = head["ownerKeyHex"]?.string.flatMap({ Hex.decode($0) }), key.count == 64
    else { throw fail("Its first line does not read.") }
    self.init(estateID: estateID, ownerHash: ownerHash, ownerKey: key)
    var taken = Set<String>()
    for line in lines {
      let json = try parse(line)
      let seen = json["firstSeenAtEpoch"]
      guard let inner = json["event"], seen == nil || seen?.int != nil else {
        throw fail("A line in it does not read.")
      }
      var event: EstateEvent
      do { event = try EstateEvent(json: inner) } catch { throw fail(error.message) }
      if !taken.insert(event.terms.id).inserted {
        event = event.asRival
        guard taken.insert(event.id).inserted, !events.contains(where: { $0.terms == event.terms }) else {
          throw fail("It holds an entry twice.")
        }
      }
      firstSeen[event.id] = seen?.int
      if json["simulated"]?.bool == true { simulated.insert(event.id) }
      events.append(event)
    }
    guard try parse(last)["events"]?.int == Int64(events.count) else { throw fail("It does not hold all its entries.") }
  }
}

extension LocalStore {
  /// Room for a few hundred thousand entries.
  static let historyLimit = 1 << 30

  func historyPath(estateID: String, ownerHash: String, ownerKey: [UInt8]) -> String {
    // Framed, so that no two estates can share a name.
    var input: [UInt8] = []
    for part in [Array(estateID.utf8), Array(ownerHash.utf8), ownerKey] {
      input += withUnsafeBytes(of: UInt32(truncatingIfNeeded: part.count).bigEndian) { Array($0) } + part
    }
    return "\(estatesPath)/\(Hex.encode(SHA256.hash(input))).jsonl"
  }

  /// What was seen of an estate; nil when this computer meets it for the first time. No lock is needed.
  /// - Throws: ``StoreError``, ``FileError``.
  public func history(estateID: String, ownerHash: String, ownerKey: [UInt8]) throws -> EstateHistory? {
    let file = historyPath(estateID: estateID, ownerHash: ownerHash, ownerKey: ownerKey)
    do {
      let history = try EstateHistory(parsing: AtomicFile.read(file, limit: Self.historyLimit), path: file)
      guard history.estateID.utf8.elementsEqual(estateID.utf8), history.ownerHash == ownerHash,
        history.ownerKey == ownerKey
      else { throw StoreError.damaged(path: file, reason: "It is of another estate than its name says.") }
      return history
    } catch FileError.notFound { return nil }
  }

  /// Adds entries to what was seen of an estate: all of them or none.
  /// - Throws: ``StoreError``, ``FileError``.
  public func remember(
    _ admitted: [EstateEvent], estateID: String, ownerHash: String, ownerKey: [UInt8], seenAt time: Int64?,
    trustsClock: Bool = true
  ) async throws {
    try await locked { try add(admitted, estateID, ownerHash, ownerKey, time, trustsClock: trustsClock) }
  }

  /// The same, for whoever holds the lock.
  func add(
    _ admitted: [EstateEvent], _ estateID: String, _ ownerHash: String, _ ownerKey: [UInt8], _ time: Int64?,
    trustsClock: Bool = true, isSimulated: Bool = false
  ) throws {
    try Self.makeFolder(estatesPath)
    var history =
      try history(estateID: estateID, ownerHash: ownerHash, ownerKey: ownerKey)
      ?? EstateHistory(estateID: estateID, ownerHash: ownerHash, ownerKey: ownerKey)
    guard history.add(admitted, seenAt: time, trustsClock: trustsClock, isSimulated: isSimulated) else { return }
    let file = historyPath(estateID: estateID, ownerHash: ownerHash, ownerKey: ownerKey)
    try AtomicFile.write(history.encoded(), to: file, mode: 0o600)
  }

  /// Every estate of which something was seen.
  /// - Throws: ``StoreError``, ``FileError``.
  public func histories() throws -> [EstateHistory] {
    try Self.names(in: estatesPath).filter { $0.hasSuffix(".jsonl") }.map {
      let file = "\(estatesPath)/\($0)"
      return try EstateHistory(parsing: AtomicFile.read(file, limit: Self.historyLimit), path: file)
    }
  }
}
