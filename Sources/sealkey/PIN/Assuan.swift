// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SecurityKeys

/// A pinentry program at work: the Assuan protocol over two pipes.
///
/// What it sends is not trusted: lines, their number, their length and the time they take are bounded, and of its words only
/// the numbers of errors are used. The line buffer lies in locked memory, because a line may be the PIN.
final class Assuan {
  /// What came back for one command.
  struct Reply {
    /// The PIN, when it was one.
    var hasData = false
    /// Words after `S`, those that are known.
    var wasRepeated = false
  }

  /// The longest line, without its end (Assuan's own limit).
  static let lineLimit = 1000
  /// Lines before the OK or ERR of one command.
  static let linesLimit = 64
  /// How long the program may take for anything but the person.
  static let patience = Duration.seconds(10)

  private let process: pid_t
  private let toProgram: Int32
  private let fromProgram: Int32
  private var line: SecretBytes
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
    line = SecretBytes(count: Assuan.lineLimit + 1) { _ in }
    let failed: Int32
    (failed, process) = Self.spawn(program, input[0], output[1])
    close(input[0])
    close(output[1])
    (toProgram, fromProgram) = (input[1], output[0])
    guard failed == 0 else {
      throw failed == ENOENT || failed == EACCES ? .notFound(program) : .notStarted(errno: failed)
    }
    _ = try reply(within: Self.patience)
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
  @discardableResult
  func send(_ command: String, within patience: Duration = Assuan.patience) throws(PinentryError) -> Reply {
    try write(command)
    return try reply(within: patience)
  }

  /// Asks for the PIN.
  /// - Returns: what was typed, empty when nothing was, and whether it was typed twice.
  /// - Throws: ``PinentryError``.
  func getPIN(within patience: Duration) throws(PinentryError) -> (pin: SecretHolder, wasRepeated: Bool) {
    try write("GETPIN")
    let pin = SecretHolder()
    let reply = try reply(within: patience, data: pin)
    return (pin, reply.wasRepeated)
  }

  private func write(_ command: String) throws(PinentryError) {
    guard Console.write(toProgram, Array((command + "\n").utf8)) else { throw .ended }
  }

  private func reply(within patience: Duration, data: SecretHolder? = nil) throws(PinentryError) -> Reply {
    let deadline = Deadline.after(patience)
    var reply = Reply()
    for _ in 0..<Self.linesLimit {
      let count = try readLine(until: deadline)
      switch begins(count) {
      case .ok: return reply
      case .error(let code): throw .refused(code: code)
      case .data:
        guard let data else { throw .badReply("data that nobody asked for") }
        let fits = line.withUnsafeMutableBytes { room in data.append(decoding: room[2..<count]) }
        guard let fits else { throw .badReply("data that is not percent-encoded") }
        guard fits else { throw .badReply("a PIN of more than \(SecretHolder.limit) bytes") }
        reply.hasData = true
      case .status(let wasRepeated): reply.wasRepeated = reply.wasRepeated || wasRepeated
      case .comment: break
      case .unknown: throw .badReply("a line that is none of Assuan's")
      }
    }
    throw .badReply("more than \(Self.linesLimit) lines")
  }

  private enum Line {
    case ok
    case error(Int)
    case data
    case status(wasRepeated: Bool)
    case comment
    case unknown
  }

  /// What the line in the buffer is. Only the first words are looked at; the rest may be the PIN.
  private func begins(_ count: Int) -> Line {
    line.withUnsafeBytes { room in
      let bytes = room[..<count]
      func word(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard bytes.count >= length, bytes.count == length || bytes[length] == UInt8(ascii: " ") else { return false }
        return (0..<length).allSatisfy { bytes[$0] == text.utf8Start[$0] }
      }
      if word("OK") { return .ok }
      if word("ERR") {
        let digits = bytes.dropFirst(4).prefix { (0x30...0x39).contains($0) }.prefix(10)
        return .error(digits.reduce(0) { $0 * 10 + Int($1 - 0x30) })
      }
      if word("D"), count >= 2 { return .data }
      if word("S") {
        let wanted: StaticString = "PIN_REPEATED"
        let rest = bytes.dropFirst(2)
        return .status(
          wasRepeated: rest.count >= wanted.utf8CodeUnitCount
            && zip(rest, 0..<wanted.utf8CodeUnitCount).allSatisfy { $0 == wanted.utf8Start[$1] })
      }
      return bytes.isEmpty || bytes.first == UInt8(ascii: "#") ? .comment : .unknown
    }
  }

  /// Reads one line into the buffer.
  /// - Returns: its length without its end.
  private func readLine(until deadline: Deadline) throws(PinentryError) -> Int {
    var count = 0
    while true {
      guard !Interrupts.came else { throw .interrupted }
      guard !deadline.isOver else { throw .timedOut }
      var wait = pollfd(fd: fromProgram, events: Int16(POLLIN), revents: 0)
      if poll(&wait, 1, 100) <= 0 { continue }
      var byte: UInt8 = 0
      let got = read(fromProgram, &byte, 1)
      if got < 0, errno == EINTR { continue }
      guard got == 1 else { throw .ended }
      if byte == 0x0A { break }
      guard count < Self.lineLimit else { throw .badReply("a line of more than \(Self.lineLimit) bytes") }
      line.withUnsafeMutableBytes { $0[count] = byte }
      count += 1
    }
    return count
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

  /// Text as Assuan wants it on a line: at most what a line holds.
  static func escaped(_ text: String) -> String {
    var out = ""
    for byte in text.utf8 {
      guard out.utf8.count < 900 else { break }
      switch byte {
      case 0x25, 0..<0x20, 0x7F:
        let digits = String(byte, radix: 16, uppercase: true)
        out += "%" + (digits.count == 1 ? "0" : "") + digits
      case 0x80...: out += "%" + String(byte, radix: 16, uppercase: true)
      default: out.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    return out
  }
}

/// A secret that grows to a limit and is then taken out.
final class SecretHolder {
  /// More than any PIN; what is longer is refused.
  static let limit = 256
  private var room: SecretBytes
  private var count = 0

  init() { room = SecretBytes(count: Self.limit) { _ in } }

  /// Appends percent-encoded bytes, decoded.
  /// - Returns: whether they fit; nil when they are not percent-encoded.
  func append(decoding bytes: Slice<UnsafeMutableRawBufferPointer>) -> Bool? {
    var at = bytes.startIndex
    while at < bytes.endIndex {
      guard count < Self.limit else { return false }
      var byte = bytes[at]
      if byte == UInt8(ascii: "%") {
        guard at + 2 < bytes.endIndex, let high = Self.digit(bytes[at + 1]), let low = Self.digit(bytes[at + 2]) else {
          return nil
        }
        byte = high << 4 | low
        at += 2
      }
      room.withUnsafeMutableBytes { $0[count] = byte }
      count += 1
      at += 1
    }
    return true
  }

  /// The bytes so far.
  func secret() -> SecretBytes { room.slice(0..<count) }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
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
