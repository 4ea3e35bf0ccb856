// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// What real cards and readers do to a host, and how this one gets along with it.
@Suite("Cards: quirks")
struct CardQuirkTests {
  /// One departure from the plainest card, and what must be seen on the wire.
  struct Quirk: Sendable, CustomTestStringConvertible {
    let name: String
    var traits = CardTraits()
    var slot: @Sendable (inout Desk.Slot) -> Void = { _ in }
    let isRight: @Sendable ([[UInt8]]) -> Bool
    var testDescription: String { name }
  }

  private static func isExtended(_ apdu: [UInt8]) -> Bool { apdu.count > 5 && apdu[4] == 0 }
  private static func isChained(_ apdu: [UInt8]) -> Bool { apdu[0] & 0x10 != 0 }
  private static func isPoll(_ apdu: [UInt8]) -> Bool { apdu.starts(with: [0x80, 0x11]) }
  /// The command whole, or one that cannot be parsed.
  private static func parsed(_ apdu: [UInt8]) -> CommandAPDU? { try? CommandAPDU(parsing: apdu) }

  static let quirks: [Quirk] = [
    Quirk(name: "the plainest card: extended APDUs, polled, no chain") { apdus in
      apdus.contains(where: isExtended) && !apdus.contains(where: isChained)
        && apdus.contains { $0.starts(with: [0x80, 0x10, 0x80]) }
    },
    Quirk(name: "Q67: SELECT gives 61xx", traits: CardTraits().with { $0.selectNeedsGetResponse = true }) {
      $0.count > 1 && $0[1].starts(with: [0x00, 0xC0])
    },
    Quirk(name: "Q69: SELECT with Le is refused", traits: CardTraits().with { $0.selectRefusesLe = true }) { apdus in
      apdus.count > 1 && parsed(apdus[0])?.le == 256 && parsed(apdus[1])?.le == nil && apdus[1][1] == 0xA4
    },
    Quirk(name: "Q69: SELECT without Le is refused", traits: CardTraits().with { $0.selectNeedsLe = true }) { apdus in
      apdus[1][1] != 0xA4
    },
    Quirk(name: "Q69: extended APDUs give 6700", traits: CardTraits().with { $0.refusesExtended = true }) { apdus in
      apdus.count(where: isExtended) == 1 && apdus.contains(where: isChained)
        && apdus.filter(isChained).allSatisfy { parsed($0)?.le == nil }
    },
    Quirk(
      name: "Q69: extended APDUs give 6700, and Le may be on the last segment only",
      traits: CardTraits().with {
        $0.refusesExtended = true
        $0.leOnlyOnLast = true
      }
    ) { $0.contains(where: isChained) },
    Quirk(name: "chaining is not supported", traits: CardTraits().with { $0.refusesChaining = true }) { apdus in
      !apdus.contains(where: isChained)
    },
    Quirk(name: "61xx after every 16 bytes", traits: CardTraits().with { $0.responseLimit = 16 }) { apdus in
      apdus.count { $0.starts(with: [0x00, 0xC0]) } > 50
    },
    Quirk(name: "61xx after 255 bytes", traits: CardTraits().with { $0.responseLimit = 255 }) { apdus in
      apdus.contains { $0.starts(with: [0x00, 0xC0]) }
    },
    Quirk(name: "Q68: P1 0x80 is refused", traits: CardTraits().with { $0.refusesPolling = true }) { apdus in
      apdus.count { $0.starts(with: [0x80, 0x10, 0x80]) } == 1 && !apdus.contains(where: isPoll)
    },
    Quirk(name: "Q68: 9100 three times before each answer", traits: CardTraits().with { $0.pollsBeforeAnswer = 3 }) {
      $0.count(where: isPoll) >= 9
    },
    Quirk(
      name: "Q69: a reader that carries 261 bytes", slot: { $0.longest = 261 }
    ) { apdus in apdus.contains(where: isChained) && apdus.count { $0.count > 261 } == 1 },
    Quirk(
      name: "Q69: a reader that carries 255 bytes each way", traits: CardTraits(), slot: { $0.longest = 255 }
    ) { apdus in
      // The answers of 256 bytes are lost on the way; smaller ones are asked for.
      apdus.suffix(20).allSatisfy { (parsed($0)?.le ?? 0) <= 240 }
    },
    Quirk(name: "T=0: no extended APDUs, no Le beside data", slot: { $0.isByteOriented = true }) { apdus in
      !apdus.contains(where: isExtended)
        && apdus.allSatisfy { parsed($0).map { $0.data.isEmpty || $0.le == nil } ?? false }
    },
    Quirk(
      name: "everything at once",
      traits: CardTraits().with {
        $0.selectNeedsGetResponse = true
        $0.refusesExtended = true
        $0.leOnlyOnLast = true
        $0.responseLimit = 100
        $0.pollsBeforeAnswer = 1
      }, slot: { $0.longest = 255 }
    ) { !$0.isEmpty },
  ]

  @Test("the whole job on each odd card and reader", arguments: quirks)
  func wholeJob(quirk: Quirk) async throws {
    let bench = try CardBench(traits: quirk.traits)
    bench.desk.change { quirk.slot(&$0) }
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    let made = try await bench.session.makeCredential(Bench.registration(exclude: CardBench.long(), prf: true))
    let salts = PRFSalts(first: [UInt8](repeating: 7, count: 32))
    let used = try await bench.session.getAssertion(
      Bench.assertion(CardBench.long() + [made.credentialID], salts: salts))
    #expect(used.credentialID == made.credentialID)
    _ = try await bench.session.getAssertion(Bench.assertion([made.credentialID]))
    #expect(bench.virtual.pinRetries == 8)
    let apdus = bench.desk.apdus
    #expect(quirk.isRight(apdus), "\(apdus.map { Hex.encode($0.prefix(12)) })")
    // One command each: nothing was asked of the key twice.
    #expect(bench.virtual.log.count(.makeCredential) == 1)
    // And of an exclude list on a card the list and each of its eight, silently (Q62).
    #expect(bench.virtual.log.count(.getAssertion) == 2 + 9)
  }

  @Test(
    "U2F on odd cards",
    arguments: [CardTraits().with { $0.refusesExtended = true }, CardTraits().with { $0.responseLimit = 16 }])
  func u2f(traits: CardTraits) async throws {
    let bench = try CardBench(.u2f, traits: traits)
    let made = try await bench.session.makeCredential(Bench.registration(uv: .discouraged))
    let used = try await bench.session.getAssertion(Bench.assertion([made.credentialID], uv: .discouraged))
    #expect(used.credentialID == made.credentialID)
  }

  @Test(
    "a card that cannot be used says why",
    arguments: [
      ("Q70: a USB key's card face", CardTraits().with { $0.isFaceOfUSBKey = true }, "useUSB"),
      ("Q72: a YubiKey that was never plugged in", CardTraits().with { $0.isRestricted = true }, "notASecurityKeyCard"),
    ])
  func unusable(name: String, traits: CardTraits, expected: String) async throws {
    let bench = try CardBench(traits: traits)
    #expect(await failure { try await bench.key.open() } == expected)
    if traits.isRestricted {
      #expect(CardError.notAKey(reader: "").next.contains("plugged into USB once"))
    }
  }

  static let scripts: [(String, [ScriptedCard.Step], String?)] = {
    let select = Array("FIDO_2_0".utf8) + [0x90, 0x00]
    let empty: ScriptedCard.Step = .answer([0x61, 0x10])
    return [
      ("no application", [.status(.notFound)], "notASecurityKeyCard"),
      (
        "SELECT is not known", [.status(.instructionNotSupported), .status(.instructionNotSupported)],
        "notASecurityKeyCard"
      ),
      ("SELECT fails without a name", Array(repeating: .status(.unknownError), count: 8), "cardRefused"),
      ("SELECT fails once without a name", [.status(.unknownError)], nil),
      ("SELECT wants another Le", [.answer([0x6C, 0x06])], nil),
      ("SELECT says a word that nobody knows", [.answer([0x41, 0x42, 0x90, 0x00])], "cardRefused"),
      ("SELECT says nothing", [.answer([0x90, 0x00])], "cardRefused"),
      ("an answer without a status word", [.answer([0x90])], nil),
      ("nothing but 61xx", [.answer(select)] + Array(repeating: empty, count: 12), "malformedAnswer"),
      (
        "an answer without end",
        [.answer(select)]
          + Array(repeating: .answer([UInt8](repeating: 0xA0, count: 250) + [0x61, 0xFF]), count: 200),
        "malformedAnswer"
      ),
      (
        "getInfo refused by class", [.answer(select)] + Array(repeating: .status(.classNotSupported), count: 3),
        "cardRefused"
      ),
      ("getInfo refused once", [.pass, .status(.classNotSupported)], nil),
      (
        "getInfo refused by a key that never says U2F",
        [.answer(select), .answer([0x01, 0x90, 0x00]), .answer([0x01, 0x90, 0x00])], "getInfoRefused"
      ),
      ("getInfo cut off", [.answer(select), .answer([0x00, 0xA1, 0x01, 0x90, 0x00])], nil),
      (
        "getInfo without anything in it", [.answer(select)] + Array(repeating: .answer([0x90, 0x00]), count: 3),
        "malformedAnswer"
      ),
      (
        "9100 to getInfo, which nobody offered to follow",
        [.answer(select)] + Array(repeating: .answer([1, 0x91, 0]), count: 3), "cardRefused"
      ),
    ]
  }()

  @Test("cards that answer by a script", arguments: scripts)
  func scripted(name: String, steps: [ScriptedCard.Step], expected: String?) async throws {
    let behind = VirtualCard(try VirtualAuthenticator())
    let desk = Desk(ScriptedCard(steps, behind: behind))
    let key = SecurityKey(desk.endpoint(), timings: Bench.quick)
    #expect(await failure { try await key.open() } == expected, "\(name)")
    // Nothing was taken for a weaker protocol.
    if expected == nil { #expect(try await key.open().info != nil) }
    await key.close()
  }

  @Test("endless keepalives end at the deadline, and the key is told to stop")
  func endlessKeepalives() async throws {
    let select = Array("FIDO_2_0".utf8) + [0x90, 0x00]
    let info = try #require(VirtualCard(try VirtualAuthenticator()).info)
    let card = ScriptedCard(
      [.answer(select), .answer(info)] + Array(repeating: .answer([1, 0x91, 0x00]), count: 100_000))
    let timings = KeyTimings(touch: .milliseconds(300), command: Pace.milliseconds(8000), drain: .milliseconds(100))
    let key = SecurityKey(Desk(card).endpoint(), timings: timings)
    #expect(await failure { try await key.makeCredential(Bench.registration()) } == "timedOut")
    #expect(card.received.contains { $0.starts(with: [0x80, 0x11, 0x11]) })
  }
}

extension VirtualCard {
  /// Its whole answer to getInfo, status word included.
  fileprivate var info: [UInt8]? {
    reset()
    _ = transmit((try? CommandAPDU.selectFIDO().shortForm()) ?? [])
    var command = CommandAPDU.ctapMessage([0x04])
    command.le = 65536
    return (try? command.extendedForm()).flatMap { transmit($0) }
  }
}
