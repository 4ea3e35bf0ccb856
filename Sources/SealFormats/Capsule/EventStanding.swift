// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// Whether a copy of an event is what its writer signed. Anybody can put any text under an ID that is in use: of several
/// copies, one that stands by itself wins over one that does not, whichever came first.
struct EventStanding {
  private let identities: [String: VerifiedIdentity]
  private let estateID: String
  private let ownerHash: String
  /// Everybody whom the owner ever named as a key holder.
  private var holders: Set<String> = []

  /// - Parameter events: every copy there is: what the owner signed among them says who is a key holder.
  init(identities: [String: VerifiedIdentity], estateID: String, ownerHash: String, events: [EstateEvent]) {
    self.identities = identities
    self.estateID = estateID
    self.ownerHash = ownerHash
    for event in events where event.kind == .epochPublished && stands(event) {
      if let body = try? EpochPublishedPayload(parsing: event.terms.payload) { holders.formUnion(body.custodianHashes) }
    }
  }

  /// Signed by a live device of whoever it names, in this estate, of a kind that they may write, and with a good tap
  /// where there must be one.
  func stands(_ event: EstateEvent) -> Bool {
    guard let kind = event.kind, kind.isOwnerKind == (event.terms.actorHash == ownerHash),
      sameText(event.terms.estateID, estateID)
    else { return false }
    guard kind.isOwnerKind || holders.contains(event.terms.actorHash) else { return false }
    // The token is no part of the copy: it can be added to any.
    var bare = event
    bare.timestampToken = nil
    let facts = EventFacts(
      bare, actor: identities[event.terms.actorHash], pins: [], relyingPartyID: Seal.relyingPartyID)
    guard facts.isSigned, facts.isEndorsed else { return false }
    return kind != .authorization || (facts.payloadError == nil && facts.tap?.isEmpty ?? false)
  }
}

extension EstateEvent {
  /// The same fields and the same signature; a token may differ.
  public func isSameCopy(as other: EstateEvent) -> Bool { terms == other.terms && signature == other.signature }
}
