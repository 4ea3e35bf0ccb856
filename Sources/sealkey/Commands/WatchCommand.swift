// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SecurityKeys
import WebAuthnCore

extension Command {
  static let watch = Command(
    "watch", "Show keys and cards as they come and go, one line for each event, until Ctrl-C.",
    examples: ["sealkey watch", "sealkey watch --json"]
  ) { invocation in
    try invocation.noOperands()
    let asJSON = invocation.options.has("json")
    await withTaskGroup { group in
      group.addTask {
        for await change in KeyWatch.changes() {
          switch change {
          case .appeared(let key): tell("keyAppeared", "key here", key, key.access(), asJSON)
          case .gone(let key): tell("keyGone", "key gone", key, nil, asJSON)
          }
        }
      }
      group.addTask {
        for await change in CardWatch.changes() {
          switch change {
          case .readerAppeared(let reader): tell("readerAppeared", "reader here", reader, nil, asJSON)
          case .readerGone(let reader): tell("readerGone", "reader gone", reader, nil, asJSON)
          case .cardLaid(let reader): tell("cardLaid", "card laid on", reader, nil, asJSON)
          case .cardLifted(let reader): tell("cardLifted", "card lifted", reader, nil, asJSON)
          case .unavailable(let problem):
            guard asJSON else {
              Console.out("no readers    \(problem.message) \(problem.next)")
              continue
            }
            tell(.object([("event", .string("readersUnavailable"))] + KeyText.members(problem)))
          }
        }
      }
    }
    return Outcome(text: "", json: .object([("event", .string("stopped"))]))
  }

  private static func tell(
    _ event: String, _ words: String, _ key: FoundKey, _ access: FoundKey.Access?, _ asJSON: Bool
  ) {
    guard asJSON else {
      return Console.out(words + String(repeating: " ", count: max(1, 14 - words.count)) + KeyText.line(key, access))
    }
    tell(.object([("event", .string(event))] + KeyText.members(key, access)))
  }

  private static func tell(_ json: JSONValue) {
    Console.out(json)
  }
}
