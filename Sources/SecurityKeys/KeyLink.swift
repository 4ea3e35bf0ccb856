// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// The timings of an act. Ours, not the key's.
public struct KeyTimings: Sendable {
  /// How long a person may take to touch.
  public var touch: Duration
  /// How long a command that needs nobody may take.
  public var command: Duration
  /// How long a cancelled key may take to say so.
  public var drain: Duration
  /// What a person gets.
  public static let standard = KeyTimings(touch: .seconds(30), command: .seconds(5), drain: .seconds(1))
  /// Any others.
  public init(touch: Duration, command: Duration, drain: Duration) {
    self.touch = touch
    self.command = command
    self.drain = drain
  }
}

/// One open conversation with a key: every CTAP command passes here, whoever sends it, libfido2 or the probe lane.
///
/// It keeps the raw replies (what counts is what the key said, not what a parser made of it), gives each command its
/// own deadline, and bounds replies before a C library sees them.
final class KeyLink {
  let transport: any KeyTransport
  let cancel: CancelSwitch
  var timings: KeyTimings
  /// Told of everything a person might want to know.
  var onEvent: (KeyEvent) -> Void = { _ in }
  /// Told of every exchange: the recorder's place. PIN material is already encrypted here.
  var onExchange: ((_ request: [UInt8], _ reply: [UInt8]) -> Void)?

  /// What INIT said.
  private(set) var initReply: InitReply?
  /// What getInfo said; nil for a U2F key.
  private(set) var info: AuthenticatorInfo?
  /// The last raw reply to each command, status byte first.
  private(set) var lastReply: [UInt8: [UInt8]] = [:]
  /// Why the last exchange failed, when it did.
  private(set) var failure: SecurityKeyError?
  /// When the touch wait of the current act began.
  private(set) var touchWaitBegan: Deadline?

  init(transport: any KeyTransport, cancel: CancelSwitch, timings: KeyTimings) {
    self.transport = transport
    self.cancel = cancel
    self.timings = timings
  }

  /// Opens the conversation: INIT, then getInfo.
  ///
  /// A key is taken for U2F only when INIT does not offer CBOR *and* the key refuses it in so many words. A lost or
  /// garbled answer is an error, never a weaker protocol.
  func open() throws(SecurityKeyError) {
    let reply: InitReply
    do { reply = try transport.initialise(terms(timings.command)) } catch { throw .transport(error) }
    initReply = reply
    do { try readInfo() } catch .transport(.hid(.invalidCommand, _)) where speaksOnlyU2F {
      return
    } catch .getInfoRefused(Int(CTAPStatus.invalidCommand.rawValue)) where speaksOnlyU2F {
      return
    } catch .transport(.card(.refused(let word))) where speaksOnlyU2F && Self.meansNoSuchCommand(word) {
      return
    }
  }

  /// INIT says so. It may lie (QUIRKS Q16), so the key must refuse CBOR as well.
  private var speaksOnlyU2F: Bool { initReply.map { !$0.offersCBOR && !$0.refusesMessages } ?? false }

  /// A card's way to say that it does not know NFCCTAP_MSG.
  private static func meansNoSuchCommand(_ word: StatusWord) -> Bool {
    word == .instructionNotSupported || word == .classNotSupported
  }

  /// The wire, where it is a card reader.
  var card: CardTransport? { transport as? CardTransport }

  /// Whether the key that was open is still at the other end.
  var isStillThere: Bool { card?.isStillThere() ?? true }

  /// Whether the key said no because it wants to be lifted and laid on again first.
  func wantsNewTap(after error: SecurityKeyError) -> Bool {
    guard let card else { return false }
    switch error {
    case .status(.upRequired), .transport(.card(.newTapNeeded)): return true
    // Some say so in other words (QUIRKS Q71), at once, and only to a second ceremony.
    case .status(.operationDenied), .transport(.timedOut), .status(.userActionTimeout), .status(.actionTimeout):
      return (card.card?.ceremonies ?? 0) > 0 && touchWaitBegan == nil && !cancel.isPulled
    default: return false
    }
  }

  /// Asks the person for a new tap, and makes sure that it is a key that says the same of itself.
  func renew() throws(SecurityKeyError) {
    guard let card else { return }
    do { try card.renew(terms(timings.command)) } catch { throw .transport(error) }
    guard let before = info else { return }
    try readInfo()
    guard info?.identity == before.identity else { throw .transport(.card(.anotherKey)) }
  }

  /// getInfo, also later when the key's options have changed.
  func readInfo() throws(SecurityKeyError) {
    let answer: [UInt8]
    do {
      answer = try transport.exchange(.cbor, [CTAPCommand.getInfo.rawValue], terms(timings.command))
    } catch { throw .transport(error) }
    guard let status = answer.first else { throw .badAnswer("an empty answer to getInfo") }
    guard status == 0 else { throw .getInfoRefused(status: Int(status)) }
    onExchange?([CTAPCommand.getInfo.rawValue], answer)
    do { info = try AuthenticatorInfo(parsing: Array(answer.dropFirst())) } catch {
      throw .badAnswer("getInfo: \(error.message)")
    }
  }

  /// Forgets the outcome of the act before.
  func begin() {
    failure = nil
    lastReply = [:]
    touchWaitBegan = nil
  }

  /// Sends a CTAP2 request and gives the raw reply, status byte first.
  /// - Throws: what went wrong below CTAP; a refusal by the key is a reply.
  func exchange(_ request: [UInt8]) throws(SecurityKeyError) -> [UInt8] {
    guard let command = request.first else { throw .badAnswer("an empty request") }
    let limit = min(info?.effectiveMaxMsgSize ?? 1024, transport.maximumRequestByteCount)
    guard request.count <= limit else {
      let error = SecurityKeyError.requestTooLarge(count: request.count, limit: limit)
      failure = error
      throw error
    }
    do {
      let needsTouch = Self.mayWaitForTouch(request)
      let reply = try transport.exchange(.cbor, rewritten(request), terms(needsTouch ? timings.touch : timings.command))
      guard !reply.isEmpty else { throw TransportError.malformed("an empty answer") }
      lastReply[command] = reply
      onExchange?(request, reply)
      return reply
    } catch let error as TransportError {
      failure = .transport(error)
      throw .transport(error)
    } catch {
      throw .badAnswer("\(error)")
    }
  }

  /// Sends a U2F APDU and gives data and status word.
  func message(_ apdu: [UInt8]) throws(SecurityKeyError) -> [UInt8] {
    do {
      let reply = try transport.exchange(.message, apdu, terms(timings.command))
      guard reply.count >= 2 else { throw TransportError.malformed("a U2F answer of \(reply.count) bytes") }
      onExchange?(apdu, reply)
      return reply
    } catch let error as TransportError { throw .transport(error) } catch { throw .badAnswer("\(error)") }
  }

  /// Makes sure that the answers so far belonged to their questions.
  /// - Throws: ``SecurityKeyError/badAnswer(_:)`` when there was one too many.
  func checkStep() throws(SecurityKeyError) {
    let inStep: Bool
    do { inStep = try transport.wasInStep(terms(timings.command)) } catch { throw .transport(error) }
    guard inStep else { throw .badAnswer("more answers than questions") }
  }

  private func terms(_ duration: Duration) -> WaitTerms {
    WaitTerms(
      deadline: .after(duration), drain: timings.drain, person: timings.touch, command: timings.command,
      onCard: { [self] wish in
        switch wish {
        case .needed(let reader): onEvent(.cardNeeded(reader: reader))
        case .tapAgain(let reader): onEvent(.tapAgainNeeded(reader: reader))
        }
      }
    ) { [self] status in
      switch status {
      case .processing: onEvent(.processing)
      case .userPresenceNeeded:
        if touchWaitBegan == nil { touchWaitBegan = .now }
        onEvent(.touchNeeded)
      }
    }
  }

  /// How long the key has been waiting for a touch in this act.
  var touchWait: Duration {
    guard let began = touchWaitBegan else { return .zero }
    return .nanoseconds(Deadline.now.nanoseconds - began.nanoseconds)
  }

  static func mayWaitForTouch(_ request: [UInt8]) -> Bool {
    switch request.first.flatMap(CTAPCommand.init) {
    case .makeCredential, .getAssertion, .selection, .reset, .bioEnrollment, .bioEnrollmentPreview: true
    // Getting a token by fingerprint waits for the finger.
    case .clientPIN: request.count > 1 && (try? CBORDecoder.decode(request, at: 1))?[2]?.int == 6
    default: false
    }
  }

  /// libfido2 1.12 sends the preview commands; a key that only knows the final ones gets those. The PIN
  /// authentication does not cover the command byte.
  private func rewritten(_ request: [UInt8]) -> [UInt8] {
    guard let info, let command = request.first.flatMap(CTAPCommand.init) else { return request }
    switch command {
    case .credentialManagementPreview
    where info.option("credentialMgmtPreview") == nil && info.option("credMgmt") == true:
      return [CTAPCommand.credentialManagement.rawValue] + request.dropFirst()
    case .bioEnrollmentPreview
    where info.option("userVerificationMgmtPreview") == nil && info.option("bioEnroll") != nil:
      return [CTAPCommand.bioEnrollment.rawValue] + request.dropFirst()
    default: return request
    }
  }
}
