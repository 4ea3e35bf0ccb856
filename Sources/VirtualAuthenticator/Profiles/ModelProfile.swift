// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// What a virtual key pretends to be: its getInfo, its limits, its departures from the standard.
public struct ModelProfile: Sendable {
  /// How a new credential is attested.
  public enum Attestation: Sendable, Hashable {
    /// `packed` with a certificate under the virtual root.
    case basic
    /// `packed`, signed by the credential itself.
    case selfSigned
    /// `none`.
    case none
    /// A format no standard knows, with a statement of its own.
    case unknown(format: String)
    /// D8: `none`, with a statement all the same.
    case filledNone
    /// D9: `packed` with a certificate that no reader takes.
    case brokenCertificate
  }

  /// What signature counters do.
  public enum Counter: Sendable, Hashable {
    /// One for the whole key, plus one for each signature.
    case global
    /// Always zero, as keys without a counter say.
    case zero
    /// D10: one less each time.
    case falling
  }

  /// A short name, for the command line.
  public var name: String
  /// What getInfo says of a key fresh from the factory. An option that is present is supported; its value, the
  /// versions and the remaining capacity follow the key's state.
  public var info: AuthenticatorInfo
  /// False for a key that knows U2F only.
  public var speaksCTAP2 = true
  /// How many discoverable credentials fit.
  public var discoverableCapacity = 50
  /// How many fingerprints fit.
  public var fingerprintCapacity = 5
  /// Fingerprints that were enrolled by other means before the key has a PIN, as some keys do on their own.
  public var enrolledFingerprints = 0
  /// Samples that enrol a fingerprint.
  public var fingerprintSamples = 3
  /// Credential ids are padded to this many bytes; 0 for as short as they are.
  public var credentialIdLength = 0
  /// Wrong PINs until the PIN is blocked, 8 at most (CTAP 2.1 section 6.5.2.2).
  public var pinRetries = 8
  /// Failed built-in verifications until it is blocked (section 6.5.2.2).
  public var uvRetries = 5
  /// How new credentials are attested.
  public var attestation = Attestation.basic
  /// What the signature counter does.
  public var counter = Counter.global
  /// The status when nobody touches during makeCredential or getAssertion; nil for the standard's 0x27.
  public var touchTimeoutStatus: CTAPStatus?
  /// Bytes in a USB report.
  public var reportSize = CTAPHIDFraming.usualReportSize
  /// getInfo lists its members and options in a wrong order.
  public var shufflesInfo = false
  /// Answered to getInfo whatever the state: for recorded replies and malformed ones.
  public var rawInfo: [UInt8]?
  /// Departures from the standard.
  public var quirks: Set<Quirk> = []

  /// A profile of a name and a getInfo.
  public init(name: String, info: AuthenticatorInfo) {
    self.name = name
    self.info = info
  }

  /// Whether U2F commands are understood.
  public var speaksU2F: Bool { !speaksCTAP2 || info.versions.contains("U2F_V2") }
  /// Whether CTAP 2.1's rules hold: token permissions, flags that a touch clears.
  public var followsCTAP21: Bool { info.option("pinUvAuthToken") == true }
  /// Whether an option is supported, whatever its value.
  public func supports(_ option: String) -> Bool { info.options[option] != nil }
  /// Whether the extension is offered.
  public func offers(_ ext: String) -> Bool { info.extensions.contains(ext) }
}
