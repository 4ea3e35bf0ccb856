// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why a commitment could not be built from its fields.
public enum CommitmentError: NamedError, Hashable {
  /// No commitment has this name.
  case unknownCommitment(String)
  /// This commitment has no such field.
  case unknownField(commitment: String, field: String)
  /// The same field was given twice.
  case duplicateField(commitment: String, field: String)
  /// A field that this commitment needs was not given.
  case missingField(commitment: String, field: String)
  /// A field does not read as what it must be, or has a wrong length.
  case badField(commitment: String, field: String, reason: String)

  public var name: String {
    switch self {
    case .unknownCommitment: "unknownCommitment"
    case .unknownField: "unknownField"
    case .duplicateField: "duplicateField"
    case .missingField: "missingField"
    case .badField: "badField"
    }
  }

  public var message: String {
    switch self {
    case .unknownCommitment(let name): "There is no commitment named \(name)."
    case .unknownField(let commitment, let field): "\(commitment) has no field \(field)."
    case .duplicateField(let commitment, let field): "\(commitment): the field \(field) is given twice."
    case .missingField(let commitment, let field): "\(commitment) needs the field \(field)."
    case .badField(let commitment, let field, let reason): "\(commitment): the field \(field) \(reason)."
    }
  }

  public var next: String {
    switch self {
    case .unknownCommitment:
      "Use one of: " + CommitmentForm.all.map(\.name).joined(separator: ", ") + "."
    case .unknownField(let commitment, _), .duplicateField(let commitment, _), .missingField(let commitment, _),
      .badField(let commitment, _, _):
      "Its fields are: "
        + (CommitmentForm.named(commitment)?.fields.map(\.usage).joined(separator: ", ") ?? "unknown") + "."
    }
  }

  public var kind: FaultKind { .usage }
}
