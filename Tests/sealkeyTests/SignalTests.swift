// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc
import SecurityKeys
import TestSupport
import Testing
import VirtualAuthenticator

/// Ctrl-C and SIGTERM, at any moment of a touch wait.
@Suite("Signals", .serialized, .programs)
struct SignalTests {
  @Test("the key hears CANCEL, the program ends with 130, and the key answers the next command")
  func atAnyMoment() async throws {
    let virtual = try Self.key()
    let host = try VirtualKeyHost.udp(virtual)
    defer { host.stop() }
    let port = try #require(host.port)
    try await Self.interrupt(virtual, "udp:\(port)", rounds: Extent.isFull ? 100 : 10)
  }

  @Test("killed between the two touches of a registration: this computer knows the identity")
  func killedBetweenTouches() async throws {
    let virtual = try Self.key()
    let host = try VirtualKeyHost.udp(virtual)
    defer { host.stop() }
    let port = try #require(host.port)
    let folder = try TemporaryFolder()
    let process = try RunningProgram(
      Program.sealkey,
      [
        "register", "--name", "Ada", "--endorse", "--device", "\(folder.path)/ada.device", "--key", "udp:\(port)",
        "--timeout", "600", "--data-dir", folder.path,
      ])
    for touch in 1...2 {
      let patience = time(nil) + 60
      while virtual.touch.pending == nil || virtual.touch.requests.count < touch, time(nil) < patience {
        try await Task.sleep(for: .milliseconds(2))
      }
      if touch == 1 { virtual.touch.touch() }
    }
    process.send(SIGKILL)
    #expect(await process.end() == 128 + SIGKILL)
    let listed = try Sealkey.run(["directory", "list", "--data-dir", folder.path])
    #expect(listed.json["identities"]?.array?.compactMap { $0["name"]?.string } == ["Ada"])
  }

  @Test("the same over the kernel's hidraw", .enabled(if: Kernel.isOurs, Kernel.why))
  func onTheKernel() async throws {
    let virtual = try Self.key()
    let host = try VirtualKeyHost.uhid(virtual, serial: "signals")
    defer { host.stop() }
    let patience = time(nil) + 60
    while KeyDiscovery.list().isEmpty, time(nil) < patience { try await Task.sleep(for: .milliseconds(2)) }
    let node = try #require(KeyDiscovery.list().first)
    try await Self.interrupt(virtual, node.placeName, rounds: 20)
  }

  private static func key() throws -> VirtualAuthenticator {
    // The key waits as long as the slowest computer needs to send the signal.
    var timing = KeyTiming()
    timing.touchTimeout = 3_600_000
    return try VirtualAuthenticator(touch: .never, timing: timing)
  }

  private static func interrupt(_ virtual: VirtualAuthenticator, _ place: String, rounds: Int) async throws {
    var random = SeededGenerator(seed: 130)
    let folder = try TemporaryFolder()
    for round in 0..<rounds {
      virtual.log.clear()
      let process = try RunningProgram(
        Program.sealkey,
        ["register", "--name", "Ada", "--key", place, "--timeout", "600", "--data-dir", folder.path])
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
      let next = try Program.run(Program.sealkey, ["info", "--key", place, "--data-dir", folder.path])
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
