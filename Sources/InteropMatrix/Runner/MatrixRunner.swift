// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import SealFormats
import SecurityKeys
import WebAuthnCore

/// Runs one key through the steps, in order, and makes its record. It never resets a key, makes no discoverable
/// credential, and stops as soon as a PIN was refused.
public struct MatrixRunner: Sendable {
  /// What the tester chose.
  public struct Options: Sendable {
    /// Who runs it.
    public var tester: String?
    /// How often each step is tried; nil for once, or as often as the run that is gone on with did.
    public var repeats: Int?
    /// The serial number, to be written into the record.
    public var serial: String?
    /// What the key is to be called in the record, when the tester says so.
    public var model: String?
    /// What a key of that AAGUID (16 bytes) is called, from its run over USB: a card reader does not tell.
    public var sameModel: (aaguid: [UInt8], name: String)?
    /// Do no further step: read the state and end the run.
    public var finishesNow = false
    /// The usual ones.
    public init() {}
  }

  /// What happens, for whoever talks to the tester.
  public enum Progress: Sendable {
    /// A step begins; so many are there.
    case began(MatrixStep, number: Int, of: Int)
    /// A step is over.
    case finished(StepFinding)
    /// The run goes on with a record that was begun before.
    case resumed(stepsDone: Int)
    /// What the run that was begun keeps of what was chosen for it, or takes of what is chosen now.
    case settled(String)
    /// A run that was begun and is not gone on with: with another key of the model, as far as the key can tell.
    case left(RunRecord)
    /// Nobody touched the key in time, and it is asked once more.
    case askedAgain(MatrixStep)
    /// Something on the key.
    case key(KeyEvent)
  }

  let place: RunPlace
  let pin: PINProvider?
  let refusedPINs: RefusedPINs
  let timings: KeyTimings
  let options: Options
  let tool: String
  let progress: @Sendable (Progress) -> Void
  let save: @Sendable (RunRecord) throws -> Void

  /// A runner.
  /// - Parameters:
  ///   - pin: asks for the PIN; the same answer may be given again within a run.
  ///   - refusedPINs: what keys have refused before: it is not sent again.
  ///   - save: keeps the record after each step, so that nothing is lost when the key or the tester goes.
  public init(
    _ place: RunPlace, pin: PINProvider?, refusedPINs: RefusedPINs = RefusedPINs(), timings: KeyTimings = .standard,
    options: Options = Options(), tool: String,
    progress: @escaping @Sendable (Progress) -> Void = { _ in },
    save: @escaping @Sendable (RunRecord) throws -> Void = { _ in }
  ) {
    self.place = place
    self.pin = pin
    self.refusedPINs = refusedPINs
    self.timings = timings
    self.options = options
    self.tool = tool
    self.progress = progress
    self.save = save
  }

  /// The steps of a run on one computer, in order.
  static let ownSteps = MatrixStep.allCases.filter { $0 != .secondHost }

  /// Runs all steps, or those that `begun` still lacks.
  /// - Throws: what stopped it: `unplugged`, `cancelled`, a refused PIN, `timedOut` when nobody touched the key. The record was
  ///   saved before. `uvNotConfigured` before the first step for a key that always verifies and has no PIN.
  ///   ``MatrixRunError/nothingBegun`` when a run is to be ended that was never begun with this key, and
  ///   ``MatrixRunError/keyStateChanged`` when the key has other options than it had then.
  public func run(continuing begun: RunRecord? = nil, at time: Int64) async throws -> RunRecord {
    try await run(continuingOneOf: begun.map { [$0] } ?? [], at: time)
  }

  /// The same; which of the runs that were begun is this key's, the key itself tells by what it holds.
  public func run(continuingOneOf begun: [RunRecord], at time: Int64) async throws -> RunRecord {
    guard !begun.isEmpty || !options.finishesNow else { throw MatrixRunError.nothingBegun }
    let log = WireLog()
    var record = try await withKey(log) { key, facts in
      if !options.finishesNow, let info = facts.info, info.insistsInVain { throw SecurityKeyError.uvNotConfigured }
      let own = try goesOn(try await own(key, facts, begun), facts)
      for other in begun where other.nonce != own?.nonce { progress(.left(other)) }
      var record: RunRecord
      if var begun = own {
        begun.steps.removeAll(where: Self.mayBeRepeated)
        // Of a run without a step nothing is kept but its place: the key is looked at anew.
        if begun.steps.isEmpty { begun = try await fresh(key, facts, at: time, insteadOf: begun) }
        record = begun
        progress(.resumed(stepsDone: record.steps.count))
        settle(&record)
      } else {
        guard !options.finishesNow else { throw MatrixRunError.nothingBegun }
        record = try await fresh(key, facts, at: time)
      }
      try save(record)
      for step in Self.ownSteps.prefix(while: { $0.pinProtocol == nil }) { try await take(step, &record, key, log) }
      return record
    }
    // These open the key themselves, and a key is open only once: another opening finds a node or a reader in use.
    for step in Self.ownSteps where step.pinProtocol != nil { try await take(step, &record, nil, log) }
    if Self.ownSteps.contains(where: { step in !record.steps.contains { $0.step == step } }) {
      let begun = record
      record = try await withKey(log) { key, _ in
        var record = begun
        for step in Self.ownSteps { try await take(step, &record, key, log) }
        return record
      }
    }
    place.beforeStep(.register)
    // The key is opened anew, so that it is asked and not remembered.
    record.after = try await withKey(log) { key, _ in try await state(key) }
    record.finishedAt = max(time, record.startedAt)
    try save(record)
    return record
  }

  /// Does a step that is not done yet, and keeps it.
  private func take(_ step: MatrixStep, _ record: inout RunRecord, _ key: SecurityKey?, _ log: WireLog) async throws {
    guard !record.steps.contains(where: { $0.step == step }) else { return }
    guard !options.finishesNow else {
      record.steps.append(StepRecord(step, skipped: "not run"))
      return
    }
    let number = (Self.ownSteps.firstIndex(of: step) ?? 0) + 1
    progress(.began(step, number: number, of: Self.ownSteps.count))
    place.beforeStep(step)
    let stop = try await perform(step, &record, key, log)
    try save(record)
    if let finding = Evaluation(record).finding(step) { progress(.finished(finding)) }
    if let stop { throw stop }
  }

  /// Opens the locked halves of a run on this computer, and adds that to its record.
  /// - Throws: ``MatrixRunError``, or what the key throws.
  public func secondHost(_ given: RunRecord) async throws -> RunRecord {
    guard given.finishedAt != nil, given.device.locked != nil else { throw MatrixRunError.nothingToContinue }
    let here = RunRecord.HostDescription.this(nonce: given.nonce, usesReader: place.description.transport == "pcsc")
    guard !given.hosts.contains(where: { $0.mark == here.mark }) else { throw MatrixRunError.sameComputer }
    let log = WireLog()
    return try await withKey(log) { key, facts in
      guard try await isSame(key, facts, given) else { throw MatrixRunError.otherKey }
      var record = given
      record.isSimulated = record.isSimulated || facts.isSimulated || place.isSimulated
      record.hosts.append(here)
      record.steps.removeAll { $0.step == .secondHost }
      progress(.began(.secondHost, number: 1, of: 1))
      let stop = try await perform(.secondHost, &record, key, log, host: record.hosts.count - 1)
      if let stop { throw stop }
      try save(record)
      return record
    }
  }

  // MARK: - The key

  /// - Parameter follows: whether the key was open before in this run.
  func withKey<R>(
    _ log: WireLog, follows: Bool = false, _ body: (SecurityKey, KeyFacts) async throws -> R
  ) async throws -> R {
    let key = SecurityKey(
      place.endpoint.observed(by: log.observer), timings: timings, refusedPINs: refusedPINs, follows: follows)
    let conversation = Task { [progress] in for await event in key.events { progress(.key(event)) } }
    do {
      let result = try await body(key, try await key.open())
      await key.close()
      await conversation.value
      return result
    } catch {
      await key.close()
      await conversation.value
      throw error
    }
  }

  private func fresh(
    _ key: SecurityKey, _ facts: KeyFacts, at time: Int64, insteadOf begun: RunRecord? = nil
  ) async throws -> RunRecord {
    var description = place.description
    description.deviceVersion = Array((facts.initReply.deviceVersion + [0, 0, 0]).prefix(3))
    description.capabilities = facts.initReply.capabilities
    description.serial = begun == nil ? options.serial : begun?.key.serial
    if description.transport == "pcsc" { description.place = facts.name }
    description.name = Self.keyName(description, facts.info?.aaguid, options)
    let nonce = begun?.nonce ?? Random.bytes(32)
    // What is endorsed and locked is made for this run and worth nothing.
    let halves = try PrivateHalves()
    return RunRecord(
      tool: tool, isSimulated: facts.isSimulated || place.isSimulated, nonce: nonce, startedAt: time, finishedAt: nil,
      tester: begun == nil ? options.tester : begun?.tester, key: description,
      hosts: [.this(nonce: nonce, usesReader: description.transport == "pcsc")], before: try await state(key),
      after: nil,
      device: .init(
        publicKey: halves.devicePublicKey, kemBundle: halves.bundle.publicKeys.bytes, salt: Random.bytes(32)), steps: []
    )
  }

  /// What the key is called in the record. A reader's name is none of the key's.
  static func keyName(_ key: RunRecord.KeyDescription, _ aaguid: [UInt8]?, _ options: Options) -> String {
    if let model = options.model { return model }
    if let same = options.sameModel, same.aaguid == aaguid { return same.name }
    guard key.transport == "pcsc" else { return key.name }
    return aaguid.map { "AAGUID \(Hex.encode($0))" } ?? "U2F card"
  }

  /// The key's state. Discoverable credentials are counted where the key tells without more ado, or with its PIN.
  private func state(_ key: SecurityKey) async throws -> RunRecord.KeyState {
    // Options change with the PIN: they are read anew.
    let info = try await key.open().info
    let tries = try await key.pinTriesLeft()
    var count: Int?
    if let info, info.option("clientPin") == true, let pin,
      info.option("credMgmt") == true || info.option("credentialMgmtPreview") == true
    {
      do { count = try await key.passkeys(pin: pin).passkeys.count } catch let error as SecurityKeyError {
        // Some keys manage nothing although they say so (QUIRKS Q64); a refused PIN is another matter.
        if Self.endsTheRun(error) { throw error }
        if case .transport(let below) = error, below.leavesTheStepUndone { throw error }
      }
    }
    return .init(info: info?.rawBytes ?? [], pinTries: tries, discoverable: count)
  }

  static let pinFailures: Set<String> = [
    "pinInvalid", "pinBlocked", "pinAuthBlocked", "pinTriesLow", "pinRequired", "pinChangeRequired", "pinEmpty",
    "pinRepeated",
  ]

  /// Errors after which nothing more is asked of the key.
  static func endsTheRun(_ error: any Error) -> Bool {
    guard let error = error as? any NamedError else { return true }
    return pinFailures.contains(error.name)
  }
}
