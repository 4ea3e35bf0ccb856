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
    // Known before anything is parsed, so that a usage error is JSON too when it should be.
    let wantsJSON = arguments.prefix { $0 != "--" }.contains("--json")
    do {
      let front = try ParsedOptions(arguments, Command.globals + [OptionSpec("version", nil, "")], stopsAtOperand: true)
      if front.has("version") {
        Console.out("sealkey \(version)")
        return 0
      }
      guard let verb = front.operands.first else {
        guard front.has("help") else { throw UsageError.noVerb }
        Console.out(Command.overview)
        return 0
      }
      if verb == Completion.verb { return Completion.print(Array(front.operands.dropFirst())) }
      guard let command = Command.all.first(where: { $0.name == verb }) else { throw UsageError.unknownVerb(verb) }
      var options = try ParsedOptions(Array(front.operands.dropFirst()), command.options + Command.globals)
      options.inherit(front)
      if options.has("help") {
        Console.out(command.help)
        return 0
      }
      try command.check(options)
      try OutputFiles.check(options)
      let invocation = try Invocation(options)
      let outcome = invocation.losses.told(in: try await command.run(invocation))
      if wantsJSON {
        Console.out(
          String(decoding: JSONWriter.write(outcome.json, .init(escapesSlashes: false)), as: UTF8.self)
            .escapedForTerminal)
      } else if !outcome.text.isEmpty {
        Console.out(outcome.isJSONText ? outcome.text.escapedForTerminal : outcome.text.printableLines)
      }
      guard !Console.hasLost else { throw ResultLost() }
      return outcome.code
    } catch {
      return fail(error, wantsJSON)
    }
  }

  private static func fail(_ error: any Error, _ wantsJSON: Bool) -> Int32 {
    let named: any NamedError =
      (error as? any NamedError) ?? (error is CancellationError ? Interrupted() : Unexpected("\(error)"))
    if wantsJSON {
      let json: JSONValue = .object([
        (
          "error",
          .object([
            ("name", .string(named.name)), ("message", .string(named.message)), ("next", .string(named.next)),
            ("status", named.status.map { .int($0) }), ("offset", named.offset.map { .int($0) }),
          ])
        )
      ])
      Console.out(
        String(decoding: JSONWriter.write(json, .init(escapesSlashes: false)), as: UTF8.self).escapedForTerminal)
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
