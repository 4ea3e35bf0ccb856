// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SecurityKeys

/// A pinentry program at work: the Assuan protocol over two pipes.
///
/// What it sends is not trusted: ``AssuanReplies`` bounds it, and here its time is bounded.
final class Assuan {
  /// How long the program may take for anything but the person.
  static let patience = Duration.seconds(10)

  private let process: pid_t
  private let toProgram: Int32
  private let fromProgram: Int32
  private let replies = AssuanReplies()
  private let terminal: SavedTerminal?

  /// Starts the program and waits for its greeting.
  /// - Parameter terminal: the path of the terminal that the program may draw on.
  /// - Throws: ``PinentryError``.
  init(_ program: String, terminal: String?) throws(PinentryError) {
    var input: [Int32] = [-1, -1]
    var output: [Int32] = [-1, -1]
    guard pipe(&input) == 0 else { throw .notStarted(errno: errno) }
    guard pipe(&output) == 0 else {
      for end in input { close(end) }
      throw .notStarted(errno: errno)
    }
    for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    self.terminal = terminal.map { SavedTerminal($0) }
    let failed: Int32
    (failed, process) = Self.spawn(program, input[0], output[1])
    close(input[0])
    close(output[1])
    (toProgram, fromProgram) = (input[1], output[0])
    guard failed == 0 else {
      throw failed == ENOENT || failed == EACCES ? .notFound(program) : .notStarted(errno: failed)
    }
    try reply(within: Self.patience)
  }

  deinit {
    if process > 0 { end() }
    close(toProgram)
    close(fromProgram)
  }

  private static func spawn(_ program: String, _ input: Int32, _ output: Int32) -> (Int32, pid_t) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Signals as a program of its own has them.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var words: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
    defer { free(words[0]) }
    var process = pid_t()
    let failed = posix_spawnp(&process, program, &actions, &attributes, &words, environ)
    return (failed, failed == 0 ? process : 0)
  }

  /// Sends a command and waits for its OK.
  /// - Throws: ``PinentryError``.
  func send(_ command: String, within patience: Duration = Assuan.patience) throws(PinentryError) {
    try write(command)
    try reply(within: patience)
  }

  /// Asks for the PIN.
  /// - Returns: what was typed, empty when nothing was.
  /// - Throws: ``PinentryError``.
  func getPIN(within patience: Duration) throws(PinentryError) -> SecretBytes {
    try write("GETPIN")
    try reply(within: patience, takesPIN: true)
    return replies.secret()
  }

  /// Whether the last PIN was typed twice, as the program says.
  var wasRepeated: Bool { replies.wasRepeated }

  private func write(_ command: String) throws(PinentryError) {
    guard Console.write(toProgram, Array((command + "\n").utf8)) else { throw .ended }
  }

  private func reply(within patience: Duration, takesPIN: Bool = false) throws(PinentryError) {
    let deadline = Deadline.after(patience)
    replies.begin(takesPIN: takesPIN)
    while true {
      guard !Interrupts.came else { throw .interrupted }
      guard !deadline.isOver else { throw .timedOut }
      var wait = pollfd(fd: fromProgram, events: Int16(POLLIN), revents: 0)
      if poll(&wait, 1, 100) <= 0 { continue }
      var byte: UInt8 = 0
      let got = read(fromProgram, &byte, 1)
      if got < 0, errno == EINTR { continue }
      guard got == 1 else { throw .ended }
      if try replies.take(byte) { return }
    }
  }

  /// Ends the program: with a word, then with signals. Nothing of it is left, and the terminal is as it was.
  private func end() {
    Console.write(toProgram, Array("BYE\n".utf8))
    for (signal, patience) in [(Int32(0), 200), (SIGTERM, 100), (SIGKILL, 100)] {
      if signal != 0 { kill(process, signal) }
      for _ in 0..<patience {
        let gone = waitpid(process, nil, WNOHANG)
        if gone == process || (gone < 0 && errno == ECHILD) {
          if signal != 0 { terminal?.restore() }
          return
        }
        usleep(10_000)
        // Who has pressed Ctrl-C does not wait for good manners.
        if signal == 0, Interrupts.came { break }
      }
    }
    terminal?.restore()
  }
}

/// A terminal's settings, for after a program that did not clean up behind itself.
private struct SavedTerminal {
  private let path: String
  private let settings: termios?

  init(_ path: String) {
    self.path = path
    var settings = termios()
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    self.settings = descriptor >= 0 && tcgetattr(descriptor, &settings) == 0 ? settings : nil
    if descriptor >= 0 { close(descriptor) }
  }

  func restore() {
    guard var settings else { return }
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    tcsetattr(descriptor, TCSANOW, &settings)
    close(descriptor)
  }
}
