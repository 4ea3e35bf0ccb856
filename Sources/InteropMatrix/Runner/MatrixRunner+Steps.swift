// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import SecurityKeys
import WebAuthnCore

/// One step after another.
extension MatrixRunner {
  /// Does a step and puts it into the record. What cannot be done is said, not tried.
  /// - Parameter key: the open key; a step about a PIN protocol opens it itself, and must be given none.
  /// - Returns: an error that ends the run although the step is in the record.
  /// - Throws: what leaves the step undone: an unplugged key, a cancelled task.
  func perform(
    _ step: MatrixStep, _ record: inout RunRecord, _ key: SecurityKey?, _ log: WireLog, host: Int = 0
  ) async throws -> (any Error)? {
    let evaluation = Evaluation(record)
    if let reason = evaluation.obstacle(step) {
      record.steps.append(StepRecord(step, skipped: reason))
      return nil
    }
    if let number = step.pinProtocol { return try await overProtocol(number, step, &record, host) }
    guard let key else { return nil }
    var done = StepRecord(step)
    for index in 0..<tries(record) {
      let credential = evaluation.credentials[step.usesPRFCredential ? .prfRegister : .register]?.id
      let (attempt, error, lock) = try await asked(step, index, record, credential, evaluation, key, log, host)
      done.attempts.append(attempt)
      if let lock { record.device.locked = lock }
      if let error, Self.endsTheRun(error) {
        record.steps.append(done)
        return error
      }
      // It still waits for the touch that it was to forget: asked again, it would be busy and nothing else.
      if attempt.failure == "cancelIgnored" { break }
    }
    record.steps.append(done)
    return nil
  }

  /// The same key, opened anew and shown only one protocol.
  private func overProtocol(
    _ number: Int, _ step: MatrixStep, _ record: inout RunRecord, _ host: Int
  ) async throws -> (any Error)? {
    let evaluation = Evaluation(record)
    let forced = MatrixRunner(
      RunPlace(place, using: number), pin: pin, refusedPINs: refusedPINs, timings: timings, options: options,
      tool: tool,
      progress: progress, save: save)
    let log = WireLog()
    let given = record
    let (done, stop): (StepRecord, (any Error)?) = try await forced.withKey(log, follows: true) { key, _ in
      var done = StepRecord(step)
      for index in 0..<tries(given) {
        let (attempt, error, _) = try await forced.asked(
          step, index, given, evaluation.credentials[.prfRegister]?.id, evaluation, key, log, host)
        done.attempts.append(attempt)
        if let error, Self.endsTheRun(error) { return (done, error) }
      }
      return (done, nil)
    }
    record.steps.append(done)
    return stop
  }

  /// One try. Whoever was late with the touch is asked once more: that says nothing about the key.
  /// - Throws: `timedOut`, when nobody touched it the second time either: the step is left undone.
  func asked(
    _ step: MatrixStep, _ index: Int, _ record: RunRecord, _ credential: [UInt8]?, _ evaluation: Evaluation,
    _ key: SecurityKey, _ log: WireLog, _ host: Int
  ) async throws -> (attempt: StepRecord.Attempt, error: (any Error)?, lock: [UInt8]?) {
    let first = try await attempt(step, index, record, credential, evaluation, key, log, host)
    guard step != .cancel, log.askedThePerson, Self.isLate(first.attempt) else { return first }
    progress(.askedAgain(step))
    let second = try await attempt(step, index, record, credential, evaluation, key, log, host)
    guard log.askedThePerson, Self.isLate(second.attempt) else { return second }
    throw SecurityKeyError.transport(.timedOut)
  }

  /// The time was over, by this program's clock or by the key's.
  private static func isLate(_ attempt: StepRecord.Attempt) -> Bool {
    guard let failure = attempt.failure else { return false }
    if failure == "timedOut" { return true }
    guard let status = attempt.status.flatMap(UInt8.init(exactly:)) else { return false }
    return Evaluation.name(of: status, after: attempt.duration) == "timedOut"
  }

  /// One try.
  func attempt(
    _ step: MatrixStep, _ index: Int, _ record: RunRecord, _ credential: [UInt8]?, _ evaluation: Evaluation,
    _ key: SecurityKey, _ log: WireLog, _ host: Int
  ) async throws -> (attempt: StepRecord.Attempt, error: (any Error)?, lock: [UInt8]?) {
    let clientData = try record.clientData(step, attempt: index, credentialID: credential)
    let challenge = try record.challenge(step, attempt: index, credentialID: credential)
    var attempt = StepRecord.Attempt(host: host, clientDataJSON: clientData.json)
    var lock: [UInt8]?
    let told = Locked<ContinuousClock.Instant?>(nil)
    let onTouch: @Sendable () -> Void = {
      told.withLock { $0 = .now }
      key.cancel()
    }
    log.begin(onTouch: step == .cancel ? onTouch : nil)
    do {
      if step.isRegistration {
        try await register(step, challenge, key, isU2F: evaluation.info == nil, &attempt)
      } else {
        lock = try await sign(step, challenge, credential, record, evaluation, key, &attempt)
      }
      log.fill(&attempt)
      return (attempt, nil, lock)
    } catch {
      log.fill(&attempt)
      // Ctrl-C, and a key that is gone, leave the step undone.
      try Task.checkCancellation()
      guard let named = error as? any NamedError else { throw error }
      // That is nothing to measure.
      if let fault = place.fault() { throw fault }
      if case .transport(let below) = error as? SecurityKeyError, below.leavesTheStepUndone { throw error }
      attempt.failure = named.name
      // A key that was told to stop says so at once; one that never does is given up when its time is over.
      if named.name == "cancelled", let told = told.withLock({ $0 }), .now - told >= timings.drain {
        attempt.failure = "cancelIgnored"
      }
      attempt.status = named.status
      return (attempt, named, nil)
    }
  }

  private func register(
    _ step: MatrixStep, _ challenge: [UInt8], _ key: SecurityKey, isU2F: Bool, _ attempt: inout StepRecord.Attempt
  ) async throws {
    let response = try await key.makeCredential(
      RegistrationRequest(
        rpID: Seal.relyingPartyID, rpName: Seal.relyingPartyName, origin: Seal.origin, challenge: challenge,
        userID: Random.bytes(16), userName: "sealkey matrix", userDisplayName: "sealkey matrix",
        enablesPRF: step == .prfRegister), pin: pin)
    guard isU2F else { return }
    var answer = StepRecord.Answer()
    answer.attestationObject = response.attestationObject
    attempt.answer = answer
  }

  private func sign(
    _ step: MatrixStep, _ challenge: [UInt8], _ credential: [UInt8]?, _ record: RunRecord, _ evaluation: Evaluation,
    _ key: SecurityKey, _ attempt: inout StepRecord.Attempt
  ) async throws -> [UInt8]? {
    var verification = UserVerificationRequirement.preferred
    if step == .prfWithoutUV || step.asksPRF && !evaluation.canVerifyUser { verification = .discouraged }
    let response = try await key.getAssertion(
      AssertionRequest(
        rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: challenge,
        allowList: credential.map { [CredentialDescriptor(id: $0)] } ?? [], userVerification: verification,
        prfSalts: step.asksPRF ? PRFSalts(input: record.device.salt) : nil), pin: pin)
    if evaluation.info == nil {
      var answer = StepRecord.Answer()
      answer.credentialID = response.credentialID
      answer.authenticatorData = response.authenticatorData
      answer.signature = response.signature
      attempt.answer = answer
    }
    guard step.asksPRF, let prf = response.prf else { return nil }
    if step == .prfEndorse, record.device.locked == nil {
      let lock = try Self.lock(prf, salt: record.device.salt)
      attempt.opensLock = true
      return lock
    }
    guard let locked = record.device.locked else { return nil }
    attempt.opensLock = try Self.opens(locked, prf, salt: record.device.salt)
    return nil
  }

  /// Fresh halves, locked and forgotten: only whoever has the same secret opens them.
  private static func lock(_ prf: PRFOutput, salt: [UInt8]) throws -> [UInt8] {
    let halves = try PrivateHalves()
    return try SponsoredLock.lock(halves, prf: prf.first, salt: salt)
  }

  /// Whether the secret opens the lock. What it opens is wiped at once.
  private static func opens(_ locked: [UInt8], _ prf: PRFOutput, salt: [UInt8]) throws -> Bool {
    do {
      _ = try SponsoredLock.unlock(locked, prf: prf.first, salt: salt)
      return true
    } catch {
      guard error == .wrongKey else { throw error }
      return false
    }
  }
}

extension MatrixStep {
  /// The PIN/UV auth protocol that the step is about.
  var pinProtocol: Int? {
    switch self {
    case .prfProtocol1: 1
    case .prfProtocol2: 2
    default: nil
    }
  }
}

extension RunPlace {
  /// The same place, where only one PIN protocol is used.
  init(_ other: RunPlace, using number: Int) {
    endpoint = other.endpoint.using(pinProtocol: number)
    description = other.description
    isSimulated = other.isSimulated
    beforeStep = other.beforeStep
    fault = other.fault
  }
}

extension TransportError {
  /// Nothing was learned about the key: it went away, or somebody else has it.
  var leavesTheStepUndone: Bool {
    switch self {
    case .unplugged, .absent, .system, .busy: true
    default: false
    }
  }
}
