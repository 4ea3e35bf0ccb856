// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// Why a pinentry program gave no PIN.
public enum PinentryError: NamedError, Hashable {
  /// There is no such program.
  case notFound(String)
  /// It could not be started.
  case notStarted(errno: Int32)
  /// It ended in the middle.
  case ended
  /// Nobody typed anything for too long, or the program does not answer.
  case timedOut
  /// The person cancelled.
  case cancelled
  /// Ctrl-C, or the program is to end.
  case interrupted
  /// It answered with an error; the number is its own.
  case refused(code: Int)
  /// It broke the rules of its protocol.
  case badReply(String)
  /// The PIN and its repetition are not the same.
  case differs

  /// What GnuPG's error numbers mean here: the low 16 bits are the error, the rest is who reports it.
  public var understood: PinentryError {
    guard case .refused(let code) = self else { return self }
    switch code & 0xFFFF {
    case 99, 198: return .cancelled
    case 62: return .timedOut
    default: return self
    }
  }

  public var name: String {
    switch self {
    case .notFound: "pinentryNotFound"
    case .notStarted: "pinentryNotStarted"
    case .ended: "pinentryEnded"
    case .timedOut: "pinentryTimedOut"
    case .cancelled, .interrupted: "cancelled"
    case .refused: "pinentryRefused"
    case .badReply: "pinentryBadReply"
    case .differs: "pinsDiffer"
    }
  }
  public var message: String {
    switch self {
    case .notFound(let program): "There is no pinentry program \(program)."
    case .notStarted(let code): "The pinentry program could not be started: \(String(cString: strerror(code)))."
    case .ended: "The pinentry program ended before it gave a PIN."
    case .timedOut: "No PIN was typed in time, so nothing was tried."
    case .cancelled, .interrupted: "Cancelled at the PIN; nothing was tried."
    case .refused(let code): "The pinentry program could not ask for the PIN (error \(code))."
    case .badReply(let what): "The pinentry program breaks the rules: it sent \(what)."
    case .differs: "The two PINs are not the same, so none was set."
    }
  }
  public var next: String {
    switch self {
    case .notFound: "Install one (apt install pinentry-curses), or name another with --pinentry."
    case .timedOut, .cancelled, .interrupted: "Begin again when you are ready."
    case .differs: "Run the command again."
    default: "Use another with --pinentry, run the command in a terminal, or give the PIN with --pin-fd."
    }
  }
  public var kind: FaultKind {
    switch self {
    case .timedOut, .cancelled, .interrupted: .cancelled
    default: .userVerification
    }
  }
}
