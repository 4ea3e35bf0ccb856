// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// Another program, run to its end.
public enum Program {
  /// What it left behind.
  public struct Result: Sendable {
    /// Its exit code; 128 and the signal when a signal ended it.
    public let code: Int32
    /// What it wrote to stdout.
    public let out: String
    /// What it wrote to stderr.
    public let err: String
  }

  /// Runs a program with its arguments, and with `input` on file descriptor `inputDescriptor`.
  public static func run(
    _ path: String, _ arguments: [String], input: [UInt8]? = nil, inputDescriptor: Int32 = 0
  ) throws -> Result {
    let files = try (0..<2).map { _ in try TemporaryFile() }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, files[0].descriptor, 1)
    posix_spawn_file_actions_adddup2(&actions, files[1].descriptor, 2)
    var source: TemporaryFile?
    if let input {
      let file = try TemporaryFile()
      file.fill(input)
      posix_spawn_file_actions_adddup2(&actions, file.descriptor, inputDescriptor)
      source = file
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    // A pool's threads block every signal, and a child would inherit that: a debugger would never hear of its own.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var nothing = sigset_t()
    sigemptyset(&nothing)
    posix_spawnattr_setsigmask(&attributes, &nothing)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var process = pid_t()
    let failed = posix_spawnp(&process, path, &actions, &attributes, &words, environ)
    guard failed == 0 else { throw ProgramError(what: "\(path): \(String(cString: strerror(failed)))") }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    _ = source
    let code = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    let out = files[0].text
    if path == sealkey { KeptOutput.keep(arguments, code, out) }
    return Result(code: code, out: out, err: files[1].text)
  }

  /// The built `sealkey` beside the test bundle.
  public static let sealkey: String = {
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
    return bundle[..<(bundle.lastIndex(of: "/") ?? bundle.startIndex)] + "/sealkey"
  }()

  /// The Python with the independent client, when there is one; in CI there must be.
  public static let python: String? = getenv("SEALKEY_PYTHON").map { String(cString: $0) }
  /// Whether this is continuous integration, where nothing may be skipped for want of a program.
  public static let isCI = getenv("CI") != nil
}

/// How much of a long table is run.
public enum Extent {
  /// All of it: in ci-full. Otherwise a sample.
  public static let isFull = getenv("SEALKEY_FULL") != nil
}

/// A program could not be run.
public struct ProgramError: Error, CustomStringConvertible {
  let what: String
  public var description: String { what }
}

private final class TemporaryFile {
  let descriptor: Int32

  init() throws {
    var template = Array("/tmp/sealkey-test-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    if descriptor < 0 { throw ProgramError(what: "mkstemp") }
    unlink(template)
  }

  deinit { close(descriptor) }

  func fill(_ bytes: [UInt8]) {
    _ = write(descriptor, bytes, bytes.count)
    lseek(descriptor, 0, SEEK_SET)
  }

  var text: String {
    lseek(descriptor, 0, SEEK_SET)
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count <= 0 { break }
      all += buffer.prefix(count)
    }
    return String(decoding: all, as: UTF8.self)
  }
}

/// A folder that is gone when the value is.
public final class TemporaryFolder: Sendable {
  /// Its path.
  public let path: String

  /// Makes one.
  public init() throws {
    var template = Array("/tmp/sealkey-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw ProgramError(what: "mkdtemp") }
    path = String(cString: made)
  }

  deinit { _ = try? Program.run("rm", ["-rf", path]) }
}
