// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// Why a file could not be read or written. The file that was there before is untouched.
public enum FileError: NamedError, Hashable {
  /// There is no such file.
  case notFound(path: String)
  /// A file's name is not valid UTF-8: a program that took it for text would mean another file. Odd bytes are shown as `\\xNN`.
  case nameNotUTF8(shown: String)
  /// It is a directory.
  case isDirectory(path: String)
  /// It is a pipe, a device or a socket.
  case notRegular(path: String)
  /// It may not be read.
  case unreadable(path: String, errno: Int32)
  /// It could not be written.
  case unwritable(path: String, errno: Int32)
  /// It is larger than anything of its kind can be.
  case tooLarge(path: String, limit: Int)
  /// It is there already and is not overwritten.
  case exists(path: String)
  /// A file that holds secrets can be read by others.
  case tooOpen(path: String)

  public var name: String {
    switch self {
    case .notFound: "fileNotFound"
    case .nameNotUTF8: "fileNameNotUTF8"
    case .isDirectory: "isDirectory"
    case .notRegular: "notARegularFile"
    case .unreadable: "fileUnreadable"
    case .unwritable: "fileUnwritable"
    case .tooLarge: "fileTooLarge"
    case .exists: "fileExists"
    case .tooOpen: "fileTooOpen"
    }
  }

  public var message: String {
    switch self {
    case .notFound(""): "A file is to be named here, and the name is empty."
    case .nameNotUTF8(let shown): "The name of the file \(shown) is not valid UTF-8, so it cannot be used."
    case .notFound(let path): "There is no file \(path)."
    case .isDirectory(let path): "\(path) is a directory, not a file."
    case .notRegular(let path): "\(path) is no ordinary file, but a pipe, a device or a socket."
    case .unreadable(let path, let code): "\(path) cannot be read: \(String(cString: strerror(code)))."
    case .unwritable(let path, let code): "\(path) cannot be written: \(String(cString: strerror(code)))."
    case .tooLarge(let path, let limit): "\(path) is larger than \(limit) bytes, so it cannot be what it should be."
    case .exists(let path): "\(path) is there already and was not touched."
    case .tooOpen(let path): "\(path) holds secrets and other users of this computer can read it."
    }
  }

  public var next: String {
    switch self {
    case .notFound, .isDirectory: "Check the name and try again."
    case .nameNotUTF8: "Rename the file (mv), then try again."
    case .notRegular: "Put the bytes into a file first, and name that."
    case .unreadable: "Check who may read the file, then try again."
    case .unwritable(_, EROFS): "The disk is read-only: choose a place on another one, or mount it for writing."
    case .unwritable(_, ENOSPC), .unwritable(_, EDQUOT): "Make room on the disk, or choose a place on another one."
    case .unwritable: "Check that the folder exists, that you may write there and that the disk has room."
    case .tooLarge: "Check that this is the right file."
    case .exists: "Choose another name, or move the old file away first."
    case .tooOpen(let path): "Make it yours alone: chmod 600 \(path)"
    }
  }

  public var kind: FaultKind { .file }
}
