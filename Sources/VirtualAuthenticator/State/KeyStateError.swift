// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// Why a virtual key's state cannot be read or written. The file is left as it was.
public enum KeyStateError: NamedError, Hashable {
  /// The system refused; `errno` says why.
  case unreadable(path: String, errno: Int32)
  /// The system refused to write; the old state is still there.
  case unwritable(path: String, errno: Int32)
  /// A directory, a device or anything else that is not a file.
  case notAFile(path: String)
  /// Others can read or write the file.
  case tooOpen(path: String, mode: UInt32)
  /// Another program has the key.
  case inUse(path: String)
  /// Not the state of a virtual key.
  case foreign(path: String)
  /// Written by a later version of this program.
  case unknownVersion(path: String, version: UInt32)
  /// Ends too early; both in bytes.
  case truncated(path: String, expected: Int, actual: Int)
  /// The checksum does not fit.
  case damaged(path: String)
  /// The checksum fits, but the contents make no sense; which part.
  case malformed(path: String, part: String)
  /// The key of another model.
  case otherProfile(path: String, profile: String)

  public var name: String {
    switch self {
    case .unreadable: "virtualKeyUnreadable"
    case .unwritable: "virtualKeyUnwritable"
    case .notAFile: "virtualKeyNotAFile"
    case .tooOpen: "virtualKeyTooOpen"
    case .inUse: "virtualKeyInUse"
    case .foreign: "virtualKeyForeign"
    case .unknownVersion: "virtualKeyUnknownVersion"
    case .truncated: "virtualKeyTruncated"
    case .damaged: "virtualKeyDamaged"
    case .malformed: "virtualKeyMalformed"
    case .otherProfile: "virtualKeyOtherProfile"
    }
  }

  public var message: String {
    switch self {
    case .unreadable(let path, let code): "The virtual key in \(path) cannot be read: \(Self.text(code))."
    case .unwritable(let path, let code): "The virtual key in \(path) cannot be saved: \(Self.text(code))."
    case .notAFile(let path): "\(path) is not a file, so it holds no virtual key."
    case .tooOpen(let path, let mode):
      "The virtual key in \(path) is open to others (mode \(String(mode, radix: 8)))."
    case .inUse(let path): "Another program is using the virtual key in \(path)."
    case .foreign(let path): "\(path) does not hold a virtual key."
    case .unknownVersion(let path, let version): "The virtual key in \(path) has the unknown version \(version)."
    case .truncated(let path, let expected, let actual):
      "The virtual key in \(path) is cut off: \(actual) of \(expected) bytes are there."
    case .damaged(let path): "The virtual key in \(path) is damaged: its checksum does not fit."
    case .malformed(let path, let part): "The virtual key in \(path) makes no sense (\(part))."
    case .otherProfile(let path, let profile): "The virtual key in \(path) is of the model \(profile)."
    }
  }

  public var next: String {
    switch self {
    case .inUse: "End the other program, or name another file."
    case .tooOpen(let path, _): "Run: chmod 600 \(path)"
    case .unknownVersion: "Use the program that wrote it, or a later one."
    case .otherProfile(_, let profile): "Use the model \(profile), or name another file."
    case .unwritable(_, EROFS): "The disk is read-only: keep the virtual key on another one, or mount it for writing."
    case .unwritable(_, ENOSPC), .unwritable(_, EDQUOT): "Make room on the disk, then repeat."
    case .unwritable: "Give the permission to write there, then repeat."
    case .notAFile, .foreign: "Name another file."
    default: "Restore the file from a copy, or move it away to start with a fresh virtual key."
    }
  }

  public var kind: FaultKind { .file }

  private static func text(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
