// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Testing

@testable import VirtualAuthenticator

@Suite("Fault text")
struct FaultTextTests {
  static let good: [(String, Fault)] = [
    ("to-key:0:drop", .packet(.toKey, 0, .drop)), ("to-host:17:drop", .packet(.toHost, 17, .drop)),
    ("to-host:5:delay:100", .packet(.toHost, 5, .delay(milliseconds: 100))),
    ("to-key:1:truncate:20", .packet(.toKey, 1, .truncate(to: 20))),
    ("to-key:1:flip:33", .packet(.toKey, 1, .flipBit(33))), ("to-host:2:duplicate", .packet(.toHost, 2, .duplicate)),
    ("to-host:2:unplug", .packet(.toHost, 2, .unplug)),
    ("command:3:status:0x2e", .command(3, .status(.noCredentials))),
    ("command:3:status:46", .command(3, .status(.noCredentials))),
    ("command:0:hid-error:6", .command(0, .hidError(.channelBusy))),
    ("command:0:busy", .command(0, .hidError(.channelBusy))),
    ("command:0:delay:50", .command(0, .delay(milliseconds: 50))), ("command:0:no-reply", .command(0, .noReply)),
    ("command:0:truncate:1", .command(0, .truncateReply(to: 1))), ("command:0:flip:9", .command(0, .flipReplyBit(9))),
    ("command:0:reply:00a0", .command(0, .replaceReply([0x00, 0xA0]))),
    ("command:0:ignore-cancel", .command(0, .ignoreCancel)), ("command:0:unplug", .command(0, .unplug)),
  ]

  @Test("what can be written", arguments: good)
  func reads(text: String, fault: Fault) throws {
    #expect(try Fault(parsing: text) == fault)
  }

  @Test(
    "what cannot",
    arguments: [
      "", ":", "drop", "to-key", "to-key:drop", "to-key:0", "to-key:-1:drop", "to-key:x:drop", "to-key:0:drop:1",
      "to-key:0:status:1", "to-key:0:delay", "to-key:0:delay:-1", "to-key:0:delay:x", "both:0:drop", "command:0:drop",
      "command:0:status:256", "command:0:status", "command:0:hid-error:2a", "command:0:reply:0", "command:0:reply:xy",
      "to-key:99999999999999999999:drop", "to-key:0:delay:99999999999999999999", "command:0:unplug:now",
    ])
  func refuses(text: String) {
    #expect(throws: FaultTextError.self) { try Fault(parsing: text) }
  }
}
