// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import TestSupport

/// The Python that has the independent client, and how to run a script with it.
enum Python {
  static let missing = """
    python3 with the packages fido2 and cryptography is needed for the independent client: \
    run `make test`, which prepares one, or set SEALKEY_PYTHON to one.
    """

  static let executable = getenv("SEALKEY_PYTHON").map { String(cString: $0) } ?? "python3"

  /// Whether the client can be imported.
  static let works: Bool = (try? run(arguments: ["-c", "import fido2.ctap2, cryptography"]))?.status == 0

  /// False means: skip. Never in continuous integration, where a missing client is a failure.
  static var isUsable: Bool { works || getenv("CI") != nil }

  private static let scripts: String = {
    var parts = #filePath.split(separator: "/")
    parts.removeLast(2)
    return "/" + parts.joined(separator: "/") + "/Integration/python/"
  }()

  /// Runs a script of Tests/Integration/python and collects what it says on both streams.
  static func run(_ script: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    try run(arguments: ["-B", scripts + script] + arguments)
  }

  private static func run(arguments: [String]) throws -> (status: Int32, output: String) {
    let result = try Program.run(executable, arguments)
    return (result.code, result.out + result.err)
  }
}
