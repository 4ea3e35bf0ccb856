// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// Why bytes are not the Seal data they should be.
public enum FormatError: NamedError, Hashable {
  /// Not JSON, or JSON that could mean two things.
  case notJSON(JSONError)
  /// JSON, but not an object (or, for a list, not an array).
  case wrongShape(what: String, offset: Int)
  /// A member that must be there is absent or null.
  case missingMember(what: String, member: String)
  /// A member does not read as what it must be.
  case badMember(what: String, member: String, reason: String, offset: Int)
  /// The file is none of the kinds this program knows.
  case unknownFormat(String)
  /// The file is of a kind this program knows, in a version it does not.
  case unsupportedVersion(format: String, version: Int64)
  /// The file is of another kind than the one that was asked for.
  case unexpectedKind(found: String, wanted: String)

  public var name: String {
    switch self {
    case .notJSON(let error): error.name
    case .wrongShape: "wrongShape"
    case .missingMember: "missingMember"
    case .badMember: "badMember"
    case .unknownFormat: "unknownFormat"
    case .unsupportedVersion: "unsupportedVersion"
    case .unexpectedKind: "unexpectedKind"
    }
  }

  public var message: String {
    switch self {
    case .notJSON(let error): error.message
    case .wrongShape(let what, _): "The \(what) is not a JSON object or array where it must be one."
    case .missingMember(let what, let member): "The \(what) lacks the member '\(member)'."
    case .badMember(let what, let member, let reason, _): "The \(what)'s member '\(member)' \(reason)."
    case .unknownFormat(let format):
      format.isEmpty
        ? "The file is none of the kinds this program knows." : "The format '\(format)' is not one this program knows."
    case .unsupportedVersion(let format, let version):
      "The file is '\(format)' version \(version), which this program does not know."
    case .unexpectedKind(let found, let wanted): "The file is of kind '\(found)', and '\(wanted)' is needed here."
    }
  }

  public var next: String {
    switch self {
    case .unsupportedVersion: "Use a newer version of this program."
    case .unexpectedKind(_, let wanted): "Give a file of kind '\(wanted)'."
    default: "Get the file again from where it came from."
    }
  }

  public var offset: Int? {
    switch self {
    case .notJSON(let error): error.offset
    case .wrongShape(_, let offset), .badMember(_, _, _, let offset): offset
    default: nil
    }
  }
}
