// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What happens while a key works, for whoever talks to the person.
public enum KeyEvent: Sendable, Hashable {
  /// The key is open and has said what it is.
  case opened(name: String)
  /// The key works and needs nobody.
  case processing
  /// The key waits for its touch, now.
  case touchNeeded
  /// The key has been touched: it went on working after it had asked.
  case touched
  /// The key's own verification (a fingerprint) is wanted, or failed with so many tries left.
  case userVerificationNeeded(triesLeft: Int?)
  /// A fingerprint is being enrolled: so many good samples are wanted, and what was wrong with the last one.
  case sampleNeeded(remaining: Int, problem: FingerprintProblem?)
  /// The key lists PIN/UV auth protocol 2 and fails with it; protocol 1 is used from here on.
  case fellBackToPINProtocol1
  /// A long list is being looked through.
  case probing(done: Int, of: Int)
  /// The key is to be laid on this card reader, or on any.
  case cardNeeded(reader: String?)
  /// The key is to be lifted off the card reader and laid on again.
  case tapAgainNeeded(reader: String)
  /// The act is over, well or badly.
  case finished
}
