// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

extension AuthenticatorInfo {
  /// Reads a getInfo reply, without its status byte. Order does not matter, integers may be 64 bits wide, unknown
  /// members are kept, and only `versions` and `aaguid` must be there.
  /// - Throws: ``AuthenticatorInfoError``.
  public init(parsing bytes: [UInt8]) throws(AuthenticatorInfoError) {
    let item: CBORItem
    do { item = try CBORDecoder.decodeAll(bytes) } catch { throw .badCBOR(error) }
    guard let entries = item.map else { throw .notAMap }
    guard let versions = item[1]?.texts else { throw .noVersions }
    guard let aaguid = item[3]?.bytes, aaguid.count == 16 else { throw .noAAGUID }
    self.init(versions: versions, aaguid: aaguid, rawBytes: bytes)
    for entry in entries {
      let number = entry.key.int.flatMap { Int(exactly: $0) }
      switch number.map({ read($0, entry.value) }) {
      case .known?: continue
      case .malformed?: malformedMembers += number.map { [$0] } ?? []
      case .unknown?, nil: break
      }
      otherMembers.append(
        OtherMember(key: CBORValue.encode(entry.key.rewritten), value: CBORValue.encode(entry.value.rewritten)))
    }
  }

  private enum Reading { case known, malformed, unknown }

  private mutating func read(_ number: Int, _ value: CBORItem) -> Reading {
    switch number {
    case 0x01, 0x03: .known
    case 0x02: set(\.extensions, value.texts)
    case 0x04: set(\.options, value.named { $0.bool })
    case 0x05: set(\.maxMsgSize, value.size)
    case 0x06: set(\.pinUvAuthProtocols, value.all { $0.size })
    case 0x07: set(\.maxCredentialCountInList, value.size)
    case 0x08: set(\.maxCredentialIdLength, value.size)
    case 0x09: set(\.transports, value.texts)
    case 0x0A: set(\.algorithms, value.all(Algorithm.init(reading:)))
    case 0x0B: set(\.maxSerializedLargeBlobArray, value.size)
    case 0x0C: set(\.forcePINChange, value.bool)
    case 0x0D: set(\.minPINLength, value.size)
    case 0x0E: set(\.firmwareVersion, value.unsigned)
    case 0x0F: set(\.maxCredBlobLength, value.size)
    case 0x10: set(\.maxRPIDsForSetMinPINLength, value.size)
    case 0x11: set(\.preferredPlatformUvAttempts, value.size)
    case 0x12: set(\.uvModality, value.unsigned)
    case 0x13: set(\.certifications, value.named { $0.unsigned })
    case 0x14: set(\.remainingDiscoverableCredentials, value.size)
    case 0x15: set(\.vendorPrototypeConfigCommands, value.all { $0.unsigned })
    case 0x16: set(\.attestationFormats, value.texts)
    case 0x17: set(\.uvCountSinceLastPinEntry, value.size)
    case 0x18: set(\.longTouchForReset, value.bool)
    case 0x19: set(\.encIdentifier, value.bytes)
    case 0x1A: set(\.transportsForReset, value.texts)
    case 0x1B: set(\.pinComplexityPolicy, value.bool)
    case 0x1C: set(\.pinComplexityPolicyURL, value.bytes)
    case 0x1D: set(\.maxPINLength, value.size)
    default: .unknown
    }
  }

  private mutating func set<T>(_ path: WritableKeyPath<Self, T>, _ value: T?) -> Reading {
    guard let value else { return .malformed }
    self[keyPath: path] = value
    return .known
  }

  private mutating func set<T>(_ path: WritableKeyPath<Self, T?>, _ value: T?) -> Reading {
    guard let value else { return .malformed }
    self[keyPath: path] = value
    return .known
  }
}

extension AuthenticatorInfo.Algorithm {
  fileprivate init?(reading item: CBORItem) {
    guard let alg = item["alg"]?.int else { return nil }
    self.init(type: item["type"]?.text ?? "public-key", alg: alg)
  }
}

extension CBORItem {
  /// A count or size: not negative, and small enough to calculate with on any machine.
  fileprivate var size: Int? { unsigned.flatMap { Int32(exactly: $0) }.map(Int.init) }

  fileprivate var texts: [String]? { all { $0.text } }

  /// Every element, or nil when this is no array or one of them is not as wanted.
  fileprivate func all<T>(_ transform: (CBORItem) -> T?) -> [T]? {
    guard let array else { return nil }
    let values = array.compactMap(transform)
    return values.count == array.count ? values : nil
  }

  /// Every member of a map with text keys, or nil when one of them is not as wanted.
  fileprivate func named<T>(_ transform: (CBORItem) -> T?) -> [String: T]? {
    guard let map else { return nil }
    var result: [String: T] = [:]
    for entry in map {
      guard let key = entry.key.text, let value = transform(entry.value) else { return nil }
      result[key] = value
    }
    return result
  }
}
