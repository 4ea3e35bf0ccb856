// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import SealCeremonies

/// Where the passphrase of a device comes from: a descriptor or the terminal, and then locked memory.
enum PassphraseEntry {
  /// One more than the longest, so that one that is too long is refused and not cut.
  private static let limit = DeviceFile.maximumPassphrase + 1

  /// The one that there is, and how often it may be asked for: a person mistypes, a descriptor does not.
  static func existing(_ descriptor: Int32?) -> (ask: DeviceFile.Passphrase, tries: Int) {
    if let descriptor { return ({ _ in try line(descriptor) }, 1) }
    let (asked, tries) = (Locked(0), 3)
    return (
      { path in
        let number = asked.withLock { count in
          count += 1
          return count
        }
        let lead = number > 1 ? "That is not the passphrase. Try \(number) of \(tries).\n" : ""
        do { return try ask("\(lead)Passphrase of \(path): ") } catch TerminalError.absent {
          throw DeviceError.passphraseRequired(path: path)
        }
      }, tries
    )
  }

  /// A new one: twice on a terminal, once from a descriptor.
  static func new(_ descriptor: Int32?) -> DeviceFile.Passphrase {
    { path in
      if let descriptor { return try line(descriptor) }
      do {
        let first = try ask("New passphrase of \(path) (at least \(DeviceFile.minimumPassphrase) bytes): ")
        let second = try ask("The same once more: ")
        guard first.isEqual(to: second) else { throw PassphraseError.differ }
        return first
      } catch TerminalError.absent { throw DeviceError.passphraseRequired(path: path) }
    }
  }

  private static func ask(_ question: String) throws -> SecretBytes {
    do {
      let terminal = try Terminal()
      let word = try terminal.ask(question, limit: limit, hidden: true)
      guard word.count > 0 else { throw PassphraseError.empty }
      return word
    } catch TerminalError.interrupted { throw CancellationError() } catch TerminalError.ended {
      throw PassphraseError.empty
    }
  }

  private static func line(_ descriptor: Int32) throws(PassphraseError) -> SecretBytes {
    let word: SecretBytes
    do { word = try SecretLine.read(descriptor, limit: limit) } catch { throw .unreadable(errno: error.errno) }
    guard word.count > 0 else { throw .empty }
    return word
  }
}

/// Why no passphrase came.
enum PassphraseError: NamedError, Hashable {
  case empty
  case differ
  case unreadable(errno: Int32)

  var name: String {
    switch self {
    case .empty: "passphraseEmpty"
    case .differ: "passphrasesDiffer"
    case .unreadable: "passphraseUnreadable"
    }
  }
  var message: String {
    switch self {
    case .empty: "No passphrase was given, so nothing was done."
    case .differ: "The two passphrases are not the same, so nothing was changed."
    case .unreadable(let code): "The passphrase could not be read: \(String(cString: strerror(code)))."
    }
  }
  var next: String { "Run the command again." }
  var kind: FaultKind { .userVerification }
}
