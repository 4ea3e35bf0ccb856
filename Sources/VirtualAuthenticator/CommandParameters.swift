// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// The map of a command, strictly read: canonical CBOR, at most four levels deep (CTAP 2.1 section 8).
struct CommandParameters {
  private let input: [UInt8]
  let map: CBORItem

  private static let profile: CBORDecoder.Profile = {
    var profile = CBORDecoder.Profile.ctap
    profile.maximumDepth = 4
    profile.requiresUTF8 = true
    return profile
  }()

  /// - Throws: INVALID_CBOR, CBOR_UNEXPECTED_TYPE when it is no map, MISSING_PARAMETER when there is nothing.
  init(_ request: [UInt8]) throws(CTAPStatus) {
    input = Array(request.dropFirst())
    guard !input.isEmpty else { throw .missingParameter }
    let item: CBORItem
    do { item = try CBORDecoder.decodeAll(input, profile: Self.profile) } catch { throw .invalidCBOR }
    guard item.map != nil else { throw .cborUnexpectedType }
    guard CBORValue.encode(item.rewritten) == input else { throw .invalidCBOR }
    map = item
  }

  /// The bytes of a member as they came.
  func raw(_ item: CBORItem) -> [UInt8] { Array(input[item.range]) }

  func bytes(_ key: Int64) throws(CTAPStatus) -> [UInt8]? { try map.optional(key) { $0.bytes } }
  func text(_ key: Int64) throws(CTAPStatus) -> String? { try map.optional(key) { $0.text } }
  func bool(_ key: Int64) throws(CTAPStatus) -> Bool? { try map.optional(key) { $0.bool } }
  func member(_ key: Int64) throws(CTAPStatus) -> CBORItem? { try map.optional(key) { $0.map == nil ? nil : $0 } }

  /// A number that fits Int32; a larger one is out of every range.
  func number(_ key: Int64) throws(CTAPStatus) -> Int? { try map.number(key) }
}

extension CBORItem {
  /// A member of a map, or nil when absent.
  /// - Throws: CBOR_UNEXPECTED_TYPE when it is of another type.
  func optional<T>(_ key: Int64, _ get: (CBORItem) -> T?) throws(CTAPStatus) -> T? {
    guard let item = self[key] else { return nil }
    guard let value = get(item) else { throw .cborUnexpectedType }
    return value
  }

  /// As ``optional(_:_:)-(Int64,_)``, for a text key.
  func optional<T>(_ key: String, _ get: (CBORItem) -> T?) throws(CTAPStatus) -> T? {
    guard let item = self[key] else { return nil }
    guard let value = get(item) else { throw .cborUnexpectedType }
    return value
  }

  /// A number, or nil when absent.
  /// - Throws: CBOR_UNEXPECTED_TYPE when it is of another type, INVALID_PARAMETER when it is beyond any range.
  func number(_ key: Int64) throws(CTAPStatus) -> Int? {
    guard let item = self[key] else { return nil }
    switch item.value {
    case .unsigned, .negative:
      guard let n = item.int.flatMap({ Int32(exactly: $0) }) else { throw .invalidParameter }
      return Int(n)
    default: throw .cborUnexpectedType
    }
  }
}

extension Optional {
  /// - Throws: MISSING_PARAMETER when nil.
  func needed() throws(CTAPStatus) -> Wrapped {
    guard let self else { throw CTAPStatus.missingParameter }
    return self
  }
}
