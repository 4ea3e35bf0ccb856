// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import TestSupport
import Testing
import WebAuthnCore

/// The tap that releases, as a person makes it, in a made-up estate whose claim has just opened.
@Suite(.programs) struct TapCommandTests {
  @Test func twoTapsAuthorize() throws {
    let estate = try HolderEstate("open")
    let first = try Sealkey.run(
      ["tap", "--capsule", estate.file, "--out", estate.path("t1"), "--into", estate.path("e1")]
        + estate.seen() + estate.data("karin"))
    #expect(first.code == 0, "\(first.json)\(first.err)")
    #expect(first.json["simulated"]?.bool == true)
    #expect(first.json["wraps"]?.array?.count == 1)
    for words in [
      "days old: check-in", "Anything later is invisible", "on 1 device.", "Touch the key now",
      "So far 0 of 2 taps count; yours is the first: 1 more must follow",
      "By what this computer knows 1 of 2 taps count: 1 more must follow.",
    ] { #expect(first.err.contains(words), "\(words): \(first.err)") }
    // With ML-KEM here and there the share is locked the newer way, and there is nothing to say.
    #expect(first.err.contains("That is no fault") != MLKEM768.isAvailable)
    #expect(try counts(first) == [0, 1, 2])
    #expect(first.json["opensEstate"]?.bool == false)
    #expect(try Sealkey.run(["verify", estate.path("t1")] + estate.data("david")).code == 0)

    // Whoever has only the old file still knows of the tap on the computer that made it.
    let again = try Sealkey.run(
      ["tap", "--capsule", estate.file, "--out", estate.path("t1b"), "--into", estate.path("e1b")]
        + estate.seen() + estate.data("karin"))
    #expect(again.code == 0, "\(again.json)\(again.err)")
    #expect(again.json["alreadyTapped"]?.bool == true)
    #expect(again.json["eventID"]?.string == first.json["eventID"]?.string)
    #expect(again.json["simulated"]?.bool == true)
    #expect(!again.err.contains("Touch the key"))
    #expect(again.json["tapsCounted"]?.int == 1)
    #expect(try Sealkey.run(["verify", estate.path("t1b")] + estate.data("david")).code == 0)
    #expect(try Sealkey.run(["capsule", "verify", estate.path("e1b"), "--strict"] + estate.data("ruth")).code == 0)
    func seal(_ name: String) throws -> JSONValue? {
      try JSONReader.parse(Array(Sealkey.text(estate.path(name)).utf8))["seal"]
    }
    #expect(try seal("t1")?["id"]?.string == seal("t1b")?["id"]?.string)
    let shownAgain = try Sealkey.run(["tap", "--capsule", estate.file] + estate.seen() + estate.data("karin"))
    #expect(shownAgain.json["artefact"]?["seal"]?["id"]?.string == first.json["eventID"]?.string)
    let merged = try Sealkey.run(
      ["capsule", "merge", estate.file, "--out", estate.path("m")] + estate.data("karin"))
    #expect(merged.json["addedFromStore"]?.int == 1)

    let second = try Sealkey.run(
      ["tap", "--capsule", estate.path("e1"), "--into", estate.path("e2")] + estate.seen() + estate.data("ruth"))
    #expect(second.code == 0, "\(second.json)")
    #expect(second.json["artefact"]?["seal"]?["kind"]?.string == "authorization")
    #expect(second.err.contains("So far 1 of 2 taps count; yours is the second: with it the estate can be opened."))
    #expect(try counts(second) == [1, 2, 2])
    #expect(second.json["opensEstate"]?.bool == true)
    let shown = try Sealkey.run(["capsule", "show", estate.path("e2")] + estate.data("david"))
    #expect(shown.json["byFirstSight"]?["state"]?.string == "authorized")
    #expect(try Sealkey.run(["capsule", "verify", estate.path("e2"), "--strict"] + estate.data("ada")).code == 0)
    for who in ["karin", "ruth", "david"] {
      #expect(try Sealkey.run(["store", "check"] + estate.data(who)).code == 0)
    }
    // A second verifier, where there is one.
    if let python = Program.python {
      let script = "/\(CapsuleCommandTests.here)/Integration/python/verify_capsule.py"
      let checked = try Program.run(python, [script, estate.path("e2")])
      #expect(checked.code == 0, "\(checked.out)")
    }
  }

  private func counts(_ run: Sealkey.Run) throws -> [Int64?] {
    ["tapsBefore", "tapsCounted", "tapsNeeded"].map { run.json[$0]?.int }
  }

  /// The same command gives the tap again: what holds it stays as it is, with all that the key said of itself; what does
  /// not is not written over.
  @Test func theSameCommandAgain() throws {
    let estate = try HolderEstate("open")
    let tap =
      try ["tap", "--capsule", estate.file, "--out", estate.path("t"), "--into", estate.path("e")] + estate.seen()
      + estate.data("karin")
    #expect(try Sealkey.run(tap).code == 0)
    let made = try (Sealkey.text(estate.path("t")), Sealkey.text(estate.path("e")))
    #expect(try JSONReader.parse(Array(made.0.utf8))["evidence"]?["key"] != nil)
    for words in [[], ["--replace"]] {
      let again = try Sealkey.run(tap + words)
      #expect(again.code == 0, "\(again.json)\(again.err)")
      #expect(again.json["alreadyTapped"]?.bool == true)
      #expect(again.json["file"]?.string == estate.path("t"))
      #expect(again.err.contains("holds it already and was left as it is"))
      #expect(try (Sealkey.text(estate.path("t")), Sealkey.text(estate.path("e"))) == made)
    }
    try Sealkey.put("{}", estate.path("t"))
    #expect(try Sealkey.run(tap).error == "fileExists")
    #expect(try Sealkey.text(estate.path("t")) == "{}")
    // Before the first tap a file in the way is refused, and nobody is asked to touch.
    let ruth = try Sealkey.run(
      ["tap", "--capsule", estate.file, "--out", estate.path("t")] + estate.seen() + estate.data("ruth"))
    #expect(ruth.error == "fileExists")
    #expect(!ruth.err.contains("Touch"))
  }

  /// `show` says who of the key holders sits here, and whether their tap is wanted.
  @Test func whoseTapIsWanted() throws {
    let estate = try HolderEstate("open")
    func part(_ who: String) throws -> [String?] {
      let shown = try Sealkey.run(["capsule", "show", estate.file] + estate.data(who))
      let mine = shown.json["holders"]?.array?.filter { $0["thisComputer"]?.bool == true } ?? []
      return mine.flatMap { [$0["name"]?.string, $0["tap"]?.string] }
    }
    func text(_ who: String) throws -> String {
      try Program.run(Program.sealkey, ["capsule", "show", estate.file] + estate.data(who)).out
    }
    #expect(try part("karin") == ["Karin (simulated)", "wanted"])
    #expect(try part("ada").isEmpty)
    #expect(try text("karin").contains("Your tap is possible now (sealkey tap). So far 0 of 2 taps count"))
    #expect(
      try text("karin").contains("2 more of these must tap: Karin (simulated), David (simulated), Ruth (simulated)."))
    #expect(try Sealkey.run(["tap", "--capsule", estate.file] + estate.seen() + estate.data("karin")).code == 0)
    #expect(try part("karin") == ["Karin (simulated)", "given"])
    #expect(try text("karin").contains("There is nothing more to do."))
  }

  @Test func thatEnoughHaveTappedIsSaidBeforeTheQuestion() throws {
    let estate = try HolderEstate("authorized")
    let asked = try Sealkey.run(["tap", "--capsule", estate.file] + estate.data("david"))
    #expect(asked.error == "nobodyToAsk")
    #expect(asked.err.contains("ENOUGH HAVE TAPPED ALREADY: 2"))
    #expect(!asked.err.contains("Touch the key"))
  }

  /// That the owner's identity is gone speaks for the tap or against it; a person is told and decides.
  @Test func thatTheOwnerIsDeletedIsSaidBeforeTheQuestion() throws {
    let estate = try HolderEstate("open")
    let sentence = "Ada (simulated)'s identity is known here as deleted"
    let tap = ["tap", "--capsule", estate.file] + estate.data("karin")
    #expect(try !Sealkey.run(tap).err.contains(sentence))
    let gone = try Sealkey.run(
      ["delete", "--identity", "Ada (simulated)", "--yes", "--out", estate.path("x")] + estate.data("ada"))
    #expect(gone.code == 0, "\(gone.json)\(gone.err)")
    #expect(try Sealkey.run(["directory", "import", estate.path("x")] + estate.data("karin")).code == 0)
    let asked = try Sealkey.run(tap)
    #expect(asked.error == "nobodyToAsk")
    #expect(asked.err.contains(sentence), "\(asked.err)")
    let tapped = try Sealkey.run(tap + estate.seen())
    #expect(tapped.code == 0, "\(tapped.json)")
  }

  /// Nobody signs the names in a record: somebody who renames people in a copy of it changes nothing of what is asked.
  @Test func theNamesAreThoseOfThisComputer() throws {
    let estate = try HolderEstate("open")
    let swap = "s/Ada (simulated)/Bob/; s/Ruth (simulated)/Mallory/; s/David (simulated)/Mallory/"
    let honest = try Sealkey.run(["tap", "--capsule", estate.file] + estate.data("karin"))
    #expect(!honest.err.contains("another name"))
    #expect(try Program.run("sed", ["-i", swap, estate.file]).code == 0)
    let sentence = "The record calls Ada (simulated) by another name: Bob."
    let told = try Sealkey.run(["tap", "--capsule", estate.file] + estate.data("karin"))
    #expect(told.error == "nobodyToAsk")
    for words in [sentence, "The last sign of Ada (simulated) known here"] {
      #expect(told.err.contains(words), "\(words): \(told.err)")
    }
    for words in ["sign of Bob", "opened by Mallory", "readable for Mallory"] {
      #expect(!told.err.contains(words), "\(words): \(told.err)")
    }
    let confirmed = try Sealkey.run(["confirm", "--capsule", estate.file] + estate.data("karin"))
    #expect(confirmed.code == 0)
    #expect(confirmed.err.contains(sentence) && !confirmed.err.contains("sign of Bob"), "\(confirmed.err)")
    let show = ["capsule", "show", estate.file]
    #expect(try Sealkey.run(show + estate.data("karin")).json["ownerName"]?.string == "Ada (simulated)")
    let shown = try Program.run(Program.sealkey, show + estate.data("karin")).out
    #expect(shown.contains(sentence) && shown.contains("The estate of Ada (simulated)"), "\(shown)")
    #expect(!shown.contains("Mallory opened"), "\(shown)")
    // Whoever knows nobody has nothing but the record's names.
    let stranger = try Sealkey.run(show + ["--key", "virtual", "--data-dir", estate.path("none")])
    #expect(stranger.json["ownerName"]?.string == "Bob")
  }

  /// Whoever tapped, and asks again when all is over, gets the tap that counted.
  @Test func aTapThatCountedIsGivenAgain() throws {
    let estate = try HolderEstate("released")
    let run = try Sealkey.run(["tap", "--capsule", estate.file, "--yes"] + estate.data("karin"))
    #expect(run.code == 0)
    #expect(run.json["alreadyTapped"]?.bool == true)
    #expect(!run.err.contains("Touch the key"))
  }

  @Test func confirming() throws {
    let estate = try HolderEstate("sealed")
    let made = try Sealkey.run(
      ["confirm", "--capsule", estate.file, "--out", estate.path("c"), "--into", estate.path("e1")]
        + estate.data("david"))
    #expect(made.code == 0, "\(made.json)")
    #expect(try Sealkey.run(["verify", estate.path("c")] + estate.data("karin")).code == 0)
    #expect(try Sealkey.run(["capsule", "verify", estate.path("e1")] + estate.data("karin")).code == 0)
    let bare = try Sealkey.run(
      ["confirm", "--identity", estate.path("p/karin/identity.json"), "--estate", "E", "--epoch", "1", "--head", ""]
        + estate.data("karin"))
    #expect(bare.code == 0)
    #expect(bare.json["statement"]?["name"]?.string == "custody.confirm.v1")
    #expect(try Sealkey.run(["confirm", "--device", "x"]).error == "missingOption")
  }
}
