// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// What goes wrong between a card and this computer, at one APDU.
enum CardFault: Sendable, Hashable {
  /// The card never hears it; the reader says that something went wrong.
  case requestLost
  /// The card does what it is told; the reader says that something went wrong.
  case replyLost
  /// The reader brings only so many bytes of the answer.
  case cut(to: Int)
  /// A bit of the answer is wrong.
  case flip(bit: Int)
  /// The card does not do it and says this.
  case refuse(UInt16)
  /// The card does it and this status word comes.
  case status(UInt16)
  /// The card is lifted before it hears it.
  case lift
  /// The card is lifted after it has done it, before its answer is read.
  case liftAfter
  /// The reader does not come back until somebody lets it.
  case hang
}

/// Readers on a table, and somebody who lays virtual cards on them.
final class Desk: Sendable {
  struct Slot {
    var name: String
    var card: (any SmartCard)?
    var changes = 0
    var isHeld = false
    /// T=0.
    var isByteOriented = false
    /// The longest APDU and response in bytes that the reader carries.
    var longest = Int.max
  }

  struct State {
    var slots: [Slot] = []
    var apdus: [[UInt8]] = []
    var faults: [Int: CardFault] = [:]
    var fired = 0
    /// Whether a reader that hangs comes back.
    var hangsNoMore = false
    var problem: CardError?
    /// Told of each APDU by its number, before the card hears it.
    var onAPDU: (@Sendable (Int) -> Void)?
  }

  static let reader = "Test Contactless Reader 00 00"
  let state: Locked<State>
  /// How often somebody has looked what there is.
  let looks = Locked(0)
  private let id = Hex.encode(Random.bytes(8))

  init(_ card: (any SmartCard)? = nil, reader: String = Desk.reader) {
    state = Locked(State(slots: [Slot(name: reader, card: card, changes: card == nil ? 0 : 1)]))
  }

  /// Every APDU so far.
  var apdus: [[UInt8]] { state.withLock { $0.apdus } }

  func change(_ name: String = Desk.reader, _ body: (inout Slot) -> Void) {
    state.withLock { s in
      for i in s.slots.indices where s.slots[i].name == name { body(&s.slots[i]) }
    }
  }

  func lay(_ card: any SmartCard, on name: String = Desk.reader) {
    change(name) {
      $0.card = card
      $0.changes += 1
      $0.isHeld = false
    }
  }

  @discardableResult
  func lift(from name: String = Desk.reader) -> (any SmartCard)? {
    var lifted: (any SmartCard)?
    change(name) {
      lifted = $0.card
      if $0.card != nil { $0.changes += 1 }
      $0.card = nil
      $0.isHeld = false
    }
    lifted?.powerOff()
    return lifted
  }

  /// Lifts the card and lays it on again.
  func tapAgain(_ name: String = Desk.reader) { if let card = lift(from: name) { lay(card, on: name) } }

  func readersForWatching() -> any CardReaders { DeskReaders(self) }

  func endpoint(reader: String? = nil, patience: Duration = .milliseconds(300)) -> KeyEndpoint {
    .cards(id, reader: reader, patience: patience) { () throws(TransportError) in DeskReaders(self) }
  }
}

private final class DeskReaders: CardReaders {
  let desk: Desk
  init(_ desk: Desk) { self.desk = desk }

  func readers() throws(TransportError) -> [ReaderState] {
    let (slots, problem) = desk.state.withLock { ($0.slots, $0.problem) }
    desk.looks.withLock { $0 += 1 }
    if let problem { throw .card(problem) }
    return slots.map {
      ReaderState(
        name: $0.name, hasCard: $0.card != nil, isExclusive: $0.isHeld, changes: $0.changes,
        answerToReset: $0.card?.answerToReset ?? [])
    }
  }

  func waitForChange(from known: [ReaderState], milliseconds: Int32) throws(TransportError) {
    let end = Deadline.after(.milliseconds(Int64(milliseconds)))
    while try readers() == known, !end.isOver { usleep(2000) }
  }

  func connect(_ reader: String) throws(TransportError) -> any APDUChannel {
    let slot = desk.state.withLock { s -> Desk.Slot? in
      guard let i = s.slots.firstIndex(where: { $0.name == reader }) else { return nil }
      let before = s.slots[i]
      if before.card != nil { s.slots[i].isHeld = true }
      return before
    }
    guard let slot else { throw .card(.readerGone) }
    guard let card = slot.card else { throw .card(.removed) }
    guard !slot.isHeld else { throw .card(.readerInUse(reader: reader, by: "scdaemon (process 7)")) }
    card.reset()
    return DeskChannel(desk, slot, card)
  }

  func close() {}
}

private final class DeskChannel: APDUChannel {
  let desk: Desk
  let slot: Desk.Slot
  let card: any SmartCard
  var isOpen = true

  init(_ desk: Desk, _ slot: Desk.Slot, _ card: any SmartCard) {
    self.desk = desk
    self.slot = slot
    self.card = card
  }

  deinit { disconnect() }

  var answerToReset: [UInt8] { card.answerToReset }
  var isByteOriented: Bool { slot.isByteOriented }

  func isStillThere() -> Bool {
    isOpen && desk.state.withLock { s in s.slots.contains { $0.name == slot.name && $0.changes == slot.changes } }
  }

  func transmit(_ apdu: [UInt8]) throws(TransportError) -> [UInt8] {
    guard isOpen, isStillThere() else { throw .card(.removed) }
    let (fault, tell, index) = desk.state.withLock { s in
      let fault = s.faults[s.apdus.count]
      s.apdus.append(apdu)
      if fault != nil { s.fired += 1 }
      return (fault, s.onAPDU, s.apdus.count - 1)
    }
    tell?(index)
    guard apdu.count <= slot.longest else { throw .card(.transmission(code: 0x8010_0004)) }
    switch fault {
    case .requestLost: throw .card(.transmission(code: 0x8010_0016))
    case .refuse(let word): return StatusWord(rawValue: word).bytes
    case .lift:
      desk.lift(from: slot.name)
      throw .card(.removed)
    case .hang: while !desk.state.withLock({ $0.hangsNoMore }) { usleep(2000) }
    default: break
    }
    guard var reply = card.transmit(apdu) else {
      desk.lift(from: slot.name)
      throw .card(.removed)
    }
    guard reply.count <= slot.longest else { throw .card(.transmission(code: 0x8010_0013)) }
    switch fault {
    case .replyLost: throw .card(.transmission(code: 0x8010_0016))
    case .cut(let count): return Array(reply.prefix(count))
    case .flip(let bit):
      reply[(bit / 8) % reply.count] ^= 1 << UInt8(bit % 8)
      return reply
    case .status(let word): return reply.dropLast(2) + StatusWord(rawValue: word).bytes
    case .liftAfter:
      desk.lift(from: slot.name)
      throw .card(.removed)
    default: return reply
    }
  }

  func disconnect() {
    guard isOpen else { return }
    isOpen = false
    desk.state.withLock { s in
      for i in s.slots.indices where s.slots[i].name == slot.name && s.slots[i].changes == slot.changes {
        s.slots[i].isHeld = false
      }
    }
  }
}

/// Waits for something that must come, however busy the computer is.
func eventually(_ what: () -> Bool) async throws {
  let end = Deadline.after(.seconds(60))
  while !what() {
    guard !end.isOver else { throw TransportError.timedOut }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// A virtual key on a reader, and everything a test needs around it.
final class CardBench: Sendable {
  let virtual: VirtualAuthenticator
  let card: VirtualCard
  let desk: Desk
  let key: SecurityKey
  let asked = Locked<[PINRequest]>([])
  let seen = Locked<[KeyEvent]>([])

  init(
    _ profile: ModelProfile = .virtual, traits: CardTraits = CardTraits(), touch: TouchControl.Policy = .automatic,
    timing: KeyTiming = Bench.timing, timings: KeyTimings = Bench.quick, reader: String? = nil
  ) throws {
    let virtual = try VirtualAuthenticator(profile: profile, touch: touch, timing: timing)
    let card = VirtualCard(virtual, traits: traits)
    self.virtual = virtual
    self.card = card
    desk = Desk(card)
    key = SecurityKey(desk.endpoint(reader: reader), timings: timings)
  }

  /// Another hold on the same key.
  func secondKey(timings: KeyTimings = Bench.quick) -> SecurityKey { SecurityKey(desk.endpoint(), timings: timings) }

  /// Who answers when the key wants its PIN.
  var person: PINProvider {
    { [self] request in
      asked.withLock { $0.append(request) }
      return SecretBytes(Bench.pin)
    }
  }

  var session: KeySession { KeySession(key, pin: person) }
  var pinQuestions: Int { asked.withLock { $0.count } }

  /// Follows what the key wants, and taps again when it asks for that.
  func attend(_ key: SecurityKey? = nil, taps: Bool = true) -> Task<Void, Never> {
    let events = (key ?? self.key).events
    return Task { [self] in
      for await event in events {
        seen.withLock { $0.append(event) }
        if taps, case .tapAgainNeeded = event { desk.tapAgain() }
      }
    }
  }

  static func long(_ count: Int = 8) -> [[UInt8]] { (0..<count).map { _ in Random.bytes(64) } }
}
