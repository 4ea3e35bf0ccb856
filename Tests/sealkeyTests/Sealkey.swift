// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Runs of the built program, and what it left behind.
enum Sealkey {
  struct Run {
    let code: Int32
    let json: JSONValue
    let err: String
    /// The name of the error, when it was one.
    var error: String? { json["error"]?["name"]?.string }
  }

  /// Runs a verb with `--json`; `pin` goes to descriptor 7.
  static func run(_ arguments: [String], pin: String? = nil) throws -> Run {
    let all = arguments + ["--json"] + (pin == nil ? [] : ["--pin-fd", "7"])
    let result = try Program.run(
      Program.sealkey, all, input: pin.map { Array("\($0)\n".utf8) }, inputDescriptor: pin == nil ? 0 : 7)
    let json = try JSONReader.parse(Array(result.out.utf8))
    return Run(code: result.code, json: json, err: result.err)
  }

  /// The names of the bad checks of a file.
  static func failures(_ run: Run) throws -> [String] {
    try #require(run.json["checks"]?.array).filter { $0["outcome"]?.string == "bad" }.compactMap { $0["name"]?.string }
  }

  /// A file's text.
  static func text(_ path: String) throws -> String { try Program.run("cat", [path]).out }

  /// Puts text into a file.
  static func put(_ text: String, _ path: String) throws { _ = try Program.run("tee", [path], input: Array(text.utf8)) }

  /// Permissions in octal.
  static func mode(_ path: String) throws -> String {
    String(try Program.run("stat", ["-c", "%a", path]).out.prefix { $0 != "\n" })
  }

  /// Whether a file is there.
  static func exists(_ path: String) throws -> Bool { try Program.run("test", ["-e", path]).code == 0 }
}
