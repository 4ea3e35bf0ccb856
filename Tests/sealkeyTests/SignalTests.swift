// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc
import TestSupport
import Testing
import VirtualAuthenticator

/// Ctrl-C and SIGTERM, at any moment of a touch wait.
@Suite("Signals", .serialized, .programs)
struct SignalTests {
  @Test("the key hears CANCEL, the program ends with 130, and the key answers the next command")
  func atAnyMoment() async throws {
    var random = SeededGenerator(seed: 130)
    // The key waits as long as the slowest computer needs to send the signal.
    var timing = KeyTiming()
    timing.touchTimeout = 3_600_000
    let virtual = try VirtualAuthenticator(touch: .never, timing: timing)
    let host = try VirtualKeyHost.udp(virtual)
    defer { host.stop() }
    let port = try #require(host.port)
    let folder = try TemporaryFolder()
    for round in 0..<(Extent.isFull ? 100 : 10) {
      virtual.log.clear()
      let process = try RunningProgram(
        Program.sealkey,
        ["register", "--name", "Ada", "--key", "udp:\(port)", "--timeout", "600", "--data-dir", folder.path])
      let patience = time(nil) + 60
      while virtual.touch.pending == nil {
        if time(nil) > patience {
          Issue.record("round \(round): the key was never asked for a touch")
          break
        }
        try await Task.sleep(for: .milliseconds(2))
      }
      try await Task.sleep(for: .microseconds(Int.random(in: 0...300_000, using: &random)))
      let number = Bool.random(using: &random) ? SIGINT : SIGTERM
      process.send(number)
      let code = await process.end()
      #expect(code == 130, "round \(round), signal \(number)")
      let last = try #require(virtual.log.entries.last)
      #expect(last.command == .makeCredential && last.status == .keepaliveCancel, "round \(round)")
      #expect(virtual.touch.pending == nil)
      // The next command, from the same program.
      let next = try Program.run(Program.sealkey, ["info", "--key", "udp:\(port)", "--data-dir", folder.path])
      #expect(next.code == 0, "round \(round): \(next.err)")
    }
    #expect(virtual.storedCredentials == 0)
  }
}

/// A program that runs beside the test.
final class RunningProgram: Sendable {
  private let process: pid_t

  init(_ path: String, _ arguments: [String]) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (descriptor, flags) in [(Int32(0), O_RDONLY), (1, O_WRONLY), (2, O_WRONLY)] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", flags, 0)
    }
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process = pid_t()
    let failed = posix_spawnp(&process, path, &actions, nil, &words, environ)
    try #require(failed == 0)
    self.process = process
  }

  func send(_ signal: Int32) { kill(process, signal) }

  /// Its exit code; 128 and the signal when a signal ended it; -1 when it did not end within a minute.
  func end() async -> Int32 {
    let patience = time(nil) + 60
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 {
      if time(nil) > patience {
        kill(process, SIGKILL)
        waitpid(process, &status, 0)
        return -1
      }
      try? await Task.sleep(for: .milliseconds(2))
    }
    return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
  }
}
