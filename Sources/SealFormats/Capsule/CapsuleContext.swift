// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What is known besides the file, when a capsule is verified.
public struct CapsuleContext: Sendable {
  /// Now, in seconds since 1970.
  public var now: Int64
  /// Take for bad what Seal takes for a note: missing links, tokens that nobody here trusts, odd rules.
  public var isStrict: Bool
  /// Root keys pinned here, 64 bytes, by root hash.
  public var pins: [String: [UInt8]]
  /// The person said whom they trust, so the owner must be one of the pinned: an estate of anybody else's is bad.
  public var demandsPinnedOwner = false
  /// Directory records known here, by root hash: their backups and revocations count.
  public var directory: [String: DirectoryRecord]
  /// Events of this estate that were admitted here before. They stay, and a capsule that lacks one is reported.
  public var known: [EstateEvent]
  /// Certificates of timestamp authorities, by the SHA-256 of their DER.
  public var timestampPins: Set<[UInt8]>

  /// Nothing is known but the time.
  public init(
    now: Int64, isStrict: Bool = false, pins: [String: [UInt8]] = [:], directory: [String: DirectoryRecord] = [:],
    known: [EstateEvent] = [], timestampPins: Set<[UInt8]> = TimestampToken.defaultPins
  ) {
    self.now = now
    self.isStrict = isStrict
    self.pins = pins
    self.directory = directory
    self.known = known
    self.timestampPins = timestampPins
  }
}

/// What a verified capsule says.
public struct CapsuleVerification: Sendable {
  /// One line for each check.
  public var report: VerificationReport
  /// The estate.
  public let estateID: String
  /// The owner.
  public let ownerHash: String
  /// Everybody whose root key is usable, with their verified devices.
  public let identities: [String: VerifiedIdentity]
  /// The events that count, in log order: of the capsule, and of what was known before.
  public let admitted: [EstateEvent]
  /// genTime of each verified, pinned token, by event ID.
  public let tokenTimes: [String: Int64]
  /// Claims that carry a verified, pinned token, by event ID: only these may be taken at their stated time.
  public var provenClaims: Set<String> {
    Set(admitted.filter { $0.kind == .releaseClaimed && tokenTimes[$0.id] != nil }.map(\.id))
  }
  /// Events known before that the capsule lacks.
  public let missing: [EstateEvent]
  /// The owner's newest statement.
  public let statement: EpochPublishedPayload?
  /// Its material, when it is there and is what the owner signed.
  public let material: EpochMaterial?

  /// Digest of the newest admitted event by time as written and ID: what a tap signs. Empty for no event.
  public var recordHead: [UInt8] { admitted.last?.digest ?? [] }

  /// The owner's name.
  public func name(of rootHash: String) -> String {
    identities[rootHash].map(\.displayName) ?? String(rootHash.prefix(8))
  }

  /// The time that an entry states: its token's, when that was verified, else the one its writer gave it. Seconds since
  /// 1970.
  public func statedTime(of position: LogPosition) -> Int64 { tokenTimes[position.id] ?? position.occurredAtEpoch }

  /// What the release rules look at.
  ///
  /// - Parameter firstSeen: when this device first had each event, by ID; an event that is absent is not clamped.
  public func entries(firstSeen: [String: Int64] = [:]) -> [RecordEntry] {
    admitted.map { RecordEntry($0, tokenTime: tokenTimes[$0.id], firstSeen: firstSeen[$0.id]) }
  }

  /// The newest event of the owner's, by the time that it states: anything later is invisible here.
  public var newestOwnerEvent: EstateEvent? {
    admitted.filter { $0.kind?.isOwnerKind ?? false }.max {
      (statedTime(of: $0.logPosition), $0.logPosition) < (statedTime(of: $1.logPosition), $1.logPosition)
    }
  }
}
