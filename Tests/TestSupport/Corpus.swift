// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import FoundationEssentials
import Glibc

/// Test data that lives beside the package: `$SEALKEY_CORPUS`, else `../shared/corpus` from the package root.
public enum Corpus {
  /// Where it is.
  public static let directory: String = {
    if let set = getenv("SEALKEY_CORPUS") { return String(cString: set) }
    // This file is Tests/TestSupport/Corpus.swift of the package.
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/\(root)/../shared/corpus"
  }()

  /// Whether the file can be read: for `.enabled(if:)`.
  public static func has(_ name: String) -> Bool { access("\(directory)/\(name)", R_OK) == 0 }

  /// What a skipped test says.
  public static let absent: String = "no corpus at \(directory); set SEALKEY_CORPUS to its folder"

  /// The file's bytes.
  public static func read(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: "\(directory)/\(name)")))
  }

  /// The file as a Decodable value.
  public static func decode<T: Decodable>(_ name: String, as type: T.Type = T.self) throws -> T {
    try JSONDecoder().decode(type, from: Data(try read(name)))
  }
}
