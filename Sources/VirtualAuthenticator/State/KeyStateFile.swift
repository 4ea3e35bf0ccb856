// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// A key's state in a file of mode 0600, locked while this program uses it, and replaced whole with each change: a
/// temporary file beside it, fsync, rename, fsync of the directory. At every moment the old state or the new one is
/// there.
final class KeyStateFile {
  private let path: String
  private var lock: Int32

  /// Opens and locks the file; a new one is made by the first ``save(_:)``.
  /// - Returns: the state, or nil when there is no such file.
  static func open(_ path: String) throws(KeyStateError) -> (file: KeyStateFile, state: KeyState?) {
    // The file can be replaced between opening and locking: then it is another file that must be locked.
    for _ in 0..<100 {
      let fd = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard fd >= 0 else {
        let code = errno
        if code == ENOENT { return (KeyStateFile(path, lock: -1), nil) }
        if code == EISDIR || code == ELOOP { throw .notAFile(path: path) }
        // Nothing is wrong with the state: a key that cannot remember is not plugged in.
        if code == EROFS || (code == EACCES && access(path, R_OK) == 0) { throw .unwritable(path: path, errno: code) }
        throw .unreadable(path: path, errno: code)
      }
      let file = KeyStateFile(path, lock: fd)
      var opened = stat()
      var named = stat()
      guard fstat(fd, &opened) == 0 else { throw .unreadable(path: path, errno: errno) }
      guard opened.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
      guard locks(fd) else { throw .inUse(path: path) }
      guard lstat(path, &named) == 0, named.st_ino == opened.st_ino, named.st_dev == opened.st_dev else { continue }
      guard opened.st_mode & 0o077 == 0 else { throw .tooOpen(path: path, mode: UInt32(opened.st_mode & 0o777)) }
      return (file, try KeyStateCoding.decode(file.read(count: Int(opened.st_size)), path: path))
    }
    throw .inUse(path: path)
  }

  /// Whoever has the file may just be ending, and a program that is just being started holds a copy of its maker's lock until
  /// it has begun: it is waited for, up to two seconds.
  private static func locks(_ fd: Int32) -> Bool {
    for _ in 0..<100 {
      if flock(fd, LOCK_EX | LOCK_NB) == 0 { return true }
      usleep(20_000)
    }
    return flock(fd, LOCK_EX | LOCK_NB) == 0
  }

  private init(_ path: String, lock: Int32) {
    self.path = path
    self.lock = lock
  }

  deinit { if lock >= 0 { close(lock) } }

  private func read(count: Int) throws(KeyStateError) -> SecretBytes {
    guard (0..<(32 << 20)).contains(count) else { throw .damaged(path: path) }
    var got = 0
    var failure: Int32 = 0
    var bytes = SecretBytes(count: count) { out in
      while got < count {
        let n = pread(lock, out.baseAddress.map { $0 + got }, count - got, off_t(got))
        if n < 0, errno == EINTR { continue }
        if n < 0 { failure = errno }
        guard n > 0 else { break }
        got += n
      }
    }
    guard failure == 0 else { throw .unreadable(path: path, errno: failure) }
    bytes.truncate(to: got)
    return bytes
  }

  /// Replaces the file.
  func save(_ state: KeyState) throws(KeyStateError) {
    let bytes = KeyStateCoding.encode(state)
    let temporary = "\(path).new.\(getpid())"
    unlink(temporary)
    let fd = Glibc.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard fd >= 0 else { throw .unwritable(path: path, errno: errno) }
    // The new file is locked before it gets the name, so that nobody slips in between.
    var failure: Int32 = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno
    if failure == 0 { failure = Self.write(bytes, to: fd) }
    if failure == 0, fsync(fd) != 0 { failure = errno }
    if failure == 0 {
      // A first save must not overwrite what another program has just made.
      let done = lock < 0 ? link(temporary, path) : rename(temporary, path)
      if done != 0 { failure = errno }
    }
    if lock < 0 || failure != 0 { unlink(temporary) }
    guard failure == 0 else {
      close(fd)
      if failure == EEXIST { throw .inUse(path: path) }
      throw .unwritable(path: path, errno: failure)
    }
    if lock >= 0 { close(lock) }
    lock = fd
    syncDirectory()
    sweep()
  }

  /// Removes what killed programs have left of this file. Nobody else writes it: it is locked.
  private func sweep() {
    let (folder, name) = place
    for found in FolderNames(of: folder).names where AbandonedFile.parse(found)?.target == name {
      AbandonedFile.remove(found, in: folder)
    }
  }

  /// The folder and the name in it.
  private var place: (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
  }

  private static func write(_ bytes: borrowing SecretBytes, to fd: Int32) -> Int32 {
    bytes.withUnsafeBytes { buffer -> Int32 in
      var done = 0
      while done < buffer.count {
        let n = Glibc.write(fd, buffer.baseAddress.map { $0 + done }, buffer.count - done)
        if n < 0, errno == EINTR { continue }
        guard n > 0 else { return n < 0 ? errno : EIO }
        done += n
      }
      return 0
    }
  }

  private func syncDirectory() {
    let fd = Glibc.open(place.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard fd >= 0 else { return }
    fsync(fd)
    close(fd)
  }
}
