// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SecurityKeys

/// What a person is told while a key works: driven by the key, in whole lines that a screen reader can read.
///
/// A pure state machine: events and the time go in, sentences come out.
struct Conversation {
  /// One sentence.
  struct Line: Hashable {
    let text: String
    /// The key waits for the person, who may be looking elsewhere.
    var wantsThePerson = false
  }

  /// Touches that the whole command takes.
  let touches: Int
  /// Which key it is, when there are several; nil when there is only one.
  let keyName: String?
  /// How long the key is waited for, in milliseconds.
  let patience: Int64

  /// Touches asked for so far in this command.
  private(set) var touch: Int
  private var touchBegan: Int64?
  private var reminders: [Int64] = []
  // A finger on the sensor is no touch of its own.
  private var enrols = false
  private var toldAt: Int64?

  /// - Parameter done: touches of this command that were asked for before, with the key opened then.
  init(touches: Int, done: Int = 0, keyName: String? = nil, patience: Duration) {
    self.touches = touches
    touch = done
    self.keyName = keyName
    let (seconds, attoseconds) = patience.components
    self.patience = seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }

  /// What to say about an event.
  /// - Parameter now: milliseconds on any clock that does not jump.
  mutating func lines(about event: KeyEvent, at now: Int64) -> [Line] {
    switch event {
    case .touchNeeded where enrols: return []
    case .touchNeeded:
      guard let began = touchBegan else { return [firstCall(now)] }
      return reminder(left: patience - (now - began))
    case .userVerificationNeeded(let left):
      return [
        Line(
          text: left.map { "Not recognised. Put your finger on the key again, \($0) tries left." }
            ?? "Put your finger on the key now\(named).", wantsThePerson: true)
      ]
    case .probing(let done, let total):
      // Once a second is news enough.
      if let toldAt, now - toldAt < 1000 { return [] }
      toldAt = now
      return [Line(text: "Looking for the right credential: \(done) of \(total).")]
    case .cardNeeded(let reader):
      return [Line(text: "Lay the key on \(reader ?? "a card reader") now.", wantsThePerson: true)]
    case .tapAgainNeeded(let reader):
      return [Line(text: "Lift the key off \(reader) and lay it on again.", wantsThePerson: true)]
    case .sampleNeeded(let remaining, let problem):
      enrols = true
      let trouble = problem.map { "\($0.message) " } ?? ""
      return [
        Line(
          text: remaining == 0
            ? "Put the finger on the key's sensor and lift it again."
            : "\(trouble)Again, \(remaining) more \(remaining == 1 ? "time" : "times").", wantsThePerson: true)
      ]
    case .finished:
      (touchBegan, enrols) = (nil, false)
      return []
    case .opened, .processing, .touched, .fellBackToPINProtocol1: return []
    }
  }

  private var named: String { keyName.map { ": \($0)" } ?? "" }

  private mutating func firstCall(_ now: Int64) -> Line {
    touchBegan = now
    touch += 1
    // Said again when that much is left, where it was not said a moment ago.
    reminders = [60_000, 30_000, 10_000].filter { $0 * 2 <= patience }
    let which = touches > 1 && touch <= touches ? "touch \(touch) of \(touches), " : ""
    return Line(text: "Touch the key now\(named) (\(which)\(Self.seconds(patience))).", wantsThePerson: true)
  }

  private mutating func reminder(left: Int64) -> [Line] {
    guard let next = reminders.first, left <= next else { return [] }
    reminders.removeAll { $0 >= left }
    return [Line(text: "\(Self.seconds(left)) left for the touch.", wantsThePerson: true)]
  }

  private static func seconds(_ milliseconds: Int64) -> String {
    let seconds = (max(0, milliseconds) + 500) / 1000
    return seconds == 1 ? "1 second" : "\(seconds) seconds"
  }
}
