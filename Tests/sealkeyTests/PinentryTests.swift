// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import TestSupport
import Testing
import WebAuthnCore

/// A PIN from a pinentry program: a good one, a person who cancels or mistypes, and programs that do not play by the rules.
@Suite(.programs) struct PinentryTests {
  let folder: TemporaryFolder
  let common: [String]
  static let pin = "24%8 x"

  init() throws {
    folder = try TemporaryFolder()
    common = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
  }

  /// A program that says OK to everything and answers the n-th GETPIN with the n-th of `answers`, shell commands all.
  private func program(_ answers: [String], repeats: String = "echo OK", greeting: String = "echo 'OK hello'") throws
    -> String
  {
    let path = "\(folder.path)/pinentry"
    let cases = answers.enumerated().map { "\($0 + 1)) \($1) ;;" }.joined(separator: "\n")
    try AtomicFile.write(
      Array(
        """
        #!/bin/sh
        exec 3>>'\(folder.path)/log'
        \(greeting)
        n=0
        while read -r line; do
          printf '%s\\n' "$line" >&3
          case $line in
            GETPIN) n=$((n + 1)); case $n in
              \(cases)
              *) echo 'ERR 83886179 enough' ;;
              esac ;;
            SETREPEAT*) \(repeats) ;;
            BYE) echo OK; exit 0 ;;
            *) echo OK ;;
          esac
        done
        """.utf8), to: path, mode: 0o755)
    return path
  }

  private var log: String { get throws { try Sealkey.text("\(folder.path)/log") } }

  private func setPIN() throws {
    #expect(try Sealkey.run(["pin", "set"] + common, pin: Self.pin).code == 0)
  }

  private static let right = "echo 'D 24%258 x'; echo OK"

  @Test func aPINThatIsRight() throws {
    try setPIN()
    let run = try Sealkey.run(["passkeys", "list", "--pinentry", program([Self.right])] + common)
    #expect(run.code == 0, "\(run.json)")
    let log = try log
    for words in ["SETDESC PIN of", "8 tries left", "At least 4 characters", "SETPROMPT PIN:", "GETPIN", "BYE"] {
      #expect(log.contains(words), "\(words): \(log)")
    }
    #expect(!log.contains("SETERROR") && !log.contains("SETREPEAT"))
    #expect(!log.contains(Self.pin) && !log.contains("24%258"))
  }

  @Test("the data may come in pieces and in either case of hexadecimal")
  func pieces() throws {
    try setPIN()
    let answer = "echo 'S note'; echo 'D %32'; echo '# a comment'; echo 'D %34%258'; echo 'D %20x'; echo OK"
    #expect(try Sealkey.run(["passkeys", "list", "--pinentry", program([answer])] + common).code == 0)
  }

  @Test func aWrongPINIsSaidAndAskedForAgain() throws {
    try setPIN()
    let run = try Sealkey.run(
      ["passkeys", "list", "--pinentry", program(["echo 'D 1111'; echo OK"]), "--timeout", "20"] + common)
    // One program a question: the script counts from one again, so every answer is the same.
    #expect(run.error == "pinRepeated", "\(run.json)")
    #expect(run.code == 4)
    let log = try log
    #expect(log.contains("SETERROR That PIN was wrong: 7 tries left."))
    #expect(log.contains("SETERROR The key has refused that PIN already, so it was not sent: 7 tries left."))
    #expect(log.components(of: "GETPIN") == 4)
    #expect(try Sealkey.run(["pin", "status"] + common).json["triesLeft"]?.int == 7)
  }

  @Test("whatever asks for the PIN, a program that answers by itself spends one try")
  func oneTry() throws {
    try setPIN()
    // A new PIN is asked for twice.
    let program = try program(["echo 'D 1111'; echo OK", "echo 'D 1111'; echo OK"])
    let runs = "\(folder.path)/runs"
    for (number, words) in [
      ["pin", "change"], ["settings", "always-uv", "on", "--yes"], ["passkeys", "list"],
      ["register", "--name", "Ada", "--out", "\(folder.path)/ada.json"],
      ["matrix", "run", "--practice", runs, "--runs", runs],
    ].enumerated() {
      let run = try Sealkey.run(words + ["--pinentry", program, "--last-tries"] + common)
      #expect(run.error == (words[0] == "matrix" ? "pinInvalid" : "pinRepeated"), "\(words): \(run.json)")
      #expect(try Sealkey.run(["pin", "status"] + common).json["triesLeft"]?.int == Int64(7 - number), "\(words)")
    }
  }

  @Test(
    "a PIN that cannot be one is asked for again, three times in all, and nothing is sent", arguments: [true, false])
  func tooShort(isRightInTheEnd: Bool) throws {
    try setPIN()
    let counter = "\(folder.path)/asked"
    let right = isRightInTheEnd ? Self.right : "echo 'D 123'; echo OK"
    let answer = "if [ -e '\(counter)' ]; then \(right); else touch '\(counter)'; echo 'D 12'; echo OK; fi"
    let run = try Sealkey.run(["passkeys", "list", "--pinentry", program([answer])] + common)
    #expect(run.error == (isRightInTheEnd ? nil : "pinTooShort"), "\(run.json)")
    #expect(try log.components(of: "GETPIN") == (isRightInTheEnd ? 2 : 3))
    #expect(try log.contains("SETERROR That PIN is too short: this key's PINs have at least 4 characters."))
    #expect(try Sealkey.run(["pin", "status"] + common).json["triesLeft"]?.int == 8)
  }

  @Test func aNewPINThatIsTooShortIsAskedForAgain() throws {
    let counter = "\(folder.path)/asked"
    func answer(_ pin: String) -> String { "echo 'S PIN_REPEATED'; echo 'D \(pin)'; echo OK" }
    let both = "if [ -e '\(counter)' ]; then \(answer("1357")); else touch '\(counter)'; \(answer("13")); fi"
    let run = try Sealkey.run(["pin", "set", "--pinentry", program([both])] + common)
    #expect(run.code == 0, "\(run.json)")
    #expect(try log.components(of: "GETPIN") == 2)
    #expect(try Sealkey.run(["passkeys", "list"] + common, pin: "1357").code == 0)
  }

  @Test func theSecondAnswerIsRight() throws {
    try setPIN()
    let counter = "\(folder.path)/asked"
    let answer =
      "if [ -e '\(counter)' ]; then \(Self.right); else touch '\(counter)'; echo 'D 1111'; echo OK; fi"
    let run = try Sealkey.run(["passkeys", "list", "--pinentry", program([answer])] + common)
    #expect(run.code == 0, "\(run.json)")
    #expect(try Sealkey.run(["pin", "status"] + common).json["triesLeft"]?.int == 8)
  }

  @Test(
    "what a person or a program can do wrong has a name, and costs no try",
    arguments: [
      ("echo OK", "pinEmpty", 4), ("echo 'ERR 83886179 cancelled <Pinentry>'", "cancelled", 5),
      ("echo 'ERR 83886142 timeout'", "pinentryTimedOut", 5), ("echo 'ERR 83918950 no tty'", "pinentryRefused", 4),
      ("exit 0", "pinentryEnded", 4), ("kill -9 $$", "pinentryEnded", 4), ("echo nonsense", "pinentryBadReply", 4),
      ("echo 'INQUIRE QUALITY 1234'", "pinentryBadReply", 4), ("echo 'D 2%4'; echo OK", "pinentryBadReply", 4),
      ("echo 'D 2%zz4'; echo OK", "pinentryBadReply", 4), ("yes 'S nothing'", "pinentryBadReply", 4),
      ("head -c 5000 /dev/zero | tr '\\0' a", "pinentryBadReply", 4),
      (
        "for i in 1 2 3 4; do printf 'D '; head -c 90 /dev/zero | tr '\\0' 7; echo; done; echo OK", "pinentryBadReply",
        4
      ),
      ("printf 'D '; head -c 70 /dev/zero | tr '\\0' 7; echo; echo OK", "pinUnusable", 4),
      ("printf 'D 12\\000345'; echo; echo OK", "pinUnusable", 4), ("echo 'D 123'; echo OK", "pinTooShort", 4),
      ("printf 'ERR '; head -c 900 /dev/zero | tr '\\0' 9; echo", "pinentryRefused", 4),
    ] as [(String, String, Int32)])
  func wrong(_ answer: String, _ name: String, _ code: Int32) throws {
    try setPIN()
    let run = try Sealkey.run(["passkeys", "list", "--pinentry", program([answer])] + common)
    #expect(run.error == name, "\(answer): \(run.json)")
    #expect(run.code == code)
    #expect(try Sealkey.run(["pin", "status"] + common).json["triesLeft"]?.int == 8)
  }

  @Test func noProgram() throws {
    try setPIN()
    for (program, name) in [("/no/such", "pinentryNotFound"), ("\(folder.path)", "pinentryNotFound")] {
      #expect(try Sealkey.run(["passkeys", "list", "--pinentry", program] + common).error == name)
    }
    let mute = try program([], greeting: "echo 'ERR 1 not today'; exit 1")
    #expect(try Sealkey.run(["passkeys", "list", "--pinentry", mute] + common).error == "pinentryRefused")
  }

  @Test(
    "a new PIN is typed twice, by the program or in two questions",
    arguments: [
      ("echo OK", ["echo 'S PIN_REPEATED'; echo 'D 1357'; echo OK"], nil),
      ("echo OK", ["echo 'D 1357'; echo OK", "echo 'D 1357'; echo OK"], nil),
      ("echo 'ERR 1 unknown'", ["echo 'D 1357'; echo OK", "echo 'D 1357'; echo OK"], nil),
      ("echo 'ERR 1 unknown'", ["echo 'D 1357'; echo OK", "echo 'D 1358'; echo OK"], "pinsDiffer"),
      ("echo OK", ["echo 'D 1357'; echo OK", "echo 'ERR 83886179 no'"], "cancelled"),
      ("echo OK", ["echo OK"], "pinEmpty"),
    ] as [(String, [String], String?)])
  func newPIN(_ repeats: String, _ answers: [String], _ error: String?) throws {
    let run = try Sealkey.run(["pin", "set", "--pinentry", program(answers, repeats: repeats)] + common)
    #expect(run.error == error, "\(run.json)")
    let isSet = try Sealkey.run(["pin", "status"] + common).json["set"]?.bool
    #expect(isSet == (error == nil))
    #expect(try log.contains("4 to 63 characters"), "the rules come before the question")
    if error == nil { #expect(try Sealkey.run(["passkeys", "list"] + common, pin: "1357").code == 0) }
  }

  @Test("without a terminal and with a display, the system's pinentry is used")
  func theSystems() throws {
    try setPIN()
    _ = try program([Self.right])
    let words = (["passkeys", "list", "--json"] + common).map { "'\($0)'" }.joined(separator: " ")
    func run(_ environment: String) throws -> Program.Result {
      try Program.run(
        "sh", ["-c", "\(environment) PATH='\(folder.path)':$PATH setsid -w '\(Program.sealkey)' \(words)"])
    }
    #expect(try run("DISPLAY=:9").code == 0)
    #expect(try log.contains("OPTION display=:9"))
    let blind = try run("DISPLAY= WAYLAND_DISPLAY=")
    #expect(blind.out.contains("\"pinRequired\""), "\(blind.out)")
  }
}

extension String {
  /// How often a word is in it.
  fileprivate func components(of word: String) -> Int {
    split(separator: word, omittingEmptySubsequences: false).count - 1
  }
}
