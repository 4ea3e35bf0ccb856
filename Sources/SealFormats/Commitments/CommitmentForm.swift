// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// How one commitment is written by hand: its name, its fields, and who signs it.
public struct CommitmentForm: Sendable {
  /// The name without the leading `seal.`.
  public let name: String
  /// Its fields, in the order they are hashed.
  public let fields: [CommitmentField]
  /// Whose key signs it.
  public let signer: Signer
  /// False for what old builds signed: it is still read, and never made.
  public let isCurrent: Bool
  /// What the signature says, in one sentence.
  public let meaning: String
  let build: @Sendable (inout FieldReader) throws(CommitmentError) -> Statement

  /// Whose key signs a commitment, and how.
  public enum Signer: String, Sendable {
    /// A root credential, as a WebAuthn challenge.
    case root
    /// A root or a live backup credential, as a WebAuthn challenge.
    case rootOrBackup
    /// The backup credential itself, as a WebAuthn challenge.
    case backup
    /// A device key, over the 32-byte digest as a message.
    case device
    /// A receiver's root as a challenge, and a giver's device key directly.
    case rootAndDevice
    /// The founder's key, in the messenger days.
    case founder
    /// Nobody: it is hashed only.
    case nobody
  }

  /// The form of that name; a leading `seal.` is allowed.
  public static func named(_ name: String) -> CommitmentForm? {
    let bare = name.hasPrefix("seal.") ? String(name.dropFirst(5)) : name
    return all.first { $0.name == bare }
  }

  /// Reads the fields from text: hexadecimal for bytes, decimal for numbers.
  ///
  /// - Throws: ``CommitmentError``: `unknownField`, `duplicateField`, `missingField` or `badField`.
  public func statement(from given: [(name: String, value: String)]) throws(CommitmentError) -> Statement {
    var reader = FieldReader(form: self)
    for (field, value) in given { try reader.take(field, value) }
    return try build(&reader)
  }

  /// Reads the fields from text and builds the commitment.
  ///
  /// - Throws: ``CommitmentError``; `unknownCommitment` when there is no such form.
  public static func commitment(
    named name: String, fields: [(name: String, value: String)]
  ) throws(CommitmentError) -> Commitment {
    guard let form = named(name) else { throw .unknownCommitment(name) }
    return try form.statement(from: fields).commitment()
  }
}

/// One field of a commitment as a person gives it.
public struct CommitmentField: Sendable {
  /// The field's name.
  public let name: String
  /// What it reads as, for a help text: `hex`, `number`, `text`.
  public let type: String
  /// Whether it may be left out.
  public let isOptional: Bool

  /// `name=TYPE`, in brackets when it may be left out.
  public var usage: String { isOptional ? "[\(name)=\(type)]" : "\(name)=\(type)" }

  static func hex(_ name: String, optional: Bool = false) -> Self {
    Self(name: name, type: "HEX", isOptional: optional)
  }
  static func text(_ name: String) -> Self { Self(name: name, type: "TEXT", isOptional: false) }
  static func hash(_ name: String) -> Self { Self(name: name, type: "HASH", isOptional: false) }
  static func number(_ name: String, optional: Bool = false) -> Self {
    Self(name: name, type: "NUMBER", isOptional: optional)
  }
}

/// Fields given as text, read by their type.
struct FieldReader {
  private let form: CommitmentForm
  private var values: [String: String] = [:]

  init(form: CommitmentForm) { self.form = form }

  mutating func take(_ given: String, _ value: String) throws(CommitmentError) {
    // Text that no shell could carry may be given as the hexadecimal of its UTF-8.
    let suffix = "_utf8_hex"
    let isHexText = given.hasSuffix(suffix)
    let name = isHexText ? String(given.dropLast(suffix.count)) : given
    guard let field = form.fields.first(where: { $0.name == name }), !isHexText || field.type == "TEXT" else {
      throw .unknownField(commitment: form.name, field: given)
    }
    guard values[name] == nil else { throw .duplicateField(commitment: form.name, field: name) }
    if isHexText {
      guard let bytes = Hex.decode(value), let text = String(validating: bytes, as: UTF8.self) else {
        throw fail(given, "is not the hexadecimal of UTF-8 text")
      }
      values[name] = text
    } else {
      values[name] = value
    }
  }

  func fail(_ field: String, _ reason: String) -> CommitmentError {
    .badField(commitment: form.name, field: field, reason: reason)
  }

  func text(_ name: String) throws(CommitmentError) -> String {
    guard let value = values[name] else { throw .missingField(commitment: form.name, field: name) }
    return value
  }

  func bytes(_ name: String) throws(CommitmentError) -> [UInt8] {
    guard let bytes = Hex.decode(try text(name)) else { throw fail(name, "is not hexadecimal") }
    return bytes
  }

  /// Nil when it was left out or is empty.
  func optionalBytes(_ name: String) throws(CommitmentError) -> [UInt8]? {
    guard let value = values[name], !value.isEmpty else { return nil }
    return try bytes(name)
  }

  func unsigned(_ name: String) throws(CommitmentError) -> UInt64 {
    let value = try text(name)
    // The decimal that is hashed must be the one that was given.
    guard let number = UInt64(value), String(number) == value else {
      throw fail(name, "is not a whole number from 0 to 18446744073709551615")
    }
    return number
  }

  func seconds(_ name: String) throws(CommitmentError) -> Int64 {
    let value = try text(name)
    guard let number = Int64(value), String(number) == value else {
      throw fail(name, "is not a whole number of seconds")
    }
    return number
  }

  func optionalNumber(_ name: String) throws(CommitmentError) -> Int64? {
    guard let value = values[name], !value.isEmpty, value != "-" else { return nil }
    return try seconds(name)
  }
}
