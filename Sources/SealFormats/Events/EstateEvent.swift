// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// One signed entry of an estate's record.
public struct EstateEvent: SealShape, Hashable {
  public static let shapeName = "estate event"

  /// What the device signature covers.
  public var terms: EventTerms
  /// The device's signature over the digest, DER.
  public var signature: [UInt8]
  /// An RFC 3161 TimeStampResp. Outside the digest: it may be added later.
  public var timestampToken: [UInt8]?

  /// All members at once.
  public init(terms: EventTerms, signature: [UInt8], timestampToken: [UInt8]? = nil) {
    self.terms = terms
    self.signature = signature
    self.timestampToken = timestampToken
  }

  /// What sets it apart from another entry that somebody wrote under the same UUID; empty for the first of them.
  private var rivalMark = ""

  /// The event's own UUID. Of several entries under one, all but the first have more behind it, so that none hides another.
  public var id: String { terms.id + rivalMark }

  /// The entry as one that is not the first under its UUID.
  public var asRival: EstateEvent {
    var event = self
    event.rivalMark = "#\(Hex.encode(digest))"
    return event
  }

  /// The kind, when it is one that is known.
  public var kind: EventKind? { EventKind(rawValue: terms.kind) }
  /// Its place in the log: by time as written, then by ID as text.
  public var logPosition: LogPosition { LogPosition(occurredAtEpoch: terms.occurredAtEpoch, id: id) }
  /// The 32 bytes that the device signs and that later events link to, computed from the fields as they are.
  public var digest: [UInt8] { terms.digestAsFound }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    terms = EventTerms(
      id: try m.string("id"), estateID: try m.string("estateID"), kind: try m.string("kind"),
      actorHash: try m.string("actorHash"), actorDevicePublicKey: try m.base64("actorDevicePublicKey"),
      occurredAtEpoch: try m.int("occurredAtEpoch"), previousDigest: try m.base64("previousDigest"),
      payload: try m.base64("payload"))
    signature = try m.base64("signature")
    timestampToken = try m.ifPresent("timestampToken") { name throws(FormatError) in try m.base64(name) }
  }

  public var json: JSONValue {
    .object([
      ("id", .string(terms.id)), ("estateID", .string(terms.estateID)), ("kind", .string(terms.kind)),
      ("actorHash", .string(terms.actorHash)), ("actorDevicePublicKey", .base64(terms.actorDevicePublicKey)),
      ("occurredAtEpoch", .int(terms.occurredAtEpoch)), ("previousDigest", .base64(terms.previousDigest)),
      ("payload", .base64(terms.payload)), ("signature", .base64(signature)),
      ("timestampToken", timestampToken.map { .base64($0) }),
    ])
  }

  /// The capsule's own form, with the digest beside it.
  public var capsuleJSON: JSONValue {
    .object([
      ("actorDevicePublicKeyHex", .hex(terms.actorDevicePublicKey)), ("actorHash", .string(terms.actorHash)),
      ("digestHex", .hex(digest)), ("estateID", .string(terms.estateID)), ("id", .string(terms.id)),
      ("kind", .string(terms.kind)), ("occurredAtEpoch", .int(terms.occurredAtEpoch)),
      ("payloadBase64", .base64(terms.payload)), ("previousDigestHex", .hex(terms.previousDigest)),
      ("signatureHex", .hex(signature)), ("timestampTokenBase64", timestampToken.map { .base64($0) }),
    ])
  }

  /// Whether the device that it names signed it. ECDSA hashes the 32-byte digest once more: the digest is the message.
  public var hasValidSignature: Bool {
    guard let key = try? P256.Signing.PublicKey(x963Representation: terms.actorDevicePublicKey) else { return false }
    return key.isValidSignature(signature, for: digest)
  }
}

/// Where an event stands in the log: by `occurredAtEpoch`, then by ID as UTF-8 text.
public struct LogPosition: Sendable, Hashable, Comparable {
  /// Seconds since 1970 as the event states them.
  public let occurredAtEpoch: Int64
  /// The event's ID.
  public let id: String

  /// The position of an event of this time and ID.
  public init(occurredAtEpoch: Int64, id: String) {
    self.occurredAtEpoch = occurredAtEpoch
    self.id = id
  }

  public static func < (a: LogPosition, b: LogPosition) -> Bool {
    a.occurredAtEpoch == b.occurredAtEpoch
      ? a.id.utf8.lexicographicallyPrecedes(b.id.utf8) : a.occurredAtEpoch < b.occurredAtEpoch
  }
}

extension EventTerms {
  /// Signs the event with a device key.
  ///
  /// - Throws: ``CommitmentError`` when a field has a wrong length; what `sign` throws otherwise.
  public func signed(_ sign: ([UInt8]) throws -> [UInt8]) throws -> EstateEvent {
    let digest = try Statement.estateEvent(self).commitment().digest
    return EstateEvent(terms: self, signature: try sign(digest))
  }
}
