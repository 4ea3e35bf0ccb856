// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A whole record of one estate in one file (FORMATS.md section 4).
public struct Capsule: Sendable {
  /// What its `format` says.
  public static let format = "seal.capsule"
  /// The only version there is.
  public static let version: Int64 = 1
  /// The largest file that is read, in bytes.
  public static let maximumSize = 512 << 20

  /// One event, with the digest that the file states beside it.
  public struct Entry: Sendable, Hashable {
    /// The event.
    public var event: EstateEvent
    /// `digestHex`: redundant, and compared.
    public var statedDigest: [UInt8]
    /// An entry of an event, with its own digest.
    public init(_ event: EstateEvent) {
      self.event = event
      statedDigest = event.digest
    }
    init(_ event: EstateEvent, statedDigest: [UInt8]) {
      self.event = event
      self.statedDigest = statedDigest
    }
  }

  /// The relying party that the taps are for.
  public var relyingPartyID: String
  /// When the file was written, by the writer's clock. Unsigned, and never used for anything.
  public var exportedAtEpoch: Int64
  /// Who wrote it. Unsigned.
  public var exportedBy: String
  /// The estate.
  public var estateID: String
  /// The owner's root hash.
  public var ownerHash: String
  /// Everybody who appears, by the name under which they stand in the file.
  public var identities: [String: CapsuleIdentity]
  /// The record, in the file's order.
  public var entries: [Entry]
  /// Epoch material by the epoch's number as text.
  public var epochBlobs: [String: [UInt8]]
  /// Key tables by ID.
  public var tableBlobs: [String: [UInt8]]
  /// Encrypted content by ID; often none.
  public var contentBlobs: [String: [UInt8]]
  /// What the writer's phone thought of the state. Unsigned, informational.
  public var stateAtExport: String?
  /// Made with virtual keys.
  public var isSimulated: Bool
  /// Members that this version does not know, kept for whoever does.
  public var otherMembers: [JSONValue.Member]

  /// An empty record.
  public init(estateID: String, ownerHash: String, exportedBy: String, exportedAtEpoch: Int64) {
    relyingPartyID = Seal.relyingPartyID
    self.estateID = estateID
    self.ownerHash = ownerHash
    self.exportedBy = exportedBy
    self.exportedAtEpoch = exportedAtEpoch
    identities = [:]
    entries = []
    epochBlobs = [:]
    tableBlobs = [:]
    contentBlobs = [:]
    isSimulated = false
    otherMembers = []
  }

  /// The events.
  public var events: [EstateEvent] { entries.map(\.event) }

  /// Whether `bytes` look like a capsule: for telling a file that is too large to be parsed whole.
  public static func isLikely(_ bytes: [UInt8]) -> Bool {
    // Members may come in any order, so the whole of a large file may have to be looked through.
    let name = Array("\"\(format)\"".utf8)
    return bytes.withUnsafeBufferPointer { buffer in
      guard buffer.count >= name.count else { return false }
      for start in 0...(buffer.count - name.count) where buffer[start] == name[0] {
        if name.indices.allSatisfy({ buffer[start + $0] == name[$0] }) { return true }
      }
      return false
    }
  }
}
