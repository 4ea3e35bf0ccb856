// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Cases of the shared corpus, read with the package's own reader.
enum CorpusCases {
  /// The elements of the array at `path`, or none when the file is absent.
  static func list(_ file: String, _ path: String) -> [Case] {
    guard let bytes = try? Corpus.read(file), let top = try? JSONReader.parse(bytes) else { return [] }
    return (top[path]?.array ?? []).map(Case.init)
  }

  /// One case.
  struct Case: Sendable, CustomTestStringConvertible {
    let value: JSONValue
    var testDescription: String { (value["name"] ?? value["note"] ?? value["id"])?.string ?? "case" }

    subscript(name: String) -> Case? { value[name].map(Case.init) }
    /// A member that must be text.
    func text(_ name: String) throws -> String { try #require(value[name]?.string, "\(name)") }
    /// A member that must be hexadecimal.
    func hex(_ name: String) throws -> [UInt8] { try #require(Hex.decode(try text(name)), "\(name)") }
    /// A member that must be base64url.
    func url(_ name: String) throws -> [UInt8] { try #require(Base64.decode(try text(name), .url), "\(name)") }
    /// A member that must be an integer.
    func int(_ name: String) throws -> Int { Int(try #require(value[name]?.int, "\(name)")) }
  }
}

extension JSONValue {
  /// The array's elements as cases.
  var cases: [CorpusCases.Case] { (array ?? []).map(CorpusCases.Case.init) }
}
