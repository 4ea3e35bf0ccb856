// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// Questions to a person, on the terminal and nowhere else.
enum Confirmation {
  /// Explains, then asks for a word. The explanation is always given; only the question can be answered by `--yes`, and
  /// says so when it is one that can.
  /// - Parameters:
  ///   - lines: the explanation, and the question as its last line.
  ///   - option: the option that makes the question needless, where it is another than `--yes`.
  /// - Throws: ``ConfirmationError``.
  static func ask(
    _ lines: [String], word: String, _ invocation: Invocation, isAnsweredByYes: Bool,
    or option: String? = nil
  ) throws(ConfirmationError) {
    if isAnsweredByYes, invocation.options.has("yes") {
      for line in lines.dropLast() { invocation.say(line) }
      return
    }
    let answer: SecretBytes
    do {
      let terminal = try Terminal()
      let hint = isAnsweredByYes ? " (--yes answers this.)" : ""
      answer = try terminal.ask(lines.joined(separator: "\n") + "\(hint)\n> ", limit: 64, hidden: false)
    } catch {
      guard error == .absent else { throw .notConfirmed }
      // Whoever reads the words elsewhere must know what would have been asked.
      for line in lines.dropLast() { invocation.say(line) }
      throw .nobodyToAsk(option: isAnsweredByYes ? "--yes" : option)
    }
    guard answer.isEqual(to: SecretBytes(Array(word.utf8))) else { throw .notConfirmed }
  }

  /// A public key as people read it to each other: half of its fingerprint in groups of four.
  static func fingerprint(_ key: [UInt8]) throws -> String {
    let hex = Hex.encode(try Statement.fingerprint(publicKey: key).commitment().digest.prefix(16))
    return stride(from: 0, to: hex.count, by: 4).map { String(hex.dropFirst($0).prefix(4)) }.joined(separator: " ")
  }
}

/// A question that was not answered with yes.
enum ConfirmationError: NamedError, Hashable {
  /// There is no terminal; so much would have answered the question, where anything does.
  case nobodyToAsk(option: String?)
  case notConfirmed

  /// Whether there was nobody, and not somebody who said no.
  var isNobody: Bool { self != .notConfirmed }

  var name: String { isNobody ? "nobodyToAsk" : "notConfirmed" }
  var message: String {
    isNobody
      ? "This needs a person's confirmation, and there is no terminal to ask on."
      : "Not confirmed, so nothing was done."
  }
  var next: String {
    switch self {
    case .nobodyToAsk(let option?): "Run it in a terminal; or, when you have made sure, add: \(option)"
    case .nobodyToAsk(nil): "Run it in a terminal; no option answers this."
    case .notConfirmed: "Begin again when you are sure."
    }
  }
  var kind: FaultKind { .refused }
}
