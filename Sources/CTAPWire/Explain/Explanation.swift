// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What some bytes are and what each part of them means.
public struct Explanation: Sendable {
  /// One field.
  public struct Field: Sendable {
    /// Where it begins in the input; nil when it has no place of its own.
    public let offset: Int?
    /// Its length in bytes.
    public let length: Int?
    /// The field's name in the standard.
    public let name: String
    /// Its value, as text.
    public let value: String
    /// What it means, in plain words; empty when the name says it.
    public let meaning: String
  }

  /// What the bytes are, for example `attestation object`.
  public let kind: String
  /// Every field, in the order of the bytes.
  public private(set) var fields: [Field] = []
  /// The P-256 public key inside as Seal reads it, x and y, 64 bytes.
  public var publicKey: [UInt8]?
  /// What is wrong with it, when something is.
  public var fault: (any NamedError)?

  init(_ kind: String) { self.kind = kind }

  mutating func add(_ name: String, _ value: String, at range: Range<Int>? = nil, _ meaning: String = "") {
    fields.append(
      Field(offset: range?.lowerBound, length: range?.count, name: name, value: value, meaning: meaning))
  }

  /// `{"kind","fields":[{"offset","length","name","value","meaning"}],"publicKeyHex","error"}`, the error as everywhere.
  public var json: JSONValue {
    .object([
      ("kind", .string(kind)),
      (
        "fields",
        .array(
          fields.map {
            .object([
              ("offset", $0.offset.map { .int($0) }), ("length", $0.length.map { .int($0) }),
              ("name", .string($0.name)), ("value", .string($0.value)), ("meaning", .string($0.meaning)),
            ])
          })
      ),
      ("publicKeyHex", publicKey.map { .hex($0) }), ("error", fault.map(\.json)),
    ])
  }
}
