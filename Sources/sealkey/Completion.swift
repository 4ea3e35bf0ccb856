// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import SecurityKeys
import VirtualAuthenticator

/// What only the running program can tell a shell that completes a line: the keys that are there, the people and devices
/// known here. One line each, the word and what it is, with a tab between.
enum Completion {
  /// Nobody types it, so it is in no list.
  static let verb = "__complete"

  /// Says nothing and succeeds when something cannot be told: a person is in the middle of a line.
  static func print(_ words: [String]) -> Int32 {
    guard let options = try? ParsedOptions(words, Command.globals), let invocation = try? Invocation(options) else {
      return 0
    }
    for word in options.operands {
      for (name, meaning) in candidates(word, invocation) {
        Console.document("\(name.printable)\t\(meaning.printable)")
      }
    }
    return 0
  }

  private static func candidates(_ kind: String, _ invocation: Invocation) -> [(String, String)] {
    switch kind {
    case "keys": keys
    case "people":
      ((try? invocation.store.people())?.records.values.map { ($0.displayName, "identity") } ?? []).sorted {
        $0.0 < $1.0
      }
    case "devices": invocation.store.deviceNames.map { ($0, "device of this computer") }
    case "models": ModelProfile.all.map { ($0.name, $0.purpose.shows) }
    case "commitments": CommitmentForm.all.filter(\.isCurrent).map { ($0.name, $0.meaning) }
    default: []
    }
  }

  private static var keys: [(String, String)] {
    Inventory.now().entries.map { entry in
      (entry.key.kindName == "pcsc" ? "nfc:\(entry.key.placeName)" : entry.key.placeName, entry.key.name)
    } + [("nfc", "a card reader"), ("virtual", "the built-in virtual key")]
      + ModelProfile.all.map { ("virtual:\($0.name)", $0.purpose.shows) }
  }
}
