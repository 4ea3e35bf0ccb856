// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import WebAuthnCore

/// What the people of an estate are called. Nobody signs the names in a record, so whoever is known on this computer is
/// called as they are here, whatever the record says.
struct PeopleNames {
  private let known: KnownPeople
  private let verified: CapsuleVerification

  /// - Parameter known: everybody who is known here; nobody, and the record's names stand.
  init(_ verified: CapsuleVerification, known: KnownPeople) {
    self.verified = verified
    self.known = known
  }

  private func here(_ hash: String) -> String? {
    known.records[hash]?.displayName ?? known.pins[hash]?.displayName
  }

  /// The name of whoever has this root, as it may be shown.
  func callAsFunction(_ hash: String) -> String { asGiven(hash).printable }

  /// The same as it was given, to be kept.
  func asGiven(_ hash: String) -> String { here(hash) ?? verified.name(of: hash) }

  /// One sentence for each of the record's people whom it calls by another name than this computer.
  var differences: [String] {
    verified.identities.sorted { $0.key < $1.key }.compactMap { hash, identity in
      guard let name = here(hash), name != identity.displayName else { return nil }
      return "The record calls \(name) by another name: \(identity.displayName).".printable
    }
  }
}
