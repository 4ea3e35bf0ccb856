// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc

extension CardTransport {
  /// How long one look for a change takes at most: a cancel need not wake the readers' thread.
  private static let look: Int32 = 250

  /// Waits for a key on a reader, selects FIDO on it and gives the version text it says.
  func find(_ terms: WaitTerms) throws(TransportError) -> [UInt8] {
    let end = Deadline.after(terms.person)
    let holdEnd = Deadline.after(patience)
    // Cards that were tried and are no keys, by reader, with the count of changes at that time.
    var tried: [String: Int] = [:]
    var refusal: CardError?
    var hasTold = false
    var states = try look()
    if wantsNewCard { for state in states where state.hasCard { tried[state.name] = state.changes } }
    while true {
      let candidates = try candidates(states)
      var isHeld = false
      for state in candidates where state.hasCard && tried[state.name] != state.changes {
        do throws(TransportError) {
          return try begin(state, terms)
        } catch .card(.readerInUse(let reader, let holder)) {
          guard !holdEnd.isOver else { throw .card(.readerInUse(reader: reader, by: holder)) }
          isHeld = true
        } catch .card(.removed) {
          continue
        } catch .card(let error) where error.isOfTheCard {
          tried[state.name] = state.changes
          refusal = error
        }
      }
      // Every reader has a card, and none is a key.
      if let refusal, !wantsNewCard, candidates.allSatisfy({ $0.hasCard && tried[$0.name] == $0.changes }) {
        throw .card(refusal)
      }
      guard isHeld || !end.isOver else {
        if wantsNewCard { throw .timedOut }
        throw .card(refusal ?? .noCard(reader: wanted.map { _ in candidates[0].name }))
      }
      if !isHeld, !hasTold {
        hasTold = true
        terms.onCard(.needed(reader: candidates.count == 1 ? candidates[0].name : nil))
      }
      states = isHeld ? try pauseAndLook(holdEnd) : try change(from: states, end)
    }
  }

  /// Connects to the card on a reader and selects FIDO.
  private func begin(_ state: ReaderState, _ terms: WaitTerms) throws(TransportError) -> [UInt8] {
    try connect(state.name, changes: state.changes)
    // The person's time is over when the card is there: the card has a command's time from here.
    limit = Deadline.after(terms.command).later(by: terms.drain)
    do throws(TransportError) { return try select(terms) } catch .card(.transmission), .malformed, .card(.refused) {
      // The field may have been weak when the card came in.
      return try reconnect(terms)
    }
  }

  private func connect(_ reader: String, changes: Int) throws(TransportError) {
    card = nil
    let reply = try ready().ask(
      .connect(reader), until: .after(.seconds(10)), cancel.isPulled ? nil : cancel, grace: .seconds(1))
    guard case .connected(let answer, let isByteOriented) = reply else { throw .malformed("no connection") }
    card = Card(reader: reader, changes: changes, answerToReset: answer, isByteOriented: isByteOriented)
  }

  /// The same reader's card once more, after a reset. What was learned of it stays.
  func reconnect(_ terms: WaitTerms) throws(TransportError) -> [UInt8] {
    guard let before = card else { throw .card(.removed) }
    try connect(before.reader, changes: before.changes)
    card?.shape = before.shape
    card?.refusesPolling = before.refusesPolling
    let version = try select(terms)
    // Who says something else is not understood, or is not who it was.
    guard before.version == nil || before.version == version else { throw .malformed("another version than before") }
    return version
  }

  /// SELECT, with Le and then without (QUIRKS Q69).
  func select(_ terms: WaitTerms) throws(TransportError) -> [UInt8] {
    guard let reader = card?.reader else { throw .card(.removed) }
    var response = try complete(.selectFIDO(), isExtended: false)
    if response.status != .success, response.status != .notFound {
      response = try complete(.selectFIDO(withLe: false), isExtended: false)
    }
    switch response.status {
    case .success:
      isDirty = false
      card?.version = response.data
      return response.data
    // No such application, function not supported, not selectable, no such command.
    case .notFound, .instructionNotSupported, .classNotSupported, .wrongLength, StatusWord(rawValue: 0x6A81),
      StatusWord(rawValue: 0x6999), .conditionsNotSatisfied:
      throw .card(ReaderNames.isFaceOfUSBKey(reader) ? .useUSB(reader: reader) : .notAKey(reader: reader))
    case let status: throw .card(.refused(status))
    }
  }

  /// Waits until the key is lifted and laid on the same reader again, and selects FIDO on it. The caller must make sure
  /// that it is the same key.
  func renew(_ terms: WaitTerms) throws(TransportError) {
    guard let before = card ?? lifted else { throw .card(.removed) }
    needsTapForEach = true
    let end = Deadline.after(terms.person)
    var states = try look()
    var isLifted = false
    var hasTold = false
    while true {
      guard let state = states.first(where: { $0.name == before.reader }) else { throw .card(.readerGone) }
      if !state.hasCard { isLifted = true }
      if !isLifted, state.changes == before.changes, !hasTold {
        hasTold = true
        terms.onCard(.tapAgain(reader: before.reader))
      }
      if state.hasCard, isLifted || state.changes != before.changes {
        do throws(TransportError) {
          _ = try begin(state, terms)
          card?.shape = before.shape
          card?.refusesPolling = before.refusesPolling
          return
        } catch .card(.removed) {
          // Not quite there yet.
        } catch .card(.unresponsive) {}
        card = before
      }
      guard !end.isOver else { throw .card(.newTapNeeded) }
      states = try change(from: states, end)
    }
  }

  // MARK: - Readers

  private func look() throws(TransportError) -> [ReaderState] {
    try list(.readers, .after(.seconds(10)))
  }

  private func change(from states: [ReaderState], _ end: Deadline) throws(TransportError) -> [ReaderState] {
    let milliseconds = min(Self.look, max(1, end.millisecondsLeft))
    return try list(.change(from: states, milliseconds: milliseconds), .after(.seconds(10)))
  }

  private func list(_ request: CardLine.Request, _ deadline: Deadline) throws(TransportError) -> [ReaderState] {
    guard !cancel.isPulled else { throw .cancelled }
    // Looking ends by itself, so a cancel need not leave the thread behind.
    let reply = try ready().ask(request, until: deadline, cancel, grace: .seconds(2))
    guard !cancel.isPulled else { throw .cancelled }
    guard case .readers(let states) = reply else { throw .malformed("no readers") }
    return states
  }

  private func pauseAndLook(_ end: Deadline) throws(TransportError) -> [ReaderState] {
    var waits = [pollfd(fd: cancel.eventDescriptor, events: Int16(POLLIN), revents: 0)]
    if poll(&waits, 1, min(100, max(1, end.millisecondsLeft))) > 0 { throw .cancelled }
    return try look()
  }

  /// The readers to look at.
  private func candidates(_ states: [ReaderState]) throws(TransportError) -> [ReaderState] {
    guard let wanted else {
      let real = states.filter { !ReaderNames.isFaceOfUSBKey($0.name) }
      guard real.isEmpty else { return real }
      throw .card(states.first.map { .useUSB(reader: $0.name) } ?? .noReader)
    }
    guard !states.isEmpty else { throw .card(.noReader) }
    let names = ReaderNames.matching(wanted, states.map(\.name))
    guard let name = names.first else { throw .card(.noSuchReader(wanted)) }
    guard names.count == 1 else { throw .card(.ambiguousReader(wanted, count: names.count)) }
    return states.filter { $0.name == name }
  }
}

extension CardError {
  /// Says something about one card, and nothing about the next reader.
  fileprivate var isOfTheCard: Bool {
    switch self {
    case .notAKey, .useUSB, .unresponsive, .refused, .transmission: true
    default: false
    }
  }
}

/// What a card reader wants of the person.
public enum CardWish: Sendable, Hashable {
  /// The key is to be laid on this reader, or on any.
  case needed(reader: String?)
  /// The key is to be lifted off the reader and laid on again.
  case tapAgain(reader: String)
}
