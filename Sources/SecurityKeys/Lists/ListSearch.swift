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
  /// How many ids have no answer before the search is given up: a key that refuses one probe refuses a thousand.
  private static let patience = 8

  /// The first of `chunks` that the key knows; nil when it has said no to all of them.
  /// - Throws: what a key said instead of yes or no, when none of the ids is known.
  func first(in chunks: [[CredentialDescriptor]]) throws(SecurityKeyError) -> CredentialDescriptor? {
    var progress = ListProgress(total: chunks.reduce(0) { $0 + $1.count }, commands: chunks.count, link: probe.link)
    var noAnswer: SecurityKeyError?
    var oddities = 0
    var oneByOne = false
    for chunk in chunks {
      if chunk.count > 1, !oneByOne {
        do throws(SecurityKeyError) {
          if let id = try probe.knows(chunk, rpID: rpID) { return CredentialDescriptor(id: id) }
          progress.advance(by: chunk.count)
          continue
        } catch {
          guard error.isAboutTheRequest else { throw error }
          oneByOne = true
        }
      }
      for entry in chunk {
        do throws(SecurityKeyError) {
          if try probe.knows([entry], rpID: rpID) != nil { return entry }
        } catch {
          guard error.isAboutTheRequest else { throw error }
          noAnswer = error
          oddities += 1
          if oddities >= Self.patience { throw error }
        }
        progress.advance(by: 1)
      }
    }
    if let noAnswer { throw noAnswer }
    return nil
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
    case .status, .badAnswer, .requestTooLarge, .keyFull, .transport(.hid): true
    default: false
    }
  }
}
