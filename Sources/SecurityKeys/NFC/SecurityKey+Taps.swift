// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// One ceremony for each tap, where the card wants it so (QUIRKS Q71).
extension SecurityKey {
  /// Runs `attempt`; when the card wants to be lifted and laid on again for it, asks for that and runs it once more.
  func tapping<R>(_ session: Session, _ attempt: () throws -> R) throws -> R {
    do { return try attempt() } catch let error as SecurityKeyError where session.link.wantsNewTap(after: error) {
      try renew(session)
      return try attempt()
    }
  }

  /// Asks for the new tap before anything else, of a card that is known to want one.
  func freshTap(_ session: Session) throws(SecurityKeyError) {
    guard let card = session.link.card, card.needsTapForEach, (card.card?.ceremonies ?? 0) > 0 else { return }
    try renew(session)
  }

  /// Asks for a new tap. What was proven of the key before says nothing of the one that lies there now.
  func renew(_ session: Session) throws(SecurityKeyError) {
    try session.link.renew()
    provenHere = []
    wasLaidOnAgain = true
  }
}

/// What shows that a key which was laid on again is the one that was lifted off: a credential that it made.
struct SameKey {
  let rpID: String
  let credentials: [CredentialDescriptor]

  /// Whether the key knows the credential, asked silently. A key that gives no answer is not proven to be it.
  /// - Throws: `anotherKey` where the key says no; else only what ends the whole act.
  func isProven(by probe: Probe) throws(SecurityKeyError) -> Bool {
    // One is enough, and a long list is not worth the time: the person types the PIN again then. A key that is always to
    // verify the person says no of its own.
    guard credentials.count == 1, !probe.info.isAlwaysVerifying else { return false }
    do throws(SecurityKeyError) {
      guard try probe.knows(credentials, rpID: rpID) != nil else { throw .transport(.card(.anotherKey)) }
      return true
    } catch {
      guard case .transport = error else { return false }
      throw error
    }
  }
}
