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
  /// The key works for another program.
  case busy
  /// Another program has the key's node to itself; which one, when /proc tells.
  case inUse(by: String?)
  /// This user may not open the key's node.
  case notPermitted(path: String)
  /// The node, or what it stood for, is not there.
  case absent(String)
  /// No simulator listens on the UDP port.
  case nobodyAnswers(port: UInt16)
  /// Reports that do not make a message.
  case framing(CTAPHIDFault)
  /// An answer that breaks the wire's rules.
  case malformed(String)
  /// Something about the card reader or the card on it.
  case card(CardError)
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
    case .inUse: "keyInUse"
    case .notPermitted: "notPermitted"
    case .absent, .nobodyAnswers: "noSuchKey"
    case .framing(let fault): fault.name
    case .malformed: "malformedAnswer"
    case .card(let error): error.name
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
    case .inUse(let program?): "The key is in use by \(program)."
    case .inUse(nil): "The key is in use by another program."
    case .notPermitted(let node): "You may not use \(node): this computer does not let you open the key."
    case .absent(let node): "There is no key at \(node)."
    case .nobodyAnswers(let port): "No key answers on UDP port \(port) of this computer."
    case .framing(let fault): fault.message
    case .malformed(let what): "The key sent an answer that breaks the rules: \(what)."
    case .card(let error): error.message
    case .system(let call, let errno): "Talking to the key failed: \(call): \(String(cString: strerror(errno)))."
    }
  }

  public var next: String {
    switch self {
    case .unplugged: "Plug the key in and begin again."
    case .noAnswer, .hid, .malformed: "Unplug the key, plug it in again and repeat."
    case .cancelled: "Begin again when you are ready."
    case .timedOut: "Begin again, and touch the key when it blinks."
    case .busy, .inUse: "Close the other program, or unplug the key and plug it in again."
    case .notPermitted(let path): NodePermission.remedy(path)
    case .absent: "Plug the key in; sealkey list shows what is there."
    case .nobodyAnswers(let port): "Start the simulator first, for example: sealkey virtual run --udp \(port)"
    case .framing(let fault): fault.next
    case .card(let error): error.next
    case .system: "Unplug the key, plug it in again and repeat."
    }
  }

  public var status: Int? {
    switch self {
    case .hid(_, let raw): Int(raw)
    case .card(let error): error.status
    default: nil
    }
  }

  public var kind: FaultKind {
    switch self {
    case .cancelled, .timedOut: .cancelled
    case .absent, .nobodyAnswers: .noKey
    case .card(let error): error.kind
    default: .key
    }
  }
}
