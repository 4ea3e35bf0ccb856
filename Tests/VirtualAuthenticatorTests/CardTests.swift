// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

/// The key as a card (CTAP 2.1 section 11.3), and what cards do to hosts.
@Suite("Card")
struct CardTests {
  static let getInfo: [UInt8] = [0x04]
  static var makeCredential: [UInt8] { [0x01] + CBORValue.encode(.intMap(Platform.registration())) }

  private func card(
    _ traits: CardTraits = CardTraits(), _ profile: ModelProfile = .virtual,
    touch: TouchControl.Policy = .automatic, selects: Bool = true
  ) throws -> VirtualCard {
    let card = VirtualCard(try VirtualAuthenticator(profile: profile, touch: touch), traits: traits)
    card.reset()
    if selects { #expect(try send(card, .selectFIDO()).status == .success) }
    return card
  }

  private func send(_ card: any SmartCard, _ apdu: CommandAPDU, extended: Bool = false) throws -> ResponseAPDU {
    let bytes = try extended ? apdu.extendedForm() : apdu.shortForm()
    return try ResponseAPDU(parsing: try #require(card.transmit(bytes)))
  }

  /// Sends whole commands, follows 61xx.
  private func run(_ card: VirtualCard, _ apdu: CommandAPDU, chained: Bool) throws -> ResponseAPDU {
    var response: ResponseAPDU
    if chained {
      let parts = apdu.chained()
      for part in parts.dropLast() { #expect(try send(card, part).status == .success) }
      response = try send(card, parts[parts.count - 1])
    } else {
      response = try send(card, apdu, extended: true)
    }
    var data = response.data
    while let available = response.status.bytesAvailable {
      response = try send(card, .getResponse(available: available))
      data += response.data
    }
    return ResponseAPDU(data: data, status: response.status)
  }

  @Test("a registration by extended and by chained APDUs", arguments: [false, true], [nil, 16, 255])
  func registration(chained: Bool, limit: Int?) throws {
    let card = try card(CardTraits().with { $0.responseLimit = limit })
    let reply = try run(card, .ctapMessage(Self.makeCredential), chained: chained)
    #expect(reply.status == .success && reply.data.first == 0)
    let map = try CBORDecoder.decodeAll(Array(reply.data.dropFirst()))
    #expect(map[1]?.text == "packed")
    #expect(card.key.log.count(.makeCredential) == 1)
    #expect(card.exchanges > 1 && card.bytesExchanged > reply.data.count)
  }

  @Test(
    "SELECT says which versions there are",
    arguments: [
      ("virtual", "U2F_V2"), ("u2f", "U2F_V2"), ("ctap2", "FIDO_2_0"),
    ])
  func version(profile: String, text: String) throws {
    let model =
      ModelProfile.named(profile)
      ?? .virtual.varied(profile) { $0.info.versions.removeAll { $0 == "U2F_V2" } }
    let card = try card(CardTraits(), model, selects: false)
    let reply = try send(card, .selectFIDO())
    #expect(String(decoding: reply.data, as: UTF8.self) == text && reply.status == .success)
  }

  static let rules: [(String, [[UInt8]], StatusWord)] = [
    ("nothing without SELECT", [[0x80, 0x10, 0, 0, 1, 4, 0]], .instructionNotSupported),
    ("another application", [[0x00, 0xA4, 0x04, 0, 2, 0xA0, 0x00, 0]], .notFound),
    ("SELECT by another way", [[0x00, 0xA4, 0x00, 0, 2, 0x3F, 0x00, 0]], .notFound),
    ("GET RESPONSE out of nowhere", [select, [0x00, 0xC0, 0, 0, 0]], .conditionsNotSatisfied),
    ("unknown class", [select, [0x81, 0x10, 0, 0, 1, 4, 0]], .classNotSupported),
    ("unknown instruction", [select, [0x80, 0x13, 0, 0, 0]], .classNotSupported),
    ("NFCCTAP_MSG, P1 1", [select, [0x80, 0x10, 1, 0, 1, 4, 0]], .wrongParameters),
    ("NFCCTAP_GETRESPONSE out of nowhere", [select, [0x80, 0x11, 0, 0, 0]], .conditionsNotSatisfied),
    ("NFCCTAP_CONTROL end", [select, [0x80, 0x12, 1, 0]], .success),
    ("after the end", [select, [0x80, 0x12, 1, 0], [0x80, 0x10, 0, 0, 1, 4, 0]], .instructionNotSupported),
    ("NFCCTAP_CONTROL, P1 2", [select, [0x80, 0x12, 2, 0]], .wrongParameters),
    ("a foreign link in a chain", [select, [0x90, 0x10, 0, 0, 1, 4], [0x80, 0x11, 0, 0, 0]], .lastOfChainExpected),
    ("lengths that do not add up", [select, [0x80, 0x10, 0, 0, 9, 4]], .wrongLength),
    ("nothing at all", [select, []], .wrongLength),
    ("U2F version", [select, [0x00, 0x03, 0, 0, 0]], .success),
  ]
  static let select: [UInt8] = [0x00, 0xA4, 0x04, 0, 8, 0xA0, 0, 0, 0x06, 0x47, 0x2F, 0, 0x01, 0]

  @Test("rules", arguments: rules)
  func rule(name: String, apdus: [[UInt8]], status: StatusWord) throws {
    let card = try card(selects: false)
    var last: StatusWord?
    for apdu in apdus { last = try ResponseAPDU(parsing: try #require(card.transmit(apdu))).status }
    #expect(last == status, "\(name)")
  }

  @Test("a CTAP2 error travels in the data, not in the status word")
  func ctapError() throws {
    let card = try card()
    let reply = try send(card, .ctapMessage([0x33]))
    #expect(reply == ResponseAPDU(data: [CTAPStatus.invalidCommand.rawValue], status: .success))
  }

  @Test("polling: 9100 until the touch, then the answer")
  func polling() throws {
    let card = try card(touch: .never)
    var reply = try send(card, .ctapMessage([0x0B], polling: true))
    #expect(reply == ResponseAPDU(data: [2], status: .keepalive))
    reply = try send(card, .ctapGetResponse())
    #expect(reply.status == .keepalive)
    card.key.touch.touch()
    reply = try send(card, .ctapGetResponse())
    #expect(reply == ResponseAPDU(data: [0], status: .success))
    #expect(try send(card, .ctapGetResponse()).status == .conditionsNotSatisfied)
  }

  @Test("polling can be cancelled, and is given up with the field")
  func pollingCancelled() throws {
    let card = try card(touch: .never)
    #expect(try send(card, .ctapMessage([0x0B], polling: true)).status == .keepalive)
    #expect(
      try send(card, .ctapGetResponse(cancel: true))
        == ResponseAPDU(data: [CTAPStatus.keepaliveCancel.rawValue], status: .success))
    #expect(try send(card, .ctapMessage([0x0B], polling: true)).status == .keepalive)
    card.powerOff()
    #expect(card.key.touch.pending == nil)
    card.reset()
    #expect(try send(card, .selectFIDO()).status == .success)
    card.key.touch.setPolicy(.automatic)
    #expect(try send(card, .ctapMessage(Self.getInfo)).status.bytesAvailable != nil)
  }

  @Test("a quick command is answered at once although polling was offered")
  func quick() throws {
    let reply = try send(card(), .ctapMessage(Self.getInfo, polling: true), extended: true)
    #expect(reply.status.bytesAvailable != nil || reply.status == .success)
    #expect(reply.data.first == 0)
  }

  @Test("getNextAssertion works on a card")
  func stateful() throws {
    let card = try card()
    for n in 1...2 {
      let members = Platform.registration(user: [UInt8(n)], options: [("rk", true)])
      let reply = try run(card, .ctapMessage([0x01] + CBORValue.encode(.intMap(members))), chained: true)
      #expect(reply.data.first == 0)
    }
    let first = try run(card, .ctapMessage([0x02] + CBORValue.encode(.intMap(Platform.assertion()))), chained: true)
    #expect(first.data.first == 0)
    #expect(try run(card, .ctapMessage([0x08]), chained: true).data.first == 0)
  }

  @Test("lifting the card takes the power away")
  func power() throws {
    let card = try card()
    let platform = Platform(card.key)
    try #require(try platform.setPIN("2580") == .success)
    for _ in 0..<3 { _ = try platform.tokenReply("wrong", 1) }
    #expect(try platform.tokenReply("2580", 1).0 == .pinAuthBlocked)
    card.powerOff()
    card.reset()
    #expect(try platform.tokenReply("2580", 1).0 == .success)
  }

  // MARK: - Departures

  /// One trait: what the plain card says to the last APDU, and what this one says.
  static let traits: [(String, CardTraits, [[UInt8]], UInt16, UInt16)] = {
    let plain = CardTraits()
    let info: [UInt8] = [0x80, 0x10, 0, 0, 0, 0, 1, 4, 0, 0]
    let selectBare = Array(select.dropLast())
    return [
      ("selectNeedsGetResponse", plain.with { $0.selectNeedsGetResponse = true }, [select], 0x9000, 0x6106),
      ("selectRefusesLe", plain.with { $0.selectRefusesLe = true }, [select], 0x9000, 0x6700),
      ("selectNeedsLe", plain.with { $0.selectNeedsLe = true }, [selectBare], 0x9000, 0x6700),
      ("refusesExtended", plain.with { $0.refusesExtended = true }, [select, info], 0x9000, 0x6700),
      (
        "refusesChaining", plain.with { $0.refusesChaining = true }, [select, [0x90, 0x10, 0, 0, 1, 4]], 0x9000, 0x6884
      ),
      (
        "leOnlyOnLast", plain.with { $0.leOnlyOnLast = true }, [select, [0x90, 0x10, 0, 0, 1, 4, 0]], 0x9000, 0x6700
      ),
      ("responseLimit", plain.with { $0.responseLimit = 4 }, [select], 0x9000, 0x6102),
      (
        "refusesPolling", plain.with { $0.refusesPolling = true },
        [select, [0x80, 0x10, 0x80, 0, 0, 0, 1, 4, 0, 0]], 0x9000, 0x6A86
      ),
      (
        "pollsBeforeAnswer", plain.with { $0.pollsBeforeAnswer = 2 },
        [select, [0x80, 0x10, 0x80, 0, 0, 0, 1, 4, 0, 0], [0x80, 0x11, 0, 0, 0]], 0x6985, 0x9100
      ),
      ("isFaceOfUSBKey", plain.with { $0.isFaceOfUSBKey = true }, [select, info], 0x9000, 0x6985),
      ("isRestricted", plain.with { $0.isRestricted = true }, [select], 0x9000, 0x6A82),
    ]
  }()

  @Test("each trait", arguments: traits)
  func trait(name: String, traits: CardTraits, apdus: [[UInt8]], plain: UInt16, odd: UInt16) throws {
    for (traits, expected) in [(CardTraits(), plain), (traits, odd)] {
      let card = try card(traits, selects: false)
      var last: StatusWord?
      for apdu in apdus { last = try ResponseAPDU(parsing: try #require(card.transmit(apdu))).status }
      #expect(last == StatusWord(rawValue: expected), "\(name)")
    }
  }

  @Test("one ceremony for each tap")
  func onePerTap() throws {
    let card = try card(CardTraits().with { $0.oneCeremonyPerTap = true })
    #expect(try run(card, .ctapMessage(Self.makeCredential), chained: true).data.first == 0)
    #expect(
      try run(card, .ctapMessage(Self.makeCredential), chained: true).data == [CTAPStatus.upRequired.rawValue])
    #expect(try run(card, .ctapMessage(Self.getInfo), chained: true).data.first == 0)
    card.powerOff()
    card.reset()
    _ = try send(card, .selectFIDO())
    #expect(try run(card, .ctapMessage(Self.makeCredential), chained: true).data.first == 0)
  }

  @Test("a scripted card says what it is told, then what is behind it")
  func scripted() throws {
    let card = try card(selects: false)
    let scripted = ScriptedCard(
      [.status(.wrongLength), .answer([1, 2, 0x61, 0x03]), .pass, .remove], behind: card)
    #expect(scripted.transmit(Self.select) == [0x67, 0x00])
    #expect(scripted.transmit(Self.select) == [1, 2, 0x61, 0x03])
    #expect(scripted.transmit(Self.select)?.suffix(2) == [0x90, 0x00])
    #expect(scripted.transmit(Self.select) == nil)
    #expect(scripted.transmit(Self.select) == nil, "gone is gone, until the field comes again")
    scripted.reset()
    #expect(scripted.transmit(Self.select)?.suffix(2) == [0x90, 0x00])
    #expect(scripted.received.count == 6)
  }

  @Test("a card that is lifted is not there, until it is laid on again")
  func lifting() throws {
    let card = LiftableCard(try card(selects: false), lifts: [1])
    #expect(card.transmit(Self.select)?.suffix(2) == [0x90, 0x00])
    #expect(card.transmit(Self.select) == nil && card.answerToReset.isEmpty)
    #expect(card.transmit(Self.select) == nil)
    card.lay()
    #expect(card.transmit([0x80, 0x10, 0, 0, 1, 4, 0]) == [0x6D, 0x00], "the lift took the selection away")
    #expect(card.transmit(Self.select)?.suffix(2) == [0x90, 0x00] && !card.answerToReset.isEmpty)
    card.lift()
    #expect(card.transmit(Self.select) == nil)
    #expect(card.apduCount == 6)
  }

  @Test("traits as text")
  func traitText() throws {
    let all = try CardTraits(
      parsing:
        "select-61xx,select-refuses-le,select-needs-le,no-extended,no-chaining,le-on-last,response:255,no-polling,"
        + "polls:3,usb-face,tap-for-each,restricted")
    #expect(
      all
        == CardTraits().with {
          $0.selectNeedsGetResponse = true
          $0.selectRefusesLe = true
          $0.selectNeedsLe = true
          $0.refusesExtended = true
          $0.refusesChaining = true
          $0.leOnlyOnLast = true
          $0.responseLimit = 255
          $0.refusesPolling = true
          $0.pollsBeforeAnswer = 3
          $0.isFaceOfUSBKey = true
          $0.oneCeremonyPerTap = true
          $0.isRestricted = true
        })
    for text in ["", "x", "response", "response:0", "response:x", "no-extended:1", "polls:-1", "no-extended,"] {
      #expect(throws: CardTraitTextError.self) { try CardTraits(parsing: text) }
    }
  }
}
