// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

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

  struct CannotRun: Error { let errno: Int32 }

  private static func run(arguments: [String]) throws -> (status: Int32, output: String) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw CannotRun(errno: errno)
    }
    defer { close(ends[0]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
    var argv: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
    defer { for p in argv { free(p) } }
    var pid = pid_t()
    let failure = posix_spawnp(&pid, executable, &actions, nil, &argv, environ)
    close(ends[1])
    guard failure == 0 else { throw CannotRun(errno: failure) }
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(ends[0], &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      output += buffer[..<count]
    }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return (status & 0x7F == 0 ? (status >> 8) & 0xFF : -1, String(decoding: output, as: UTF8.self))
  }
}
