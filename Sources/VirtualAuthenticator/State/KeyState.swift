// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// A user as a relying party names it (WebAuthn level 3 section 5.4.3).
struct StoredUser: Sendable, Hashable {
  var id: [UInt8]
  var name: String?
  var displayName: String?
}

/// The stored part of a discoverable credential; its private key is in its id.
struct StoredCredential: Sendable, Hashable {
  var id: [UInt8]
  var rpId: String
  var rpName: String?
  var user: StoredUser
  var credBlob: [UInt8]?
  /// Grows with each credential made: the order of creation.
  var sequence: UInt64
}

/// An enrolled fingerprint.
struct StoredFingerprint: Sendable, Hashable {
  var id: [UInt8]
  var name: String?
}

/// Everything a key remembers without power.
final class KeyState {
  /// Seals credential ids and derives their other secrets, 32 bytes.
  var secret: SecretBytes
  /// LEFT(SHA-256(PIN), 16); all zero when none is set.
  var pinHash: SecretBytes
  var facts: Facts

  /// The part without secrets.
  struct Facts: Sendable, Hashable {
    var profile: String
    var signatures: UInt32 = 0
    var sequence: UInt64 = 0
    var pinIsSet = false
    var pinCodePoints = 0
    var pinRetries: Int
    var uvRetries: Int
    var minPINLength: Int
    var minPINLengthRPIDs: [String] = []
    var forcePINChange = false
    var alwaysUv: Bool
    var enterpriseAttestation: Bool
    var credentials: [StoredCredential] = []
    var fingerprints: [StoredFingerprint] = []
    var largeBlobs = Self.emptyLargeBlobs

    /// An empty array and its checksum (CTAP 2.1 section 6.10.2).
    static let emptyLargeBlobs: [UInt8] = [0x80] + SHA256.hash([0x80]).prefix(16)
  }

  /// A key fresh from the factory.
  init(factory profile: ModelProfile) {
    secret = SecretBytes.random(count: 32)
    pinHash = SecretBytes([UInt8](repeating: 0, count: 16))
    facts = Facts(
      profile: profile.name, pinRetries: profile.pinRetries, uvRetries: profile.uvRetries,
      minPINLength: profile.info.minPINLength ?? 4, alwaysUv: profile.info.options["alwaysUv"] ?? false,
      enterpriseAttestation: profile.info.options["ep"] ?? false)
    for finger in 0..<max(0, min(profile.enrolledFingerprints, profile.fingerprintCapacity)) {
      facts.fingerprints.append(StoredFingerprint(id: [0, UInt8(truncatingIfNeeded: finger)]))
    }
  }

  init(secret: consuming SecretBytes, pinHash: consuming SecretBytes, facts: Facts) {
    self.secret = secret
    self.pinHash = pinHash
    self.facts = facts
  }
}
