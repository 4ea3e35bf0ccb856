// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why reports do not make a CTAPHID message (CTAP 2.1 section 11.2.4).
public enum CTAPHIDFault: NamedError, Hashable {
  /// A report that is not as long as the reports of this key, in bytes.
  case wrongReportSize(expected: Int, actual: Int)
  /// A payload longer than a message can carry, in bytes.
  case messageTooLong(length: Int, limit: Int)
  /// A continuation packet that is not the next one.
  case wrongSequence(expected: UInt8, actual: UInt8)
  /// A new message began on the channel before the last one was complete.
  case interrupted(command: UInt8)

  public var name: String {
    switch self {
    case .wrongReportSize: "hidWrongReportSize"
    case .messageTooLong: "hidMessageTooLong"
    case .wrongSequence: "hidWrongSequence"
    case .interrupted: "hidInterrupted"
    }
  }

  public var message: String {
    switch self {
    case .wrongReportSize(let expected, let actual):
      "A USB report has \(actual) bytes where this key's have \(expected)."
    case .messageTooLong(let length, let limit):
      "A message of \(length) bytes does not fit: this wire takes \(limit)."
    case .wrongSequence(let expected, let actual):
      "Part \(actual) of a message arrived where part \(expected) was due."
    case .interrupted(let command):
      "A message was cut off by another one (command 0x\(String(command, radix: 16)))."
    }
  }

  public var next: String { "Unplug the key, plug it in again and repeat; if it stays, try another port or cable." }

  public var kind: FaultKind { .key }
}
