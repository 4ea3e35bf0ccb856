// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SecurityKeys
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import sealkey

/// What a person is told, and when.
@Suite(.programs) struct ConversationTests {
  @Test(
    "a touch is asked for once, and reminded of when little time is left",
    arguments: [(5, []), (30, [10]), (60, [30, 10]), (120, [60, 30, 10]), (600, [60, 30, 10])] as [(Int64, [Int64])])
  func reminders(seconds: Int64, left: [Int64]) {
    var talk = Conversation(touches: 1, patience: .seconds(seconds))
    var said: [String] = []
    // A key says so ten times a second.
    for now in stride(from: 1_000_000, through: 1_000_000 + seconds * 1000, by: 100) {
      said += talk.lines(about: .touchNeeded, at: now).map(\.text)
    }
    #expect(
      said == ["Touch the key now (\(seconds) seconds)."] + left.map { "\($0) seconds left for the touch." })
  }

  @Test("touches are counted over the whole command, and the key is named when there are several")
  func counting() {
    var talk = Conversation(touches: 3, keyName: "Solo 2", patience: .seconds(30))
    var said: [String] = []
    for _ in 0..<2 {
      for event: KeyEvent in [.processing, .touchNeeded, .touchNeeded, .touched, .finished] {
        said += talk.lines(about: event, at: 5).map(\.text)
      }
    }
    var again = Conversation(touches: 3, done: 2, keyName: "Solo 2", patience: .seconds(30))
    said += again.lines(about: .touchNeeded, at: 5).map(\.text)
    #expect(said == (1...3).map { "Touch the key now: Solo 2 (touch \($0) of 3, 30 seconds)." })
  }

  @Test("nothing is said that the key did not ask for; a finger is no touch")
  func silence() {
    var talk = Conversation(touches: 1, patience: .seconds(30))
    for event: KeyEvent in [.opened(name: "x"), .processing, .touched, .finished, .fellBackToPINProtocol1] {
      #expect(talk.lines(about: event, at: 1).isEmpty)
    }
    #expect(talk.lines(about: .sampleNeeded(remaining: 0, problem: nil), at: 1).count == 1)
    #expect(talk.lines(about: .touchNeeded, at: 2).isEmpty)
    #expect(talk.lines(about: .probing(done: 1, of: 9), at: 3).count == 1)
    #expect(talk.lines(about: .probing(done: 2, of: 9), at: 900).isEmpty)
    #expect(talk.lines(about: .probing(done: 3, of: 9), at: 1100).count == 1)
  }

  @Test("the touch is asked for exactly when the key asks, and on the desktop when nobody watches a terminal")
  func byTheKey() throws {
    let folder = try TemporaryFolder()
    let note = "\(folder.path)/notify-send"
    try AtomicFile.write(
      Array("#!/bin/sh\nprintf '%s|' \"$@\" >>'\(folder.path)/notes'\n".utf8), to: note, mode: 0o755)
    func run(_ extra: String) throws -> Program.Result {
      try Program.run(
        "sh",
        [
          "-c",
          "DISPLAY=:9 PATH='\(folder.path)':$PATH exec '\(Program.sealkey)' register --name Ada --no-store --key virtual "
            + "--data-dir '\(folder.path)/data' --virtual-touch 300 --out '\(folder.path)/a.json' \(extra)",
        ])
    }
    let loud = try run("")
    #expect(loud.code == 0, "\(loud.err)")
    let lines = loud.err.split(separator: "\n").map(String.init)
    #expect(lines.filter { $0.contains("Touch the key now") } == ["Touch the key now (30 seconds)."])
    // A courtesy that nobody waits for: it comes a moment later.
    var notes = ""
    for _ in 0..<600 where notes.isEmpty {
      notes = (try? Sealkey.text("\(folder.path)/notes")) ?? ""
      if notes.isEmpty { _ = try Program.run("sleep", ["0.1"]) }
    }
    #expect(notes.contains("|Touch the key now (30 seconds).|"), "\(notes)")
    _ = try Program.run("rm", ["\(folder.path)/notes"])
    let quiet = try run("--quiet --replace")
    #expect(quiet.code == 0 && quiet.err.isEmpty, "\(quiet.err)")
    #expect(try !Sealkey.exists("\(folder.path)/notes"))
  }
}
