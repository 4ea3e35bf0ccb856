// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What a key says about itself: the reply to getInfo as a full value (CTAP 2.1 section 6.4, with the members that
/// CTAP 2.2 added).
///
/// Members that this library does not know, and known ones with a value of the wrong type, are kept in
/// ``otherMembers`` as CBOR, so nothing a key says is lost.
public struct AuthenticatorInfo: Sendable, Hashable {
  /// One entry of `algorithms`. Numbers that no standard names yet are kept.
  public struct Algorithm: Sendable, Hashable {
    /// The credential type, always `public-key` so far.
    public var type: String
    /// The COSE algorithm: -7 is ES256, -8 EdDSA.
    public var alg: Int64

    /// Both members.
    public init(type: String = "public-key", alg: Int64) {
      self.type = type
      self.alg = alg
    }
  }

  /// A member kept as it came.
  public struct OtherMember: Sendable, Hashable {
    /// The key, one CBOR item, canonical.
    public var key: [UInt8]
    /// The value, one CBOR item, canonical.
    public var value: [UInt8]

    /// The key as a number, when it is one.
    public var number: Int64? { (try? CBORDecoder.decodeAll(key))?.int }

    /// Both parts, each one encoded CBOR item.
    public init(key: [UInt8], value: [UInt8]) {
      self.key = key
      self.value = value
    }
  }

  /// 0x01: `U2F_V2`, `FIDO_2_0`, `FIDO_2_1_PRE`, `FIDO_2_1`, `FIDO_2_2`, ...
  public var versions: [String]
  /// 0x02: extension identifiers.
  public var extensions: [String] = []
  /// 0x03: the model, 16 bytes.
  public var aaguid: [UInt8]
  /// 0x04: options that are present, by name. Absent is not the same as false: see ``option(_:)``.
  public var options: [String: Bool] = [:]
  /// 0x05: the longest request, in bytes. See ``effectiveMaxMsgSize``.
  public var maxMsgSize: Int?
  /// 0x06: PIN/UV auth protocols, the preferred one first.
  public var pinUvAuthProtocols: [Int] = []
  /// 0x07: the most credentials in one allow or exclude list.
  public var maxCredentialCountInList: Int?
  /// 0x08: the longest credential id, in bytes.
  public var maxCredentialIdLength: Int?
  /// 0x09: `usb`, `nfc`, `ble`, `internal`, ...
  public var transports: [String] = []
  /// 0x0A: signature algorithms, the preferred one first.
  public var algorithms: [Algorithm] = []
  /// 0x0B: room for the large blob array, in bytes.
  public var maxSerializedLargeBlobArray: Int?
  /// 0x0C: the PIN must be changed before it can be used.
  public var forcePINChange: Bool?
  /// 0x0D: the shortest PIN, in Unicode code points.
  public var minPINLength: Int?
  /// 0x0E: the firmware version, a number of the maker's own.
  public var firmwareVersion: UInt64?
  /// 0x0F: the longest credBlob, in bytes.
  public var maxCredBlobLength: Int?
  /// 0x10: how many rpIds setMinPINLength takes.
  public var maxRPIDsForSetMinPINLength: Int?
  /// 0x11: how often to try built-in verification before the PIN.
  public var preferredPlatformUvAttempts: Int?
  /// 0x12: kinds of built-in verification, a bit field of the FIDO registry.
  public var uvModality: UInt64?
  /// 0x13: certifications, by name, with their level.
  public var certifications: [String: UInt64] = [:]
  /// 0x14: an estimate of how many more discoverable credentials fit.
  public var remainingDiscoverableCredentials: Int?
  /// 0x15: vendor subcommands of authenticatorConfig, when the member is present.
  public var vendorPrototypeConfigCommands: [UInt64]?
  /// 0x16: attestation formats, the preferred one first.
  public var attestationFormats: [String] = []
  /// 0x17: built-in verifications since the PIN was last entered.
  public var uvCountSinceLastPinEntry: Int?
  /// 0x18: a reset needs a touch of 10 s.
  public var longTouchForReset: Bool?
  /// 0x19: the device identifier, encrypted.
  public var encIdentifier: [UInt8]?
  /// 0x1A: transports over which a reset is possible.
  public var transportsForReset: [String] = []
  /// 0x1B: the key enforces a PIN policy beyond the length.
  public var pinComplexityPolicy: Bool?
  /// 0x1C: where that policy is described, UTF-8 bytes of a URL.
  public var pinComplexityPolicyURL: [UInt8]?
  /// 0x1D: the longest PIN, in Unicode code points.
  public var maxPINLength: Int?
  /// Everything else, in the order of the reply.
  public var otherMembers: [OtherMember] = []
  /// The numbers of known members whose value had the wrong type or was out of range; they are in
  /// ``otherMembers``.
  public var malformedMembers: [Int] = []
  /// The CBOR this was read from, without the status byte; empty for a value made here.
  public private(set) var rawBytes: [UInt8] = []

  /// A value to be written, with the two members every key must have.
  public init(versions: [String], aaguid: [UInt8]) {
    self.versions = versions
    self.aaguid = aaguid
  }

  init(versions: [String], aaguid: [UInt8], rawBytes: [UInt8]) {
    self.init(versions: versions, aaguid: aaguid)
    self.rawBytes = rawBytes
  }

  /// The option, or its default when absent: `up` is then true, every other one nil (CTAP 2.1 section 6.4).
  public func option(_ name: String) -> Bool? { options[name] ?? (name == "up" ? true : nil) }

  /// The longest request, in bytes: 1024 when the key does not say, never more than the wire carries (7609 over
  /// HID with 64-byte reports).
  public var effectiveMaxMsgSize: Int { min(maxMsgSize ?? 1024, CTAPHIDFraming.maximumPayload()) }

  /// Speaks CTAP2 in any version.
  public var speaksCTAP2: Bool { versions.contains { $0.hasPrefix("FIDO_2_") } }
}

/// Why bytes are not a reply to getInfo.
public enum AuthenticatorInfoError: NamedError, Hashable {
  /// Not CBOR.
  case badCBOR(CBORError)
  /// CBOR, but not a map.
  case notAMap
  /// `versions` (0x01) is missing or not a list of texts.
  case noVersions
  /// `aaguid` (0x03) is missing or not 16 bytes.
  case noAAGUID

  public var name: String {
    switch self {
    case .badCBOR(let error): "infoBadCBOR.\(error.name)"
    case .notAMap: "infoNotAMap"
    case .noVersions: "infoNoVersions"
    case .noAAGUID: "infoNoAAGUID"
    }
  }

  public var message: String {
    switch self {
    case .badCBOR(let error): "The key's description of itself cannot be read. \(error.message)"
    case .notAMap: "The key's description of itself is not a CBOR map."
    case .noVersions: "The key does not say which versions it speaks."
    case .noAAGUID: "The key does not say which model it is."
    }
  }

  public var next: String {
    "Unplug the key, plug it in again and repeat; if it stays, report it with the key's model."
  }

  public var offset: Int? { if case .badCBOR(let error) = self { error.offset } else { nil } }

  public var kind: FaultKind { .key }
}

extension AuthenticatorInfo {
  /// What names the model and its state, without what a key says differently each time it is asked: identifiers that it
  /// encrypts anew, counts, and members that nobody knows here.
  public var identity: [UInt8] {
    var kept = self
    kept.otherMembers = []
    kept.encIdentifier = nil
    kept.remainingDiscoverableCredentials = nil
    kept.uvCountSinceLastPinEntry = nil
    return kept.encoded()
  }
}
