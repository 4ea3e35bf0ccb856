// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// Which of many credentials is on the key.
extension SecurityKey {
  /// The first of `ids` that is on the key, asked silently: no touch, no PIN. Nil only when the key has said of each of
  /// them that it is not there; an id longer than the key's own can be is not asked for.
  /// - Throws: ``SecurityKeyError``.
  public func find(_ ids: [CredentialDescriptor], rpID: String) async throws -> CredentialDescriptor? {
    try await act { [self] in
      let session = try connect()
      guard let info = session.facts.info else {
        return try U2F(link: session.link).known(ids, SHA256.hash(Array(rpID.utf8))).map {
          CredentialDescriptor(id: $0)
        }
      }
      let probe = Probe(link: session.link, info: info)
      let planner = ListPlanner(info, wireLimit: session.link.transport.maximumRequestByteCount)
      let size = Probe.baseSize(rpID: rpID)
      let chunks = planner.chunks(planner.candidates(ids, baseSize: size), baseSize: size)
      return try ListSearch(probe: probe, rpID: rpID).first(in: chunks)
    }
  }
}
