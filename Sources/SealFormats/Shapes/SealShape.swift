// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// One of Seal's JSON objects: read as Swift's JSONDecoder reads it, written as its JSONEncoder writes it.
///
/// Reading is strict where Swift is lenient in a way that could make one file mean two things: a member that comes
/// twice is refused. Unknown members are passed over, and null is taken for absent. Writing leaves absent members
/// out, pads base64 and escapes slashes.
public protocol SealShape: Sendable {
  /// What it is called in an error: "stored assertion".
  static var shapeName: String { get }
  /// Reads it from parsed JSON.
  init(json: JSONValue) throws(FormatError)
  /// The value to be written.
  var json: JSONValue { get }
}

extension SealShape {
  /// Reads it from the UTF-8 text of one JSON object.
  public init(parsing bytes: [UInt8]) throws(FormatError) {
    try self.init(json: try parseJSON(bytes))
  }

  /// The UTF-8 text, members sorted as Seal sorts its payloads unless another style is asked for.
  public func encoded(_ style: JSONWriter.Style = .sorted) -> [UInt8] { JSONWriter.write(json, style) }
}

/// Reads a list of one shape.
public func parseList<T: SealShape>(_ bytes: [UInt8], of type: T.Type = T.self) throws(FormatError) -> [T] {
  guard let array = try parseJSON(bytes).array else { throw .wrongShape(what: "\(T.shapeName) list", offset: 0) }
  var out: [T] = []
  for element in array { out.append(try T(json: element)) }
  return out
}

/// Parses with the limits for anything that is not a whole capsule.
func parseJSON(_ bytes: [UInt8]) throws(FormatError) -> JSONValue {
  do { return try JSONReader.parse(bytes) } catch { throw .notJSON(error) }
}

/// A date as Swift's JSONEncoder writes it: seconds since 2001-01-01T00:00:00Z, whole or not.
public struct SealDate: Sendable, Hashable {
  /// Seconds between 1970 and 2001, both at midnight UTC.
  public static let secondsFrom1970To2001: Int64 = 978_307_200

  /// Seconds since 2001.
  public var secondsSince2001: Double

  /// A date so many seconds after 2001.
  public init(secondsSince2001: Double) { self.secondsSince2001 = secondsSince2001 }

  /// A date so many whole seconds after 1970.
  public init(epoch: Int64) {
    secondsSince2001 = Double(epoch) - Double(Self.secondsFrom1970To2001)
  }

  /// Whole seconds since 1970, truncated toward zero and clamped to +-1e12 as Seal does.
  public var epoch: Int64 { Self.clamp(secondsSince2001 + Double(Self.secondsFrom1970To2001)) }

  /// Whole seconds, truncated toward zero and clamped to +-1e12: what Seal writes for any time.
  public static func clamp(_ seconds: Double) -> Int64 {
    guard !seconds.isNaN else { return 0 }
    return Int64(min(max(seconds, -1e12), 1e12))
  }

  var json: JSONValue {
    if let whole = Int64(exactly: secondsSince2001) { return .int(whole) }
    return JSONValue(.number("\(secondsSince2001)"))
  }
}
