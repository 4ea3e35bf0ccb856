// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

extension CardTransport {
  /// The longest answer that is collected, in bytes: what CTAPHID could carry.
  static let maximumAnswer = 7609

  /// Sends one APDU as it is.
  func transmit(_ apdu: [UInt8]) throws(TransportError) -> ResponseAPDU {
    guard let line, card != nil else { throw .card(.removed) }
    do throws(TransportError) {
      // A cancel in mid-command is acted on between two commands; only a reader that hangs is left behind.
      let reply = try line.ask(
        .transmit(apdu), until: limit, cancel.isPulled ? nil : cancel, grace: grace)
      guard case .bytes(let bytes) = reply else { throw TransportError.malformed("no response") }
      guard let response = try? ResponseAPDU(parsing: bytes) else {
        throw TransportError.malformed("a response of \(bytes.count) bytes")
      }
      return response
    } catch {
      if line.isGivenUp { card = nil }
      throw error
    }
  }

  /// How long a command that is under way may go on after a cancel.
  private var grace: Duration { .seconds(1) }

  /// One APDU and everything that the card has to say to it: a wrong Le is put right once, and 61xx is followed.
  /// - Parameter isSentOnce: the command is not repeated for its Le either.
  func complete(
    _ apdu: CommandAPDU, isExtended: Bool, isSentOnce: Bool = false
  ) throws(TransportError) -> ResponseAPDU {
    var apdu = apdu
    apdu.le = apdu.le.map { min($0, responseLimit) }
    var response = try transmit(bytes(apdu, isExtended))
    if let le = response.status.correctLe, !isSentOnce {
      var again = apdu
      again.le = le == 0 ? 256 : Int(le)
      response = try transmit(bytes(again, false))
    }
    var data = response.data
    while let available = response.status.bytesAvailable {
      var request = CommandAPDU.getResponse(available: available)
      request.le = min(request.le ?? 256, responseLimit)
      response = try transmit(bytes(request, false))
      if let le = response.status.correctLe {
        request.le = le == 0 ? 256 : Int(le)
        response = try transmit(bytes(request, false))
      }
      guard !response.data.isEmpty || response.status.bytesAvailable == nil else {
        throw .malformed("a part of an answer with nothing in it")
      }
      data += response.data
      guard data.count <= Self.maximumAnswer else {
        throw .malformed("an answer of more than \(Self.maximumAnswer) bytes")
      }
    }
    guard data.count <= Self.maximumAnswer else {
      throw .malformed("an answer of more than \(Self.maximumAnswer) bytes")
    }
    return ResponseAPDU(data: data, status: response.status)
  }

  /// A whole command, in the form that the card takes: short where it fits, else extended, else chained.
  func run(_ command: CommandAPDU, _ terms: WaitTerms) throws(TransportError) -> ResponseAPDU {
    // A reader that cannot carry a whole short response cannot carry a whole short command either.
    let segment = responseLimit < 256 ? 240 : 255
    let isSentOnce = Self.maySpendATry(command)
    if command.data.count <= segment { return try complete(command, isExtended: false, isSentOnce: isSentOnce) }
    // A PIN is sent once, so in the form that every key must take.
    let isPIN = command.ins == 0x10 && command.data.first == CTAPCommand.clientPIN.rawValue
    if card?.shape?.isExtended != false, card?.isByteOriented == false, !isPIN {
      if let response = try extended(command), response.status != .wrongLength { return response }
      card?.shape?.isExtended = false
    }
    let parts = command.chained()
    for part in parts.dropLast() {
      let response = try transmit(bytes(part, false))
      guard response.status == .success else { return ResponseAPDU(status: response.status) }
    }
    guard let last = parts.last else { throw .malformed("nothing to send") }
    return try complete(last, isExtended: false, isSentOnce: isSentOnce)
  }

  /// Whether the command may cost a PIN try: a card that has done it and then asks for another Le would count it twice.
  private static func maySpendATry(_ command: CommandAPDU) -> Bool {
    guard command.ins == 0x10, command.data.first == CTAPCommand.clientPIN.rawValue else { return false }
    // How many tries are left, and key agreement, cost nothing.
    switch (try? CBORDecoder.decode(command.data, at: 1))?[2]?.int {
    case 1, 2, 7: return false
    default: return true
    }
  }

  /// A long command in one APDU; nil when the reader cannot carry it, which shows the first time only: the card is still
  /// there, as it was, and has not answered. Should it have heard the command all the same, a credential is made or used
  /// twice, and nothing else happens.
  private func extended(_ command: CommandAPDU) throws(TransportError) -> ResponseAPDU? {
    do throws(TransportError) {
      let response = try complete(command, isExtended: true)
      card?.carriesLong = true
      return response
    } catch .card(.transmission(let code)) {
      guard card?.carriesLong == false, let line, !cancel.isPulled,
        case .flag(true) = try line.ask(.isStillThere, until: limit, cancel, grace: grace)
      else { throw .card(.transmission(code: code)) }
      return nil
    }
  }

  /// getInfo, which changes nothing, shows what card and reader can carry: extended APDUs and whole responses if they
  /// can, less if they cannot. A refusal counts only when it is heard twice.
  func firstInfo(_ payload: [UInt8], _ terms: WaitTerms) throws(TransportError) -> ResponseAPDU {
    var outcome: Result<ResponseAPDU, TransportError> = .failure(.malformed("no answer"))
    for shape in Shape.all where !(shape.isExtended && card?.isByteOriented == true) {
      do throws(TransportError) {
        // What the reader made of the last form may have upset the card.
        if isUpset(outcome) { _ = try reconnect(terms) }
        card?.shape = shape
        let response = try complete(.ctapMessage(payload), isExtended: shape.isExtended)
        if response.status == .success, response.data.first == 0,
          (try? CBORDecoder.decodeAll(Array(response.data.dropFirst())))?.map != nil
        {
          return response
        }
        let before = outcome
        outcome = .success(response)
        // Twice the same refusal: a smaller form would not change it.
        if response.data.count <= 1, case .success(let other) = before, other == response { break }
      } catch .card(.removed) {
        throw .card(.removed)
      } catch .card(.readerGone) {
        throw .card(.readerGone)
      } catch .cancelled {
        throw .cancelled
      } catch {
        outcome = .failure(error)
        if line?.isGivenUp != false { break }
      }
    }
    card?.shape = nil
    return try outcome.get()
  }

  private func isUpset(_ outcome: Result<ResponseAPDU, TransportError>) -> Bool {
    switch outcome {
    case .failure(.malformed("no answer")): false
    case .failure: true
    case .success(let response): response.status == .success && response.data.count > 1
    }
  }

  private var responseLimit: Int { card?.shape?.responseLimit ?? 256 }

  /// The bytes of an APDU. In T=0 there is no Le beside data: the card's 61xx stands for it.
  private func bytes(_ apdu: CommandAPDU, _ isExtended: Bool) throws(TransportError) -> [UInt8] {
    var apdu = apdu
    if card?.isByteOriented == true, !apdu.data.isEmpty { apdu.le = nil }
    do { return try isExtended ? apdu.extendedForm() : apdu.shortForm() } catch {
      throw .malformed("\(apdu.data.count) bytes for one command")
    }
  }
}
