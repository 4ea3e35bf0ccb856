// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SecurityKeys
import Testing

/// What a pinentry program answers, byte by byte: good answers, and every rule that it can break.
@Suite struct AssuanRepliesTests {
  /// Feeds text: the PIN and whether it was typed twice, or the error's name. Nil when the answer is not complete.
  private func answer(_ text: String, takesPIN: Bool = true) -> String? {
    let replies = AssuanReplies()
    replies.begin(takesPIN: takesPIN)
    for byte in text.utf8 {
      do throws(PinentryError) {
        if try replies.take(byte) {
          let pin = String(decoding: replies.secret().exposed(), as: UTF8.self)
          #expect(pin.utf8.count == replies.pinLength)
          return replies.wasRepeated ? "\(pin), twice" : pin
        }
      } catch {
        return error.understood.name
      }
    }
    return nil
  }

  @Test(arguments: [
    ("OK\n", ""), ("OK closing connection\n", ""), ("D 1234\nOK\n", "1234"), ("D 12\nD 34\nOK\n", "1234"),
    ("D 1%252\nOK\n", "1%2"), ("D %41%6a\nOK\n", "Aj"), ("D \nOK\n", ""), ("# a comment\n\nOK\n", ""),
    ("S PIN_REPEATED\nD 1\nOK\n", "1, twice"), ("S BUTTON_INFO close\nOK\n", ""), ("S PIN_REPEATE\nOK\n", ""),
  ])
  func reads(_ text: String, _ pin: String) { #expect(answer(text) == pin) }

  @Test(arguments: [
    ("ERR 83886179 Operation cancelled <Pinentry>\n", "cancelled"), ("ERR 83886142\n", "pinentryTimedOut"),
    ("ERR\n", "pinentryRefused"), ("ERR 99999999999999999999 x\n", "pinentryRefused"), ("D\n", "pinentryBadReply"),
    ("D %4\nOK\n", "pinentryBadReply"), ("D %\nOK\n", "pinentryBadReply"), ("D %g0\nOK\n", "pinentryBadReply"),
    ("OKAY\n", "pinentryBadReply"), ("INQUIRE X\n", "pinentryBadReply"), (" OK\n", "pinentryBadReply"),
  ])
  func refuses(_ text: String, _ name: String) { #expect(answer(text) == name) }

  @Test func nobodyAskedForData() { #expect(answer("D 1\nOK\n", takesPIN: false) == "pinentryBadReply") }

  @Test func lengthsAreBounded() {
    let line = AssuanReplies.lineLimit
    #expect(answer("#" + String(repeating: "x", count: line - 1) + "\nOK\n") == "")
    #expect(answer("#" + String(repeating: "x", count: line) + "\nOK\n") == "pinentryBadReply")
    #expect(answer(String(repeating: "#\n", count: AssuanReplies.linesLimit - 1) + "OK\n") == "")
    #expect(answer(String(repeating: "#\n", count: AssuanReplies.linesLimit) + "OK\n") == "pinentryBadReply")
    let pin = String(repeating: "7", count: AssuanReplies.pinLimit)
    #expect(answer("D \(pin)\nOK\n") == pin)
    #expect(answer("D \(pin)\nD 7\nOK\n") == "pinentryBadReply")
  }

  @Test func anAnswerThatIsCutIsNone() {
    for text in ["", "O", "OK", "D 1234", "D 1234\n", "S PIN_REPEATED\n"] { #expect(answer(text) == nil) }
  }

  @Test func nothingStaysForTheNextAnswer() throws {
    let replies = AssuanReplies()
    replies.begin(takesPIN: true)
    for byte in "S PIN_REPEATED\nD 1234\nOK\n".utf8 { _ = try replies.take(byte) }
    #expect(replies.pinLength == 4 && replies.wasRepeated)
    replies.begin(takesPIN: false)
    #expect(replies.pinLength == 0 && !replies.wasRepeated && replies.secret().exposed().isEmpty)
  }

  @Test func whatIsSentIsOneLine() {
    #expect(AssuanReplies.escaped("a b%\n\u{7f}é") == "a b%25%0A%7F%C3%A9")
    #expect(AssuanReplies.escaped(String(repeating: "%", count: 5000)).utf8.count < AssuanReplies.lineLimit)
  }
}
