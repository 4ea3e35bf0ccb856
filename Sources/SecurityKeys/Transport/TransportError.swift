// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc

/// What can go wrong between this computer and a key, below CTAP.
public enum TransportError: NamedError, Hashable {
  /// The key is gone: pulled out, or it restarted.
  case unplugged
  /// The key did not answer in time.
  case noAnswer(command: UInt8)
  /// The person or the program cancelled.
  case cancelled
  /// The key has been waiting for its touch for too long.
  case timedOut
  /// The key reported an error of the wire.
  case hid(CTAPHIDErrorCode?, raw: UInt8)
  /// Another program holds the key.
  case busy
  /// This user may not open the key's node.
  case notPermitted(path: String)
  /// Reports that do not make a message.
  case framing(CTAPHIDFault)
  /// An answer that breaks the wire's rules.
  case malformed(String)
  /// A system call failed.
  case system(call: String, errno: Int32)

  public var name: String {
    switch self {
    case .unplugged: "unplugged"
    case .noAnswer: "noAnswer"
    case .cancelled: "cancelled"
    case .timedOut: "timedOut"
    case .hid: "wireError"
    case .busy: "keyBusy"
    case .notPermitted: "notPermitted"
    case .framing(let fault): fault.name
    case .malformed: "malformedAnswer"
    case .system: "systemError"
    }
  }

  public var message: String {
    switch self {
    case .unplugged: "The key was unplugged, or restarted."
    case .noAnswer: "The key did not answer."
    case .cancelled: "Cancelled."
    case .timedOut: "The key was not touched in time."
    case .hid(_, let raw): "The key reported a transmission error (0x\(String(raw, radix: 16)))."
    case .busy: "Another program is using the key."
    case .notPermitted(let path): "This user may not open the key (\(path))."
    case .framing(let fault): fault.message
    case .malformed(let what): "The key sent an answer that breaks the rules: \(what)."
    case .system(let call, let errno): "Talking to the key failed: \(call): \(String(cString: strerror(errno)))."
    }
  }

  public var next: String {
    switch self {
    case .unplugged: "Plug the key in and begin again."
    case .noAnswer, .hid, .malformed: "Unplug the key, plug it in again and repeat."
    case .cancelled: "Begin again when you are ready."
    case .timedOut: "Begin again, and touch the key when it blinks."
    case .notPermitted:
      "Install the udev rule for security keys (package libfido2-1 or systemd 248 and later has it), then plug the key in again."
    case .busy: "Close the other program, or unplug the key and plug it in again."
    case .framing(let fault): fault.next
    case .system: "Unplug the key, plug it in again and repeat."
    }
  }

  public var status: Int? { if case .hid(_, let raw) = self { Int(raw) } else { nil } }

  public var kind: FaultKind {
    switch self {
    case .cancelled, .timedOut: .cancelled
    default: .key
    }
  }
}
