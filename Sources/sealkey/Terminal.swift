// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import Synchronization
import WebAuthnCore

/// Where a hidden prompt is on at this moment, so that a second Ctrl-C gives the terminal its echo back before it ends the
/// process. -1 when there is none.
private let hiddenTerminal = Atomic<Int32>(-1)

/// The person's terminal: questions go there and answers come from there, whatever stdin and stdout are.
struct Terminal: ~Copyable {
  private let descriptor: Int32

  /// - Throws: ``TerminalError/absent``.
  init() throws(TerminalError) {
    descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw .absent }
  }

  deinit { close(descriptor) }

  /// Whether there is one.
  static var isThere: Bool {
    do {
      _ = try Terminal()
      return true
    } catch { return false }
  }

  /// Puts a question, and takes one line, at most `limit` bytes of it and without its end, into locked memory. What was
  /// typed ahead was not meant as an answer and is dropped; what is typed once the question can be read is not. Hidden: not
  /// shown, and the terminal is as before afterwards, whatever happens.
  /// - Throws: ``TerminalError``.
  func ask(_ question: String, limit: Int, hidden: Bool) throws(TerminalError) -> SecretBytes {
    var before = termios()
    guard tcgetattr(descriptor, &before) == 0 else { throw .absent }
    var now = before
    now.c_lflag |= tcflag_t(ICANON)
    if hidden {
      now.c_lflag &= ~tcflag_t(ECHO)
      now.c_lflag |= tcflag_t(ECHONL)
      hiddenTerminal.store(descriptor, ordering: .sequentiallyConsistent)
    }
    tcsetattr(descriptor, TCSAFLUSH, &now)
    defer {
      tcsetattr(descriptor, TCSAFLUSH, &before)
      hiddenTerminal.store(-1, ordering: .sequentiallyConsistent)
    }
    // Only now: nobody who answers at once is seen or not heard.
    Console.write(descriptor, Array(TerminalText(descriptor: descriptor).shown(question).utf8))
    var total = 0
    var failure: TerminalError?
    var line = SecretBytes(count: limit) { room in
      while true {
        // A tenth of a second at a time: Ctrl-C ends the question, not only the act behind it.
        guard !Interrupts.came else {
          failure = .interrupted
          return
        }
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let ready = poll(&wait, 1, 100)
        if ready == 0 || (ready < 0 && errno == EINTR) { continue }
        var byte: UInt8 = 0
        let count = ready < 0 ? -1 : read(descriptor, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count == 1 else {
          if total == 0 { failure = .ended }
          return
        }
        if byte == 0x0a { return }
        if total < limit {
          room[total] = byte
          total += 1
        }
      }
    }
    if let failure { throw failure }
    line.truncate(to: total)
    return line
  }

  /// Gives a terminal its echo back; for the way out in a hurry.
  static func showAgain() {
    let descriptor = hiddenTerminal.load(ordering: .sequentiallyConsistent)
    var settings = termios()
    guard descriptor >= 0, tcgetattr(descriptor, &settings) == 0 else { return }
    settings.c_lflag |= tcflag_t(ECHO)
    tcsetattr(descriptor, TCSANOW, &settings)
  }
}

/// Why the terminal gave no answer.
enum TerminalError: Error, Hashable {
  /// There is none.
  case absent
  /// Ctrl-C, or the program is to end.
  case interrupted
  /// The terminal was closed, or Ctrl-D was typed.
  case ended
}
