// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// The client data of a ceremony (WebAuthn level 3 section 5.8.1).
///
/// The bytes that were hashed are what counts: they are kept as they came and never written again.
public struct ClientData: Sendable {
  /// The two kinds of ceremony, as `type` spells them.
  public enum CeremonyType: String, Sendable, Hashable {
    /// Registration.
    case create = "webauthn.create"
    /// Assertion.
    case get = "webauthn.get"
  }

  /// The exact bytes.
  public let json: [UInt8]
  /// The member `type`, exactly.
  public let type: String
  /// The member `challenge`, exactly: base64url of the challenge.
  public let challenge: String
  /// The member `origin`; nil when absent, which Seal never minds.
  public let origin: String?
  /// The member `crossOrigin`.
  public let crossOrigin: Bool?
  /// The member `topOrigin`.
  public let topOrigin: String?

  /// SHA-256 of the bytes, 32 bytes: clientDataHash.
  public var hash: [UInt8] { SHA256.hash(json) }

  /// Writes client data in the order and form of section 5.8.1.1, which limited verifiers rely on.
  public init(type: CeremonyType, challenge: [UInt8], origin: String, crossOrigin: Bool = false) {
    let text = Base64.encode(challenge, .url)
    json =
      Array("{\"type\":".utf8) + Self.quoted(type.rawValue) + Array(",\"challenge\":".utf8) + Self.quoted(text)
      + Array(",\"origin\":".utf8) + Self.quoted(origin) + Array(",\"crossOrigin\":\(crossOrigin)}".utf8)
    self.type = type.rawValue
    self.challenge = text
    self.origin = origin
    self.crossOrigin = crossOrigin
    topOrigin = nil
  }

  /// The section's CCDToString: quotes and backslashes escaped, controls as four lowercase digits, the rest plain.
  private static func quoted(_ text: String) -> [UInt8] {
    var out = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
      case 0..<0x20: out += "\\u00\(Hex.encode([byte]))".utf8
      default: out.append(byte)
      }
    }
    out.append(UInt8(ascii: "\""))
    return out
  }

  /// Reads client data, at most 64 KiB and eight levels deep. Unknown members are ignored, members twice refused.
  /// - Throws: ``ClientDataError``.
  public init(parsing json: [UInt8]) throws(ClientDataError) {
    let value: JSONValue
    do {
      value = try JSONReader.parse(json, limits: .init(maximumDepth: 8, maximumByteCount: 1 << 16))
    } catch {
      throw .notJSON(error)
    }
    guard value.object != nil else { throw .notAnObject }
    func text(_ name: String) throws(ClientDataError) -> String? {
      guard let member = value[name], !member.isNull else { return nil }
      guard let string = member.string else { throw .wrongType(member: name, offset: member.range.lowerBound) }
      return string
    }
    guard let type = try text("type") else { throw .missing(member: "type") }
    guard let challenge = try text("challenge") else { throw .missing(member: "challenge") }
    self.json = json
    self.type = type
    self.challenge = challenge
    origin = try text("origin")
    topOrigin = try text("topOrigin")
    if let member = value["crossOrigin"], !member.isNull {
      guard let flag = member.bool else {
        throw .wrongType(member: "crossOrigin", offset: member.range.lowerBound)
      }
      crossOrigin = flag
    } else {
      crossOrigin = nil
    }
  }
}

/// Why bytes are not client data.
public enum ClientDataError: NamedError, Hashable {
  /// Not JSON, or not JSON that means one thing only.
  case notJSON(JSONError)
  /// JSON, but not an object.
  case notAnObject
  /// A member that must be there is not.
  case missing(member: String)
  /// A member is of the wrong type.
  case wrongType(member: String, offset: Int)

  public var name: String {
    switch self {
    case .notJSON(let error): error.name
    case .notAnObject: "clientDataNotAnObject"
    case .missing(let member): "clientDataMissing(\(member))"
    case .wrongType(let member, _): "clientDataWrongType(\(member))"
    }
  }

  public var message: String {
    switch self {
    case .notJSON(let error): "The client data cannot be read. \(error.message)"
    case .notAnObject: "The client data is not a JSON object."
    case .missing(let member): "The client data lacks the member '\(member)'."
    case .wrongType(let member, _): "The client data's member '\(member)' is of the wrong type."
    }
  }

  public var next: String { "Make the registration or the tap again; this answer cannot be used." }

  public var offset: Int? {
    switch self {
    case .notJSON(let error): error.offset
    case .wrongType(_, let offset): offset
    default: nil
    }
  }
}
