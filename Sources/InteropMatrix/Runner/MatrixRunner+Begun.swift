// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import SealFormats
import SecurityKeys
import WebAuthnCore

/// Runs that were begun and not ended: whose they are, what they keep, and what of them is done again.
extension MatrixRunner {
  /// Whose a record is.
  private enum Owner { case thisKey, anyOfTheModel, anotherKey }

  /// The run that this key began; one that holds nothing of any key only when there is no such.
  func own(_ key: SecurityKey, _ facts: KeyFacts, _ begun: [RunRecord]) async throws -> RunRecord? {
    var unclaimed: RunRecord?
    for record in begun {
      switch try await owner(key, facts, record) {
      case .thisKey: return record
      case .anyOfTheModel: unclaimed = unclaimed ?? record
      case .anotherKey: break
      }
    }
    return unclaimed
  }

  /// The run, when it can be gone on with: what is still to be done would be judged by what the key said of itself when
  /// the run was begun. Of a run that left nothing on a key nobody can tell whether it was this key.
  /// - Throws: ``MatrixRunError/keyStateChanged`` where it is to be ended.
  func goesOn(_ own: RunRecord?, _ facts: KeyFacts) throws(MatrixRunError) -> RunRecord? {
    guard let own else { return nil }
    let steps = own.steps.filter { !Self.mayBeRepeated($0) }
    // Nothing was done: the key is looked at anew.
    if steps.isEmpty { return own }
    guard (try? AuthenticatorInfo(parsing: own.before.info))?.options == facts.info?.options else {
      guard !options.finishesNow else { throw .keyStateChanged }
      return nil
    }
    return options.finishesNow || !Evaluation(own).credentials.isEmpty ? own : nil
  }

  /// The same model, and a key that knows what was made on it.
  func isSame(_ key: SecurityKey, _ facts: KeyFacts, _ record: RunRecord) async throws -> Bool {
    try await owner(key, facts, record) != .anotherKey
  }

  /// - Throws: a key that went away meanwhile: it is not another one for that.
  private func owner(_ key: SecurityKey, _ facts: KeyFacts, _ record: RunRecord) async throws -> Owner {
    let info = try? AuthenticatorInfo(parsing: record.before.info)
    guard facts.info?.aaguid == info?.aaguid, facts.info?.firmwareVersion == info?.firmwareVersion else {
      return .anotherKey
    }
    let made = Evaluation(record).credentials.values.map { CredentialDescriptor(id: $0.id) }
    guard !made.isEmpty else { return .anyOfTheModel }
    do { return try await key.find(made, rpID: Seal.relyingPartyID) != nil ? .thisKey : .anotherKey } catch {
      if case .transport(let below) = error as? SecurityKeyError, below.leavesTheStepUndone { throw error }
      return .anotherKey
    }
  }

  /// What was given now, and what the run that is gone on with has: nothing of either is dropped without a word.
  func settle(_ record: inout RunRecord) {
    record.tester = settled("tester", options.tester, record.tester)
    record.key.serial = settled("serial", options.serial, record.key.serial)
    record.key.name = settled("model", options.model, record.key.name) ?? record.key.name
    guard !record.steps.isEmpty, let had = tries(in: record) else { return }
    if let given = options.repeats, given != had {
      progress(
        .settled("The steps that are done keep their tries; --repeat \(given) is for those that are still to be done."))
    } else if options.repeats == nil, had > 1 {
      progress(.settled("Each step is tried \(had) times, as in the steps that are done."))
    }
  }

  private func settled(_ option: String, _ given: String?, _ had: String?) -> String? {
    guard let given, given != had else { return had }
    guard let had else {
      progress(.settled("The run had no \(option) yet; it takes \(given)."))
      return given
    }
    progress(.settled("The run keeps its \(option), \(had); --\(option) \(given) is not taken."))
    return had
  }

  private func tries(in record: RunRecord) -> Int? {
    record.steps.map(\.attempts.count).max().flatMap { $0 > 0 ? $0 : nil }
  }

  /// How often a step is tried.
  func tries(_ record: RunRecord) -> Int { max(1, options.repeats ?? tries(in: record) ?? 1) }

  /// How many steps of a run need not be done again when it goes on.
  public static func stepsDone(_ record: RunRecord) -> Int { record.steps.count { !mayBeRepeated($0) } }

  /// A step that a refused PIN stopped is done again when the run goes on.
  static func mayBeRepeated(_ step: StepRecord) -> Bool {
    guard let failure = step.attempts.last?.failure else { return false }
    return pinFailures.contains(failure)
  }
}
