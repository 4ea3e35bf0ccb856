// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SecurityKeys

/// Where a person gives a PIN in this run.
enum PINWay: Sendable {
  /// One line of a descriptor.
  case descriptor(Int32)
  /// A pinentry program.
  case pinentry(Pinentry)
  /// The terminal, without echo.
  case terminal

  /// Whether a wrong PIN can be asked for again: there is a person.
  var isInteractive: Bool { if case .descriptor = self { false } else { true } }
}

extension Invocation {
  /// The way that was asked for; else the terminal; else, where there is none, a pinentry on the display.
  func pinWay(_ descriptor: Int32?) -> PINWay {
    if let descriptor { return .descriptor(descriptor) }
    if let program = options["pinentry"] { return .pinentry(Pinentry(program: program)) }
    if Terminal.isThere { return .terminal }
    return Pinentry.found().map { .pinentry($0) } ?? .terminal
  }
}

/// Where a PIN comes from: from the descriptor into locked memory and nowhere else. A person who has typed what cannot be a
/// PIN is asked again, a few times.
enum PINEntry {
  /// A PIN has at most 63 bytes; more may come before it is normalised, and what is longer is refused by name.
  private static let limit = 129

  /// Asks for a PIN that the key knows.
  static func provider(_ way: PINWay) -> PINProvider {
    { request in
      let left = request.triesLeft.map { $0 == 1 ? "1 try left" : "\($0) tries left" }
      let tries = left.map { ": \($0)" } ?? ""
      var complaint: String?
      if request.lastWasWrong { complaint = "That PIN was wrong\(tries)." }
      if request.mayBeAnotherKey { complaint = "The key was laid on again, so its PIN is asked for once more." }
      if request.lastWasRepeated { complaint = "The key has refused that PIN already, so it was not sent\(tries)." }
      return try again(request, way, complaint) { wrong in
        switch way {
        case .descriptor(let descriptor):
          do { return try line(descriptor) } catch PINEntryError.empty where request.mayBeAnotherKey {
            throw PINEntryError.notGivenAgain
          }
        case .terminal:
          let facts = ["at least \(request.minimumLength) characters", left].compactMap { $0 }.joined(separator: ", ")
          return try terminal([wrong, "PIN of \(request.keyName) (\(facts)): "])
        case .pinentry(let pinentry):
          let facts = ["At least \(request.minimumLength) characters.", left.map { "\($0)." }].compactMap { $0 }
          return try ask(
            pinentry, .init(description: "PIN of \(request.keyName)\n\(facts.joined(separator: " "))", error: wrong))
        }
      }
    }
  }

  /// Asks for a new PIN: explains the key's rules, then asks twice; a descriptor is read once.
  static func newPIN(_ way: PINWay, _ rules: PINRules) -> PINProvider {
    { request in
      try again(request, way, nil) { wrong in
        switch way {
        case .descriptor(let descriptor): return try line(descriptor)
        case .terminal:
          let first = try terminal((wrong.map { [$0] } ?? rules.lines) + ["New PIN of \(request.keyName): "])
          let second = try terminal(["The same PIN again: "])
          guard first.isEqual(to: second) else { throw PINCommandError.differs }
          return first
        case .pinentry(let pinentry):
          let lines = ["New PIN of \(request.keyName)"] + rules.lines
          return try ask(
            pinentry,
            .init(
              description: lines.joined(separator: "\n"), prompt: "New PIN:", error: wrong, again: "The same PIN again:"
            ))
        }
      }
    }
  }

  /// How often a person is asked who gives what cannot be a PIN.
  private static let answers = 3

  /// Asks until the answer can be a PIN of the key. Nothing is sent for one that cannot. Whoever is no person is asked once.
  private static func again(
    _ request: PINRequest, _ way: PINWay, _ complaint: String?, _ ask: (String?) throws -> SecretBytes
  ) throws -> SecretBytes {
    var complaint = complaint
    var turn = 1
    while true {
      let pin = try ask(complaint)
      guard way.isInteractive, let objection = request.objection(to: pin) else { return pin }
      guard turn < answers else { throw objection }
      turn += 1
      complaint = objection.message
    }
  }

  private static func ask(_ pinentry: Pinentry, _ words: Pinentry.Words) throws -> SecretBytes {
    let pin: SecretBytes
    do { pin = try pinentry.ask(words) } catch {
      if error == .interrupted { throw CancellationError() }
      throw error.understood
    }
    guard pin.count > 0 else { throw PINEntryError.empty }
    return pin
  }

  /// One line from a descriptor.
  private static func line(_ descriptor: Int32) throws(PINEntryError) -> SecretBytes {
    let pin: SecretBytes
    do { pin = try SecretLine.read(descriptor, limit: limit) } catch { throw .unreadable(errno: error.errno) }
    guard pin.count > 0 else { throw .empty }
    return pin
  }

  private static func terminal(_ lines: [String?]) throws -> SecretBytes {
    do {
      let terminal = try Terminal()
      let question = lines.compactMap { $0 }.joined(separator: "\n")
      let pin = try terminal.ask(question, limit: limit, hidden: true)
      guard pin.count > 0 else { throw PINEntryError.empty }
      return pin
    } catch TerminalError.absent { throw SecurityKeyError.pinRequired } catch TerminalError.interrupted {
      throw CancellationError()
    } catch TerminalError.ended { throw PINEntryError.empty }
  }
}

/// A PIN for the acts of one run: asked for once, and again only when it was wrong; kept in locked memory, wiped when the run lets go of it.
actor RememberedPIN {
  private final class Box: Sendable {
    let pin: SecretBytes
    init(_ pin: consuming SecretBytes) { self.pin = pin }
  }

  private let provider: PINProvider
  private var box: Box?

  init(_ provider: @escaping PINProvider) { self.provider = provider }

  func ask(_ request: PINRequest) async throws -> SecretBytes {
    // A PIN is for one key: what was lifted off and what lies there now may be two.
    if let box, !request.lastWasWrong, !request.lastWasRepeated, !request.mayBeAnotherKey { return box.pin.clone() }
    let asked = Box(try await provider(request))
    box = asked
    return asked.pin.clone()
  }
}

/// Why no PIN came.
enum PINEntryError: NamedError, Hashable {
  /// Nothing was typed.
  case empty
  /// A card was laid on again, and the PIN was given once.
  case notGivenAgain
  /// The descriptor cannot be read.
  case unreadable(errno: Int32)

  var name: String {
    switch self {
    case .empty: "pinEmpty"
    case .notGivenAgain: "pinNotGivenAgain"
    case .unreadable: "pinUnreadable"
    }
  }
  var message: String {
    switch self {
    case .empty: "No PIN was given, so nothing was tried."
    case .notGivenAgain:
      "The key was laid on the reader again and may be another one, so its PIN is needed once more; it was given once."
    case .unreadable(let code): "The PIN could not be read: \(String(cString: strerror(code)))."
    }
  }
  var next: String {
    switch self {
    case .empty, .unreadable: "Run the command again and give the PIN."
    case .notGivenAgain: "Run the command again, with the key left on the reader, or with the PIN on a second line too."
    }
  }
  var kind: FaultKind { .userVerification }
}
