// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CUdev
import Glibc
import WebAuthnCore

/// A key on a card reader, the host's side (CTAP 2.1 section 11.3): SELECT, NFCCTAP_MSG in extended or chained APDUs, GET
/// RESPONSE, polling, and U2F.
///
/// It looks for a card in ``initialise(_:)`` and after that speaks with that card only: one that was lifted is not
/// silently taken for the next.
public final class CardTransport: KeyTransport {
  public let kindName = "pcsc"
  public private(set) var isSimulated = false
  /// The reader that was asked for, its name or a part of it; nil for any.
  let wanted: String?
  /// How long another program's hold on the reader is waited for.
  let patience: Duration
  /// A card that lies on the reader at first does not count.
  let wantsNewCard: Bool
  let cancel: CancelSwitch
  private let open: @Sendable () throws(TransportError) -> any CardReaders
  private(set) var line: CardLine?

  /// What is known of the card that this conversation is with.
  struct Card {
    let reader: String
    /// The reader's count of changes when the card was found.
    let changes: Int
    let answerToReset: [UInt8]
    /// T=0.
    let isByteOriented: Bool
    /// What it said to SELECT.
    var version: [UInt8]?
    /// How APDUs must look; nil until getInfo has shown it.
    var shape: Shape?
    /// An extended APDU longer than any short one has been carried.
    var carriesLong = false
    /// Answers P1 0x80 with a refusal.
    var refusesPolling = false
    /// Credentials made or used since the tap.
    var ceremonies = 0
  }

  /// How APDUs must look for the card and its reader.
  struct Shape: Hashable {
    var isExtended: Bool
    /// The most bytes of data wanted in one response.
    var responseLimit: Int
    /// From the best to the one that every reader can do.
    static let all = [
      Shape(isExtended: true, responseLimit: 256), Shape(isExtended: false, responseLimit: 256),
      Shape(isExtended: false, responseLimit: 240),
    ]
  }

  var card: Card?
  /// The card that was lifted off in mid-conversation.
  private(set) var lifted: Card?
  /// Something may still be under way on the card: SELECT first.
  var isDirty = false
  /// The key wants a tap for each ceremony.
  var needsTapForEach = false
  /// When the reader itself is given up, in the exchange under way.
  var limit = Deadline.now

  /// A transport that is not connected yet.
  /// - Parameters:
  ///   - reader: a reader's name or a part of it; nil for any reader but the card faces of USB keys.
  ///   - cancel: stops every wait.
  ///   - patience: how long another program's hold on the reader is waited for.
  ///   - wantsNewCard: a card that lies on the reader at first does not count, until it is lifted and laid on again.
  ///   - open: gives the readers; runs on a thread of its own.
  public init(
    reader: String?, cancel: CancelSwitch, patience: Duration = .seconds(5), wantsNewCard: Bool = false,
    open: @escaping @Sendable () throws(TransportError) -> any CardReaders
  ) {
    wanted = reader
    self.cancel = cancel
    self.patience = patience
    self.wantsNewCard = wantsNewCard
    self.open = open
  }

  deinit { close() }

  public var maximumRequestByteCount: Int { CTAPHIDFraming.maximumPayload(reportSize: 64) }

  public func close() {
    line?.giveUp()
    line = nil
    card = nil
  }

  /// The line to the readers, new where the last one was given up.
  func ready() throws(TransportError) -> CardLine {
    if let line, !line.isGivenUp { return line }
    card = nil
    let new = try CardLine(open)
    line = new
    return new
  }

  public func initialise(_ terms: WaitTerms) throws(TransportError) -> InitReply {
    guard !cancel.isPulled else { throw .cancelled }
    limit = terms.deadline.later(by: terms.drain)
    let version = try card == nil ? find(terms) : select(terms)
    isSimulated = card.map { ReaderNames.isVirtual($0.reader) } ?? false
    // A key that answers "U2F_V2" may speak CTAP2 as well, and getInfo tells; another word than that means CTAP2.
    let isOld = version == Array("U2F_V2".utf8)
    return InitReply(capabilities: isOld ? 0 : 0x04)
  }

  /// Whether the card that this conversation is with has been on its reader all the time.
  func isStillThere() -> Bool {
    guard card != nil, let line, !line.isGivenUp else { return false }
    guard case .flag(true) = try? line.ask(.isStillThere, until: .after(.seconds(2)), nil, grace: .zero) else {
      return false
    }
    return true
  }

  public func exchange(
    _ command: CTAPHIDCommand, _ payload: [UInt8], _ terms: WaitTerms
  ) throws(TransportError) -> [UInt8] {
    guard !cancel.isPulled else { throw .cancelled }
    guard card != nil else { throw .card(.removed) }
    limit = terms.deadline.later(by: terms.drain)
    if isDirty { _ = try select(terms) }
    isDirty = true
    let answer: ResponseAPDU
    do throws(TransportError) {
      switch command {
      case .cbor where payload.first == CTAPCommand.getInfo.rawValue && card?.shape == nil:
        answer = try firstInfo(payload, terms)
      case .cbor: answer = try message(payload, terms)
      case .message:
        let apdu: CommandAPDU
        do { apdu = try CommandAPDU(parsing: payload) } catch { throw .malformed("a command of our own") }
        answer = try run(apdu, terms)
        isDirty = false
        return answer.encoded
      default: throw .hid(.invalidCommand, raw: CTAPHIDErrorCode.invalidCommand.rawValue)
      }
    } catch {
      // The card is another's, or nobody's, after these.
      if case .card(let error) = error, error.endsTheConversation {
        lifted = error == .removed ? card : nil
        card = nil
      }
      throw error
    }
    isDirty = false
    guard answer.status == .success else { throw refusal(answer.status, of: payload) }
    guard let status = answer.data.first else { throw .malformed("an empty answer") }
    if status == 0, Self.isCeremony(payload) { card?.ceremonies += 1 }
    return answer.data
  }

  /// A CTAP2 message, polled for where a person may be waited for.
  private func message(_ payload: [UInt8], _ terms: WaitTerms) throws(TransportError) -> ResponseAPDU {
    // Never for a PIN: what is refused for P1 is sent again, and a PIN is sent once.
    guard KeyLink.mayWaitForTouch(payload), card?.refusesPolling != true else {
      return try patiently(payload) { () throws(TransportError) in try run(.ctapMessage(payload), terms) }
    }
    let first = try run(.ctapMessage(payload, polling: true), terms)
    switch first.status {
    // Wrong P1, or an instruction or class that the card knows only with P1 zero: nothing was done.
    case .wrongParameters, StatusWord(rawValue: 0x6B00), .instructionNotSupported, .classNotSupported:
      card?.refusesPolling = true
      return try patiently(payload) { () throws(TransportError) in try run(.ctapMessage(payload), terms) }
    default: return try poll(first, terms)
    }
  }

  /// A command that the reader answers when the key does: its silence is the person's.
  private func patiently(
    _ payload: [UInt8], _ body: () throws(TransportError) -> ResponseAPDU
  ) throws(TransportError) -> ResponseAPDU {
    do throws(TransportError) { return try body() } catch .noAnswer where KeyLink.mayWaitForTouch(payload) {
      throw .timedOut
    }
  }

  /// Follows 91xx with NFCCTAP_GETRESPONSE until the key has its answer (CTAP 2.1 section 11.3.5.2).
  private func poll(_ first: ResponseAPDU, _ terms: WaitTerms) throws(TransportError) -> ResponseAPDU {
    var stop: TransportError?
    do throws(TransportError) { return try poll(first, terms, &stop) } catch {
      // Whatever went wrong after we had stopped, this is why we had.
      throw stop ?? error
    }
  }

  private func poll(
    _ first: ResponseAPDU, _ terms: WaitTerms, _ stop: inout TransportError?
  ) throws(TransportError) -> ResponseAPDU {
    var response = first
    var drain = terms.deadline
    while response.status.rawValue >> 8 == 0x91 {
      if let status = response.data.first.flatMap(KeepaliveStatus.init) { terms.onKeepalive(status) }
      if stop == nil {
        stop = rest(terms.deadline)
        if stop != nil {
          drain = .after(terms.drain)
          limit = drain
          response = try complete(.ctapGetResponse(cancel: true), isExtended: false)
          continue
        }
      } else if drain.isOver {
        throw stop ?? .timedOut
      }
      response = try complete(.ctapGetResponse(), isExtended: false)
    }
    // A cancelled key answers 0x2D; if the touch won the race, what it says is what happened.
    if let stop, response.status != .success || response.data.first != 0 {
      isDirty = response.status != .success
      throw stop
    }
    return response
  }

  /// A short rest between two polls; why to stop, when that came in between.
  private func rest(_ deadline: Deadline) -> TransportError? {
    var waits = [pollfd(fd: cancel.eventDescriptor, events: Int16(POLLIN), revents: 0)]
    if Glibc.poll(&waits, 1, min(50, deadline.millisecondsLeft)) > 0 { return .cancelled }
    return deadline.isOver ? .timedOut : nil
  }

  /// What a status word means as an answer to a CTAP2 message.
  private func refusal(_ status: StatusWord, of payload: [UInt8]) -> TransportError {
    guard let card else { return .card(.refused(status)) }
    if status == .conditionsNotSatisfied || status == .commandNotAllowed {
      // A USB key's card face answers SELECT and then refuses everything (QUIRKS Q70).
      if payload.first == CTAPCommand.getInfo.rawValue { return .card(.useUSB(reader: card.reader)) }
      if Self.isCeremony(payload), card.ceremonies > 0 { return .card(.newTapNeeded) }
    }
    return .card(.refused(status))
  }

  private static func isCeremony(_ payload: [UInt8]) -> Bool {
    switch payload.first.flatMap(CTAPCommand.init(rawValue:)) {
    case .makeCredential: true
    // A silent probe needs no tap.
    case .getAssertion: (try? CBORDecoder.decode(payload, at: 1))?[5]?["up"]?.bool != false
    default: false
    }
  }
}

extension Deadline {
  /// The moment `duration` after this one.
  func later(by duration: Duration) -> Deadline {
    let (seconds, attoseconds) = duration.components
    return Deadline(nanoseconds: nanoseconds &+ seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
  }
}
