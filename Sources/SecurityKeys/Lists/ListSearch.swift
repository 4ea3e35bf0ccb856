// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// Looks for the one of many ids that a key knows, by silent probes: nobody touches anything.
///
/// Only "no credentials" means that an id is not on the key. Whatever else a key says is no answer: a list that it
/// mishandles is asked again id by id (QUIRKS Q62), and an id that it chokes on leaves the whole search without the
/// verdict "not on this key".
struct ListSearch {
  let probe: Probe
  let rpID: String
  /// For a key that is always to verify the person: one token for all probes (QUIRKS Q46).
  var token: PINToken?
  /// Whether the key's "no" to a list of several ids is believed. Some keys say so although they know one of them
  /// (QUIRKS Q62): such a no is checked id by id.
  var trustsLists = true
  /// How many ids have no answer before the search is given up: a key that refuses one probe refuses a thousand.
  private static let patience = 8

  /// What a search has found out.
  struct Outcome {
    /// The first id that the key knows; nil when it has said no to all of them.
    var found: CredentialDescriptor?
    /// A list of several ids was answered with yes.
    var provedLists = false
    /// The key knows an id that it did not find in a list, or it refuses lists.
    var mishandlesLists = false
  }

  /// Asks for the ids of `chunks` in their order.
  /// - Throws: what a key said instead of yes or no, when none of the ids is known.
  func run(_ chunks: [[CredentialDescriptor]]) throws(SecurityKeyError) -> Outcome {
    var outcome = Outcome()
    var progress = ListProgress(total: chunks.reduce(0) { $0 + $1.count }, commands: chunks.count, link: probe.link)
    var singly = Singly(search: self)
    var doubted: [CredentialDescriptor] = []
    for chunk in chunks {
      if chunk.count > 1, !outcome.mishandlesLists {
        do throws(SecurityKeyError) {
          if let id = try probe.knows(chunk, rpID: rpID, token: token) {
            outcome.found = CredentialDescriptor(id: id)
            outcome.provedLists = true
            return outcome
          }
          if !trustsLists { doubted += chunk }
          progress.advance(by: chunk.count)
          continue
        } catch {
          guard error.isAboutTheRequest else { throw error }
          outcome.mishandlesLists = true
        }
      }
      if try singly.find(in: chunk, &outcome, &progress) { return outcome }
    }
    if !doubted.isEmpty {
      progress = ListProgress(total: doubted.count, commands: doubted.count, link: probe.link)
      if try singly.find(in: doubted, &outcome, &progress) {
        outcome.mishandlesLists = true
        return outcome
      }
    }
    if let noAnswer = singly.noAnswer { throw noAnswer }
    // "Not on this key" is what a key must never be thought to have said because its answers came apart from the
    // questions.
    if !chunks.isEmpty { try probe.link.checkStep() }
    return outcome
  }

  /// Asks for one id at a time.
  private struct Singly {
    let search: ListSearch
    /// What the key said to an id instead of yes or no.
    var noAnswer: SecurityKeyError?
    private var oddities = 0

    init(search: ListSearch) { self.search = search }

    mutating func find(
      in ids: [CredentialDescriptor], _ outcome: inout Outcome, _ progress: inout ListProgress
    ) throws(SecurityKeyError) -> Bool {
      for entry in ids {
        do throws(SecurityKeyError) {
          if try search.probe.knows([entry], rpID: search.rpID, token: search.token) != nil {
            outcome.found = entry
            return true
          }
        } catch {
          guard error.isAboutTheRequest else { throw error }
          noAnswer = error
          oddities += 1
          if oddities >= ListSearch.patience { throw error }
        }
        progress.advance(by: 1)
      }
      return false
    }
  }
}

/// Tells how far a long search has come, now and then.
struct ListProgress {
  let total: Int
  let link: KeyLink
  private let step: Int
  private let isLong: Bool
  private var done = 0
  private var told = 0

  /// - Parameter commands: how many commands the search may take; a short one says nothing.
  init(total: Int, commands: Int, link: KeyLink) {
    self.total = total
    self.link = link
    isLong = commands > 8
    step = max(1, total / 50)
  }

  mutating func advance(by count: Int) {
    done += count
    guard isLong, done - told >= step else { return }
    told = done
    link.onEvent(.probing(done: done, of: total))
  }
}

extension SecurityKeyError {
  /// The key's word on this one request: another request may fare better. Everything else (the wire, a cancel, a
  /// PIN) concerns the whole act.
  var isAboutTheRequest: Bool {
    switch self {
    // The token is not about one id.
    case .status(.pinAuthInvalid), .status(.puatRequired): false
    case .status, .badAnswer, .requestTooLarge, .keyFull, .transport(.hid): true
    default: false
    }
  }

  /// The key finds the list too long.
  var isAboutTheList: Bool {
    switch self {
    case .status(.limitExceeded), .status(.requestTooLarge), .status(.invalidLength), .requestTooLarge: true
    default: false
    }
  }
}
