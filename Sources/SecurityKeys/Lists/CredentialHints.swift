// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// Which key it was, as far as a key can be told from others before it is asked: where it is plugged in (its serial
/// number, when it has one) and its model.
public struct KeyMark: Hashable, Sendable {
  /// The endpoint's id.
  public let place: String
  /// The AAGUID, 16 bytes; nil for a U2F key.
  public let aaguid: [UInt8]?

  /// Both at once.
  public init(place: String, aaguid: [UInt8]?) {
    self.place = place
    self.aaguid = aaguid
  }
}

/// Remembers which credential answered on which key, so that the next time a long list is one command.
///
/// A hint is never more than that: a wrong one costs one command, and then the list is searched.
public protocol CredentialHints: Sendable {
  /// The credential of `rpID` that answered last on `key`.
  func lastCredential(of rpID: String, on key: KeyMark) -> [UInt8]?
  /// `credentialID` has answered on `key`; nil when the one that was remembered is not there any more.
  func remember(_ credentialID: [UInt8]?, of rpID: String, on key: KeyMark)
}

/// Hints that are kept in memory.
public final class MemoryHints: CredentialHints {
  private struct Place: Hashable {
    let rpID: String
    let key: KeyMark
  }
  private let known = Locked<[Place: [UInt8]]>([:])

  /// None yet.
  public init() {}

  public func lastCredential(of rpID: String, on key: KeyMark) -> [UInt8]? {
    known.withLock { $0[Place(rpID: rpID, key: key)] }
  }

  public func remember(_ credentialID: [UInt8]?, of rpID: String, on key: KeyMark) {
    known.withLock { $0[Place(rpID: rpID, key: key)] = credentialID }
  }
}
