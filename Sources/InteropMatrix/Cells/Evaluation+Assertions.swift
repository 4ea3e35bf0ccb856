// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import WebAuthnCore

/// Assertions, the secrets in them, and a touch that is cancelled.
extension Evaluation {
  mutating func assertion(_ step: MatrixStep, _ attempt: StepRecord.Attempt, _ index: Int) -> Outcome {
    let authData: [UInt8]
    let signature: [UInt8]
    var hashed: [UInt8]?
    var named: [UInt8]?
    var request: CBORItem?
    if info == nil {
      do throws(Refusal) {
        let made = try Self.u2fAssertion(attempt)
        (authData, signature, named, hashed) = (made.authData, made.signature, made.credentialID, made.clientDataHash)
      } catch { return .failed(error.reason, status: attempt.status) }
    } else if let reply = reply(0x02, attempt) {
      guard let data = reply.map[2]?.bytes, let given = reply.map[3]?.bytes else { return .failed("badAnswer") }
      (authData, signature, named) = (data, given, reply.map[1]?["id"]?.bytes)
      hashed = reply.request[2]?.bytes ?? []
      request = reply.request
    } else {
      return refusal(0x02, attempt)
    }
    guard let credential = credentials[step.usesPRFCredential ? .prfRegister : .register] else {
      return .failed("noCredential")
    }
    let line = SealTelemetry.verify(
      authenticatorData: authData, clientDataJSON: attempt.clientDataJSON, signature: signature,
      publicKey: credential.publicKey, rpID: Seal.relyingPartyID)
    if let request, let fault = RequestRules.fault(step, assertion: request, credentialID: credential.id) {
      return .failed(fault, telemetry: line)
    }
    if let fault = clientDataFault(step, attempt, index, hashed) { return .failed(fault, telemetry: line) }
    // The challenge of an endorsement is the same at every try: one answer must not stand for all of them.
    guard signatures.insert(signature).inserted else {
      // Without a counter, and with signatures made as RFC 6979 says, two true answers are the same: it counts once.
      guard authData.count < 37 || Self.counter(authData) > 0 else {
        return Outcome(
          reason: "the same answer once more, which shows nothing new", notes: ["answerRepeated"], isNotDone: true)
      }
      return .failed("answerRepeated", telemetry: line)
    }
    if let named, named != credential.id { return .failed("credentialNotAllowed", telemetry: line) }
    let verifier = AssertionVerifier(
      rpID: Seal.relyingPartyID, challenge: Self.challenge(in: attempt.clientDataJSON), origins: [Seal.origin],
      requiresUserVerification: canVerifyUser && step != .prfWithoutUV,
      backupEligibleAtRegistration: credential.flags.contains(.backupEligible), lastSignCount: counters[credential.id])
    let problems = verifier.problems(
      authenticatorData: authData, clientDataJSON: attempt.clientDataJSON, signature: signature,
      publicKey: .es256(credential.publicKey))
    if authData.count >= 37 { counters[credential.id] = Self.counter(authData) }
    guard line.hasPrefix("verify: OK") else {
      return .failed(problems.first { !$0.isWarning }?.name ?? "contextViolation", telemetry: line)
    }
    var outcome = Outcome(telemetry: line, notes: problems.map(\.name))
    if step.asksPRF { judgeSecret(step, attempt, authData, &outcome) }
    return outcome
  }

  /// Whether a secret came, over the protocol that the step is about and verified as the step says, and whether it is
  /// the one of the enrolment. All but the last follows from the signed bytes.
  private mutating func judgeSecret(
    _ step: MatrixStep, _ attempt: StepRecord.Attempt, _ authData: [UInt8], _ outcome: inout Outcome
  ) {
    let data = try? AuthenticatorData(parsing: authData)
    let output = data?.extensions?["hmac-secret"]?.bytes
    // One secret: 32 bytes, and a vector of 16 before it under protocol 2.
    guard let data, let output, output.count == 32 || output.count == 48 else {
      outcome.reason = "prfMissing"
      return
    }
    // It came, and this program would not use it.
    guard let opens = attempt.opensLock else {
      outcome.reason = attempt.failure ?? "prfMissing"
      return
    }
    let isVerified = data.flags.contains(.userVerified)
    outcome.opensLock = opens
    if step == .prfEndorse, enrolledVerified == nil { enrolledVerified = isVerified }
    switch step {
    case .prfProtocol1 where output.count != 32, .prfProtocol2 where output.count != 48:
      outcome.reason = "otherPINProtocol"
    case .prfAgain where !isVerified: outcome.reason = "verificationNotShown"
    case .prfWithoutUV where isVerified:
      outcome.reason = "the key verified all the same"
      outcome.isNotDone = true
    case .prfWithoutUV where enrolledVerified == true:
      outcome.notes.append(
        opens ? "same secret with verification and without" : "another secret without verification, as CTAP says")
    case .secondHost where isFirstHost(attempt.host): outcome.reason = "sameComputer"
    default: if !opens { outcome.reason = "wrongKey" }
    }
  }

  /// Whether an attempt was made on the computer that made the record.
  private func isFirstHost(_ host: Int) -> Bool {
    guard host > 0, record.hosts.indices.contains(host) else { return true }
    return record.hosts[host].mark == record.hosts[0].mark
  }

  /// A cancelled key's answer is not kept: without any answer, what the program saw must do. An answer goes before it.
  func cancelled(_ attempt: StepRecord.Attempt) -> Outcome {
    if let last = attempt.exchanges.last {
      let isU2F = last.request.first == 0
      if isU2F || last.reply.first == 0 { return Outcome(reason: "the touch came first", isNotDone: true) }
      return refusal(0x02, attempt)
    }
    guard attempt.failure == "cancelled" else { return refusal(0x02, attempt) }
    // Nothing was waited for, so nothing was cancelled.
    return attempt.firstKeepalive == nil ? .failed("noAnswer") : Outcome()
  }

  static func counter(_ data: [UInt8]) -> UInt32 { data[33..<37].reduce(0) { $0 << 8 | UInt32($1) } }
}
