// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// What an open key has said of itself.
public struct KeyFacts: Sendable {
  /// What to call it.
  public let name: String
  /// `hidraw`, `pcsc`, `udp` or `virtual`.
  public let transport: String
  /// No real key: a virtual one, or anything that imitates one.
  public let isSimulated: Bool
  /// What INIT said.
  public let initReply: InitReply
  /// What getInfo said; nil for a key that speaks only U2F.
  public let info: AuthenticatorInfo?

  /// The facts that go beside an artefact.
  public var evidence: KeyEvidence {
    KeyEvidence(
      isSimulated: isSimulated, name: name, transport: transport, aaguid: info?.aaguid,
      firmwareVersion: info?.firmwareVersion, getInfo: info?.rawBytes)
  }

  /// What the key can do for Seal.
  public var capabilities: KeyCapabilities {
    KeyCapabilities(
      supportsPRF: info?.extensions.contains("hmac-secret") ?? false,
      canVerifyUser: info?.option("clientPin") == true || info?.option("uv") == true,
      // A key that lists no algorithms is a CTAP 2.0 or U2F key, which have ES256 by rule.
      supportsES256: info.map { $0.algorithms.isEmpty || $0.algorithms.contains { $0.alg == -7 } } ?? true,
      isSimulated: isSimulated, name: name)
  }
}

extension AuthenticatorInfo {
  /// Speaks CTAP 2.1 or later: it has authenticatorSelection. `FIDO_2_1_PRE` does not count.
  var speaksCTAP21: Bool {
    versions.contains { version in
      guard version.hasPrefix("FIDO_2_") else { return false }
      return Int(version.dropFirst("FIDO_2_".count)).map { $0 >= 1 } ?? false
    }
  }
}
