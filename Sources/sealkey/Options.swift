// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CGetopt
import CryptoCore
import Glibc

/// One long option of a verb.
struct OptionSpec: Sendable {
  let name: String
  /// What its value is called in the help; nil for a switch.
  let value: String?
  let help: String
  let isRepeatable: Bool
  /// The words after the verb that it goes with; empty when it goes with all.
  let words: [String]
  /// The values there are; empty when there are many.
  let choices: [String]

  init(
    _ name: String, _ value: String? = nil, _ help: String, repeatable: Bool = false, only words: [String] = [],
    choices: [String] = []
  ) {
    self.name = name
    self.value = value
    self.help = help
    isRepeatable = repeatable
    self.words = words
    self.choices = choices
  }
}

/// What the person typed after the program's name, taken apart by getopt_long.
struct ParsedOptions: Sendable {
  private(set) var values: [String: [String]] = [:]
  private(set) var operands: [String] = []

  /// - Parameter stopsAtOperand: leave everything after the first operand alone (for the global options in front).
  /// - Throws: ``UsageError``.
  init(_ arguments: [String], _ specs: [OptionSpec], stopsAtOperand: Bool = false) throws(UsageError) {
    // getopt wants C strings that stay where they are, and reorders the list.
    var list: [UnsafeMutablePointer<CChar>?] = (["sealkey"] + arguments).map { strdup($0) }
    list.append(nil)
    let names = specs.map { strdup($0.name) }
    let kept = list
    defer {
      for pointer in kept { free(pointer) }
      for pointer in names { free(pointer) }
    }
    let base: Int32 = 256
    var longs = specs.indices.map { i in
      option(
        name: UnsafePointer(names[i]), has_arg: specs[i].value == nil ? no_argument : required_argument, flag: nil,
        val: base + Int32(i))
    }
    longs.append(option())
    cgetopt_reset()
    let count = Int32(arguments.count + 1)
    // ':' reports a missing value as such; '+' stops at the first operand. -h is the one short option.
    let shorts = stopsAtOperand ? "+:h" : ":h"
    var failure: UsageError?
    parsing: while true {
      let found = cgetopt_next(count, &list, shorts, longs)
      switch found {
      case -1: break parsing
      case Int32(UInt8(ascii: "h")): values["help", default: []].append("")
      case Int32(UInt8(ascii: "?")), Int32(UInt8(ascii: ":")):
        let culprit = cgetopt_culprit()
        let index = Int(cgetopt_index()) - 1
        let word = list.indices.contains(index) ? list[index].map { String(cString: $0) } ?? "" : ""
        if culprit >= base, Int(culprit - base) < specs.count {
          failure =
            found == Int32(UInt8(ascii: ":"))
            ? .missingValue(specs[Int(culprit - base)].name) : .needlessValue(specs[Int(culprit - base)].name)
        } else {
          failure = .unknownOption(word)
        }
        break parsing
      case let code where code >= base && Int(code - base) < specs.count:
        let spec = specs[Int(code - base)]
        if values[spec.name] != nil, !spec.isRepeatable, spec.value != nil {
          failure = .repeatedOption(spec.name)
          break parsing
        }
        values[spec.name, default: []].append(cgetopt_argument().map { String(cString: $0) } ?? "")
      default: break parsing
      }
    }
    if let failure { throw failure }
    let first = Int(cgetopt_index())
    operands = list.dropLast().dropFirst(first).compactMap { $0.map { String(cString: $0) } }
  }

  /// The last value of an option.
  subscript(name: String) -> String? { values[name]?.last }
  /// Whether a switch was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// Options given before the verb count unless the verb's own say otherwise.
  mutating func inherit(_ other: ParsedOptions) { values.merge(other.values) { mine, _ in mine } }
}

/// The command was used wrongly.
enum UsageError: NamedError, Hashable {
  case noVerb
  case unknownVerb(String)
  case unknownOption(String)
  case missingValue(String)
  case needlessValue(String)
  case repeatedOption(String)
  case missingOption(String)
  case missingOneOf([String])
  case conflict(String, String)
  case badValue(option: String, value: String, wanted: String)
  case optionOfAnotherWord(String, command: String)
  case noVirtualKey
  case sameFile(String, String)
  case missingOperand(String)
  case emptyOperand(String)
  case environmentNotUTF8(String)
  case extraOperand(String)

  var name: String {
    switch self {
    case .noVerb: "noVerb"
    case .unknownVerb: "unknownVerb"
    case .unknownOption: "unknownOption"
    case .missingValue: "missingValue"
    case .needlessValue: "needlessValue"
    case .repeatedOption: "repeatedOption"
    case .missingOption, .missingOneOf: "missingOption"
    case .conflict, .sameFile: "conflictingOptions"
    case .badValue: "badValue"
    case .optionOfAnotherWord, .noVirtualKey: "unknownOption"
    case .missingOperand: "missingOperand"
    case .emptyOperand: "emptyOperand"
    case .environmentNotUTF8: "environmentNotUTF8"
    case .extraOperand: "extraOperand"
    }
  }

  var message: String {
    switch self {
    case .noVerb: "Say what to do."
    case .unknownVerb(let verb): "There is no command '\(verb)'."
    case .unknownOption(let option): "There is no option '\(option)' here."
    case .missingValue(let option): "The option --\(option) needs a value."
    case .needlessValue(let option): "The option --\(option) takes no value."
    case .repeatedOption(let option): "The option --\(option) was given twice."
    case .missingOption(let option): "The option --\(option) is missing."
    case .missingOneOf(let options):
      "One of " + options.map { "--\($0)" }.joined(separator: ", ") + " is needed."
    case .conflict(let a, let b): "--\(a) and --\(b) cannot be given together."
    case .sameFile(let a, let b): "--\(a) and --\(b) name the same file, and each needs one of its own."
    case .noVirtualKey: "The option --virtual-touch says who touches a virtual key, and there is none in this command."
    case .badValue(let option, let value, let wanted): "'\(value)' is not right for \(option): it takes \(wanted)."
    case .optionOfAnotherWord(let option, let command): "The option --\(option) does not go with '\(command)'."
    case .missingOperand(let what): "Missing here: \(what.prefix(1).lowercased() + what.dropFirst())."
    case .emptyOperand(let what): "The argument that was given is empty, so there is nothing to work on: \(what)."
    case .environmentNotUTF8(let name):
      "The environment variable \(name) is not valid UTF-8, so it is not known where this computer's files are kept."
    case .extraOperand(let what): "'\(what)' is one word too many."
    }
  }

  var next: String {
    switch self {
    case .noVerb, .unknownVerb: "See the list: sealkey help"
    case .sameFile: "Give one of them another name."
    case .noVirtualKey: "Leave it out; or use the virtual key: --key virtual"
    case .environmentNotUTF8: "Name the folder with --data-dir."
    default: "See how it is used: the same command with --help"
    }
  }

  var kind: FaultKind { .usage }
}
