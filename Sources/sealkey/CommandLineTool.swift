// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SecurityKeys
import WebAuthnCore

/// From the words typed to an exit code.
enum CommandLineTool {
  static let version = "0.1.0"

  static func run(_ arguments: [String]) async -> Int32 {
    do {
      let front = try ParsedOptions(arguments, Command.globals + [OptionSpec("version", nil, "")], stopsAtOperand: true)
      if front.has("version") {
        return try finish(
          Outcome(text: "sealkey \(version)", json: .object([("version", .string(version))])), arguments)
      }
      guard let verb = front.operands.first else {
        guard front.has("help") else { throw UsageError.noVerb }
        return try finish(Outcome(text: Command.overview, json: Command.table), arguments)
      }
      if verb == Completion.verb { return Completion.print(Array(front.operands.dropFirst())) }
      guard let command = Command.all.first(where: { $0.name == verb }) else { throw UsageError.unknownVerb(verb) }
      var options = try ParsedOptions(Array(front.operands.dropFirst()), command.options + Command.globals)
      options.inherit(front)
      if options.has("help") { return try finish(Outcome(text: command.help, json: command.json), arguments) }
      try command.check(options)
      let invocation = try Invocation(options)
      try OutputFiles.check(
        options, store: invocation.store, of: command.name,
        mayHoldIt: command.name == Command.tap.name && options.has("capsule"))
      defer { invocation.refusedPINs.forgetAll() }
      return try finish(invocation.losses.told(in: try await command.run(invocation)), arguments)
    } catch {
      return fail(error, arguments)
    }
  }

  /// Known before anything is parsed, so that a usage error is JSON too when it should be.
  private static func wantsJSON(_ arguments: [String]) -> Bool {
    arguments.prefix { $0 != "--" }.contains("--json")
  }

  /// Prints a result.
  private static func finish(_ outcome: Outcome, _ arguments: [String]) throws(ResultLost) -> Int32 {
    if wantsJSON(arguments) {
      Console.out(outcome.json)
    } else if !outcome.text.isEmpty {
      if outcome.isDocument { Console.document(outcome.text) } else { Console.out(outcome.text) }
    }
    guard !Console.hasLost else { throw ResultLost() }
    return outcome.code
  }

  /// The error under its name; one without a name is a fault of this program.
  static func named(_ error: any Error) -> any NamedError {
    (error as? any NamedError) ?? (error is CancellationError ? Interrupted() : Unexpected("\(error)"))
  }

  /// Says what went wrong.
  /// - Returns: the exit code.
  static func fail(_ error: any Error, _ arguments: [String]) -> Int32 {
    let named = named(error)
    // Where stdout takes nothing, JSON says nothing.
    if wantsJSON(arguments), !(error is ResultLost) {
      Console.out(.object([("error", named.json)]))
    } else {
      var line = "sealkey: \(named.message)"
      if let offset = named.offset { line += " (at byte \(offset))" }
      Console.note(line)
      Console.note("  \(named.next)")
      let status = named.status.map { ", status 0x\(String($0, radix: 16))" } ?? ""
      Console.note("  [\(named.name)\(status)]")
    }
    return named.kind.rawValue
  }
}

/// The person stopped it.
struct Interrupted: NamedError {
  let name = "cancelled"
  let message = "Cancelled."
  let next = "Begin again when you are ready."
  let kind = FaultKind.cancelled
}

/// What was done is done, and the result could not be written.
struct ResultLost: NamedError {
  let name = "resultLost"
  let message = "It was done, but the result could not be written to the standard output."
  let next = "Make room or choose another place; what was touched for is not undone. Use --out where there is one."
  let kind = FaultKind.file
}

/// An error without a name: a fault of this program.
struct Unexpected: NamedError {
  let name = "unexpected"
  let message: String
  let next = "This is a fault of sealkey: please report it with what you did."
  let kind = FaultKind.key
  init(_ what: String) { message = "Something unexpected happened: \(what)." }
}
