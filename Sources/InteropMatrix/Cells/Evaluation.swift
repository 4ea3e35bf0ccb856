// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import WebAuthnCore

/// What a run's evidence says, step by step: a pure function of the record.
public struct Evaluation: Sendable {
  /// One finding for each step of the record, in the record's order.
  public private(set) var findings: [StepFinding] = []
  /// What was registered, by the step that did it.
  var credentials: [MatrixStep: Credential] = [:]
  /// What getInfo said; nil for a U2F key.
  public let info: AuthenticatorInfo?
  let record: RunRecord
  var counters: [[UInt8]: UInt32] = [:]
  /// Every signature of an assertion so far: a key makes each only once.
  var signatures: Set<[UInt8]> = []

  /// A credential that Seal can use.
  struct Credential {
    let id: [UInt8]
    let publicKey: P256.Signing.PublicKey
    let registration: SealRegistration
    let flags: AuthenticatorFlags
    let attestationObject: [UInt8]
    let clientDataHash: [UInt8]
  }

  /// Whether the secret was made with user verification when the lock was made.
  var enrolledVerified: Bool?

  /// How one try went.
  struct Outcome {
    var reason: String?
    var status: Int?
    var telemetry: String?
    var notes: [String] = []
    var isNotDone = false
    /// Whether a secret came that opens the lock; nil without a secret.
    var opensLock: Bool?

    static func failed(_ reason: String, status: Int? = nil, telemetry: String? = nil) -> Outcome {
      Outcome(reason: reason, status: status, telemetry: telemetry)
    }
  }

  /// Evaluates a record.
  public init(_ record: RunRecord) {
    self.record = record
    info = try? AuthenticatorInfo(parsing: record.before.info)
    for step in record.steps { findings.append(evaluate(step)) }
  }

  /// The finding of a step.
  public func finding(_ step: MatrixStep) -> StepFinding? { findings.first { $0.step == step } }

  /// Whether the key had a PIN, or a fingerprint, before the run.
  var canVerifyUser: Bool { info?.option("clientPin") == true || info?.option("uv") == true }

  private mutating func evaluate(_ step: StepRecord) -> StepFinding {
    if let skipped = step.skipped {
      var finding = StepFinding(step.step, .notDone)
      let isTrue = step.attempts.isEmpty && (skipped == "not run" || skipped == obstacle(step.step))
      finding.reason = isTrue ? skipped : "skipNotTrue"
      guard isTrue else { return finding }
      // The key's own word is enough: nobody need touch it for that.
      if skipped == "prfUnsupported", step.step == .prfRegister { finding.mark = .fails }
      finding.explanation = FailurePattern.explanation(of: finding.reason ?? skipped)
      return finding
    }
    var outcomes: [Outcome] = []
    for index in step.attempts.indices { outcomes.append(outcome(of: step, index)) }
    return summary(step, outcomes)
  }

  private func summary(_ step: StepRecord, _ outcomes: [Outcome]) -> StepFinding {
    let done = outcomes.filter { !$0.isNotDone }
    // What does not belong to the run is shown before what only failed.
    let bad = outcomes.first { $0.reason.map(Self.isForeign) == true } ?? done.first { $0.reason != nil }
    let good = done.filter { $0.reason == nil }
    var finding = StepFinding(
      step.step, done.isEmpty ? .notDone : bad == nil ? .works : good.isEmpty ? .fails : .sometimes)
    let shown = bad ?? done.last ?? outcomes.last
    finding.reason = shown?.reason ?? (outcomes.isEmpty ? "not run" : nil)
    finding.status = shown?.status
    finding.telemetry = shown?.telemetry
    finding.explanation = finding.reason.flatMap {
      FailurePattern.explanation(of: $0, transport: record.key.transport)
    }
    for note in outcomes.flatMap(\.notes) where !finding.notes.contains(note) { finding.notes.append(note) }
    if done.count > 1, bad != nil { finding.notes.append("\(good.count) of \(done.count) tries worked") }
    finding.opensLock = shown?.opensLock
    finding.touches = step.attempts.last?.touches
    finding.firstKeepalive = step.attempts.last?.firstKeepalive
    finding.duration = step.attempts.last?.duration
    return finding
  }

  private mutating func outcome(of step: StepRecord, _ index: Int) -> Outcome {
    let attempt = step.attempts[index]
    if step.step == .cancel { return cancelled(attempt) }
    var outcome =
      step.step.isRegistration ? registration(step.step, attempt, index) : assertion(step.step, attempt, index)
    // The program's name for what the bytes already said.
    let said = attempt.failure == "uvMissing" ? "userNotVerified" : attempt.failure
    if outcome.reason == nil, let failure = attempt.failure, let said, !outcome.notes.contains(said) {
      outcome.notes.append(failure)
    }
    return outcome
  }

  /// Whether a finding says that the evidence is none of this run's, or not of the step that it stands under.
  static func isForeign(_ reason: String) -> Bool {
    [
      "challengeMismatch", "clientDataMismatch", "sameComputer", "requestMismatch", "answerMismatch", "answerRepeated",
      "skipNotTrue",
    ].contains(reason.prefix { $0 != "(" })
  }

  // MARK: - The bytes

  /// The last exchange of a command; a reply with another status than 0 is an outcome already.
  func reply(
    _ command: UInt8, _ attempt: StepRecord.Attempt
  ) -> (bytes: [UInt8], map: CBORItem, request: CBORItem)? {
    guard let last = attempt.exchanges.last(where: { $0.request.first == command }), last.reply.first == 0,
      let map = try? CBORDecoder.decodeAll(Array(last.reply.dropFirst())), map.map != nil,
      let request = try? CBORDecoder.decodeAll(Array(last.request.dropFirst()))
    else { return nil }
    return (Array(last.reply.dropFirst()), map, request)
  }

  func refusal(_ command: UInt8, _ attempt: StepRecord.Attempt) -> Outcome {
    guard let last = attempt.exchanges.last(where: { $0.request.first == command }), let status = last.reply.first
    else {
      return .failed(attempt.failure ?? "noAnswer", status: attempt.status)
    }
    guard status != 0 else { return .failed("badAnswer") }
    return .failed(Self.name(of: status, after: attempt.duration), status: Int(status))
  }

  /// What a status means in the sheet's words.
  static func name(of status: UInt8, after milliseconds: Int) -> String {
    switch status {
    case 0x19: "alreadyRegistered"
    case 0x22, 0x2E: "notOnThisKey"
    case 0x2D: "cancelled"
    case 0x2F, 0x3A: "timedOut"
    // Keys name a missed touch in many ways (QUIRKS Q25).
    case 0x27 where milliseconds >= 8000, 0x36 where milliseconds >= 8000: "timedOut"
    case 0x31: "pinInvalid"
    case 0x32: "pinBlocked"
    case 0x34: "pinAuthBlocked"
    default: CTAPStatus(rawValue: status).name
    }
  }

  /// Whether the client data is this run's, and what was hashed is the client data.
  func clientDataFault(
    _ step: MatrixStep, _ attempt: StepRecord.Attempt, _ index: Int, _ hashed: [UInt8]?
  ) -> String? {
    let id = step == .friend ? credentials[.register]?.id : nil
    guard let expected = try? record.clientData(step, attempt: index, credentialID: id),
      expected.json == attempt.clientDataJSON
    else { return "challengeMismatch" }
    if let hashed, hashed != expected.hash { return "clientDataMismatch" }
    return nil
  }

  // MARK: - Registration

  private mutating func registration(_ step: MatrixStep, _ attempt: StepRecord.Attempt, _ index: Int) -> Outcome {
    let object: [UInt8]
    let hashed: [UInt8]?
    var fault: String?
    if info == nil {
      do throws(Refusal) { (object, hashed) = try Self.u2fRegistration(attempt) } catch {
        return .failed(error.reason, status: attempt.status)
      }
    } else if let reply = reply(0x01, attempt) {
      guard let built = AttestationObject.build(makeCredentialReply: reply.map, in: reply.bytes) else {
        return .failed("badAnswer")
      }
      object = built
      fault = RequestRules.fault(step, registration: reply.request)
      hashed = reply.request[1]?.bytes ?? []
    } else {
      return refusal(0x01, attempt)
    }
    let line = SealTelemetry.register(attestationObject: object)
    fault = fault ?? clientDataFault(step, attempt, index, hashed)
    if let fault { return .failed(fault, telemetry: line) }
    let seal: SealRegistration
    do { seal = try SealRegistration(attestationObject: object) } catch { return .failed(error.name, telemetry: line) }
    var outcome = Outcome(telemetry: line)
    let hash = SHA256.hash(attempt.clientDataJSON)
    outcome.notes = strictNotes(object, attempt, seal)
    let data = try? CBORDecoder.decode(object)["authData"]?.bytes
    let flags = AuthenticatorFlags(rawValue: data.flatMap { $0.count > 32 ? $0[32] : nil } ?? 0)
    if step == .prfRegister {
      let parsed = data.flatMap { try? AuthenticatorData(parsing: $0) }
      guard parsed?.extensions?["hmac-secret"]?.bool == true else {
        return .failed("prfUnsupported", telemetry: line)
      }
    }
    credentials[step] = Credential(
      id: seal.credentialID, publicKey: seal.publicKey, registration: seal, flags: flags, attestationObject: object,
      clientDataHash: hash)
    if let data, data.count >= 37 { counters[seal.credentialID] = Self.counter(data) }
    return outcome
  }

  /// What stricter readers than Seal say.
  private func strictNotes(_ object: [UInt8], _ attempt: StepRecord.Attempt, _ seal: SealRegistration) -> [String] {
    var notes: [String] = []
    let verifier = RegistrationVerifier(
      rpID: Seal.relyingPartyID, challenge: Self.challenge(in: attempt.clientDataJSON), origins: [Seal.origin],
      requiresUserVerification: canVerifyUser)
    do {
      _ = try verifier.verify(
        attestationObject: object, clientDataJSON: attempt.clientDataJSON, credentialID: seal.credentialID)
    } catch { notes += error.problems.map(\.name) }
    if seal.coordinateLengths.x != 32 || seal.coordinateLengths.y != 32, !notes.contains("coordinateLength") {
      notes.append("coordinateLength")
    }
    if let parsed = try? AttestationObject(parsing: object) {
      let report = AttestationVerifier().report(parsed, clientDataHash: SHA256.hash(attempt.clientDataJSON))
      notes += report.problems.map(\.name)
    }
    return notes
  }

  static func challenge(in json: [UInt8]) -> [UInt8] {
    (try? ClientData(parsing: json)).flatMap { Base64.decode($0.challenge, .url) } ?? []
  }
}
