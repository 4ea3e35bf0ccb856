// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import SealFormats
import SecurityKeys

/// A U2F key's answers are made anew from what went over the wire: what the record says of them in WebAuthn's form is
/// only a copy, and must be the same.
extension Evaluation {
  /// What a U2F key was asked, and what it said.
  struct U2FExchange {
    let clientDataHash: [UInt8]
    /// The handle that it was asked for; empty for a registration.
    let handle: [UInt8]
    let data: [UInt8]
  }

  /// The last registration (`00 01`) or signature (`00 02 03`) that was answered with 9000.
  private static func last(_ ins: UInt8, _ attempt: StepRecord.Attempt) -> (CommandAPDU, [UInt8])? {
    for exchange in attempt.exchanges.reversed() {
      guard exchange.request.first == 0, exchange.reply.suffix(2).elementsEqual([0x90, 0x00]),
        let request = try? CommandAPDU(parsing: exchange.request), request.ins == ins,
        ins == 0x01 || request.p1 == 0x03
      else { continue }
      return (request, Array(exchange.reply.dropLast(2)))
    }
    return nil
  }

  /// The exchange that `answer` must follow from.
  /// - Throws: the outcome, when there is none or it asked for something else.
  private static func exchange(_ ins: UInt8, _ attempt: StepRecord.Attempt) throws(Refusal) -> U2FExchange {
    guard let (request, reply) = last(ins, attempt) else { throw Refusal(reason: attempt.failure ?? "noAnswer") }
    let data = request.data
    guard data.count >= 64 else { throw Refusal(reason: "requestMismatch(length)") }
    guard data[32..<64].elementsEqual(Seal.rpIdHash) else { throw Refusal(reason: "requestMismatch(rp)") }
    let rest = Array(data[64...])
    guard ins == 0x01 ? rest.isEmpty : rest.first.map(Int.init) == rest.count - 1 else {
      throw Refusal(reason: "requestMismatch(length)")
    }
    return U2FExchange(clientDataHash: Array(data[..<32]), handle: Array(rest.dropFirst()), data: reply)
  }

  /// Why there is no answer that counts.
  struct Refusal: Error { let reason: String }

  /// A registration's attestation object, and the hash that was signed.
  static func u2fRegistration(
    _ attempt: StepRecord.Attempt
  ) throws(Refusal) -> (object: [UInt8], clientDataHash: [UInt8]) {
    let exchange = try exchange(0x01, attempt)
    guard let made = try? U2FAnswer.registration(exchange.data, rpIdHash: Seal.rpIdHash) else {
      throw Refusal(reason: attempt.failure ?? "badAnswer")
    }
    guard let answer = attempt.answer else { throw Refusal(reason: attempt.failure ?? "answerMismatch") }
    guard answer.attestationObject == made.attestationObject, answer.signature == nil,
      answer.authenticatorData == nil, answer.credentialID == nil
    else { throw Refusal(reason: "answerMismatch") }
    return (made.attestationObject, exchange.clientDataHash)
  }

  /// A signature, what it is over, and for which handle.
  static func u2fAssertion(
    _ attempt: StepRecord.Attempt
  ) throws(Refusal) -> (authData: [UInt8], signature: [UInt8], credentialID: [UInt8], clientDataHash: [UInt8]) {
    let exchange = try exchange(0x02, attempt)
    guard let made = try? U2FAnswer.assertion(exchange.data, rpIdHash: Seal.rpIdHash) else {
      throw Refusal(reason: attempt.failure ?? "badAnswer")
    }
    guard let answer = attempt.answer else { throw Refusal(reason: attempt.failure ?? "answerMismatch") }
    guard answer.authenticatorData == made.authenticatorData, answer.signature == made.signature,
      answer.credentialID == exchange.handle, answer.attestationObject == nil
    else { throw Refusal(reason: "answerMismatch") }
    return (made.authenticatorData, made.signature, exchange.handle, exchange.clientDataHash)
  }
}
