// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// Whole files, read with a limit and written so that a reader finds the old one or the new one and never a third.
public enum AtomicFile {
  /// Reads at most `limit` bytes of a regular file. Anything else is refused: a pipe that nobody writes to would hold the
  /// program for ever, and reading a device can do things.
  /// - Throws: ``FileError``.
  public static func read(_ path: String, limit: Int = 16 << 20) throws(FileError) -> [UInt8] {
    if path == "/dev/stdin" { return try readStandardInput(limit: limit) }
    let descriptor = try openForReading(path)
    defer { close(descriptor) }
    return try read(descriptor, path, limit)
  }

  /// Reads the standard input to its end, whatever it is.
  /// - Throws: ``FileError``.
  public static func readStandardInput(limit: Int = 16 << 20) throws(FileError) -> [UInt8] {
    try read(0, "The standard input", limit)
  }

  private static func read(_ descriptor: Int32, _ path: String, _ limit: Int) throws(FileError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw errno == EISDIR ? .isDirectory(path: path) : .unreadable(path: path, errno: errno)
      }
      if count == 0 { return bytes }
      guard bytes.count + count <= limit else { throw .tooLarge(path: path, limit: limit) }
      bytes += buffer.prefix(count)
    }
  }

  /// Reads a file of secrets into locked memory. A file that others can read is refused.
  /// - Throws: ``FileError``.
  public static func readSecret(_ path: String, limit: Int = 1 << 16) throws(FileError) -> SecretBytes {
    let descriptor = try openForReading(path)
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .unreadable(path: path, errno: errno) }
    guard status.st_mode & 0o077 == 0 else { throw .tooOpen(path: path) }
    var total = 0
    var failure: Int32?
    var secret = SecretBytes(count: limit + 1) { room in
      while total < room.count {
        let count = Glibc.read(descriptor, room.baseAddress.map { $0 + total }, room.count - total)
        if count < 0, errno == EINTR { continue }
        if count < 0 { failure = errno }
        if count <= 0 { break }
        total += count
      }
    }
    if let failure { throw .unreadable(path: path, errno: failure) }
    guard total <= limit else { throw .tooLarge(path: path, limit: limit) }
    secret.truncate(to: total)
    return secret
  }

  /// Writes a file: a temporary one beside it, flushed, then renamed over it.
  /// - Parameters:
  ///   - mode: the permissions, 0600 for anything secret.
  ///   - replacing: whether a file of that name may be replaced.
  /// - Throws: ``FileError``; whatever was there before is as it was.
  public static func write(
    _ bytes: [UInt8], to path: String, mode: mode_t = 0o644, replacing: Bool = true
  ) throws(FileError) {
    try write(path, mode: mode, replacing: replacing) { descriptor in
      bytes.withUnsafeBytes { Self.writeAll($0, descriptor) }
    }
  }

  /// Writes a file of secrets, mode 0600.
  /// - Throws: ``FileError``.
  public static func write(
    secret: borrowing SecretBytes, to path: String, replacing: Bool = true
  ) throws(FileError) {
    let temporary = "\(path).tmp-\(getpid())"
    let descriptor = try create(temporary, path, mode: 0o600)
    let failure = secret.withUnsafeBytes { writeAll($0, descriptor) }
    try finish(descriptor, failure, temporary, path, replacing)
  }

  /// Whether a new file of that name could be made now: for asking before a person touches a key.
  /// - Throws: ``FileError``: `exists`, or `unwritable` when the folder is not there or not writable.
  public static func checkCanMake(_ path: String) throws(FileError) {
    guard !path.isEmpty else { throw .notFound(path: path) }
    if access(path, F_OK) == 0 { throw .exists(path: path) }
    try checkFolder(of: path)
  }

  /// Whether a file of that name, there already or not, could be replaced now.
  /// - Throws: ``FileError``: `isDirectory`, `notRegular`, or `unwritable` when the folder is not there or not writable.
  public static func checkCanReplace(_ path: String) throws(FileError) {
    guard !path.isEmpty else { throw .notFound(path: path) }
    var status = stat()
    if stat(path, &status) == 0 {
      try checkRegular(status, path)
      // A link there stands for something else, /dev/stdout for one, and would be replaced by a file.
      var link = stat()
      if path.hasPrefix("/dev/") || path.hasPrefix("/proc/"), lstat(path, &link) == 0,
        link.st_mode & S_IFMT == S_IFLNK
      {
        throw .notRegular(path: path)
      }
    }
    try checkFolder(of: path)
  }

  private static func checkFolder(of path: String) throws(FileError) {
    guard access(directory(of: path), W_OK | X_OK) == 0 else { throw .unwritable(path: path, errno: errno) }
  }

  private static func write(
    _ path: String, mode: mode_t, replacing: Bool, _ body: (Int32) -> Int32?
  ) throws(FileError) {
    let temporary = "\(path).tmp-\(getpid())"
    let descriptor = try create(temporary, path, mode: mode)
    try finish(descriptor, body(descriptor), temporary, path, replacing)
  }

  private static func create(_ temporary: String, _ path: String, mode: mode_t) throws(FileError) -> Int32 {
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
    guard descriptor >= 0 else { throw .unwritable(path: path, errno: errno) }
    // As long as it is written, nobody takes it for a dead writer's. A file system without locks does without.
    flock(descriptor, LOCK_EX | LOCK_NB)
    return descriptor
  }

  /// The errno of a failure, or nil.
  private static func writeAll(_ bytes: UnsafeRawBufferPointer, _ descriptor: Int32) -> Int32? {
    var done = 0
    while done < bytes.count {
      let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return errno }
      done += count
    }
    return nil
  }

  private static func finish(
    _ descriptor: Int32, _ failure: Int32?, _ temporary: String, _ path: String, _ replacing: Bool
  ) throws(FileError) {
    var failure = failure
    if failure == nil, fsync(descriptor) != 0 { failure = errno }
    if close(descriptor) != 0, failure == nil { failure = errno }
    if failure == nil {
      // link refuses an existing name, rename replaces it: both are one step.
      if replacing {
        if rename(temporary, path) != 0 { failure = errno }
      } else {
        if link(temporary, path) != 0 { failure = errno }
        if let code = failure, [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(code) {
          failure = renameToFreeName(temporary, path)
        }
        unlink(temporary)
      }
    }
    if let failure {
      unlink(temporary)
      if failure == EEXIST { throw .exists(path: path) }
      throw failure == EISDIR ? .isDirectory(path: path) : .unwritable(path: path, errno: failure)
    }
    // The name itself must survive a power cut too.
    flushDirectory(directory(of: path))
  }

  /// A memory stick's file system has no second names: the name is taken first, and then what it stands for.
  private static func renameToFreeName(_ temporary: String, _ path: String) -> Int32? {
    let taken = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard taken >= 0 else { return errno }
    close(taken)
    guard rename(temporary, path) != 0 else { return nil }
    let code = errno
    // It is empty, and ours.
    unlink(path)
    return code
  }

  /// Lets names that were made in a folder survive a power cut, as far as the file system can.
  static func flushDirectory(_ path: String) {
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
  }

  private static func openForReading(_ path: String) throws(FileError) -> Int32 {
    // Not blocking: to open a pipe is to wait for its writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT: throw .notFound(path: path)
      // A socket, or a device with nothing behind it.
      case ENXIO, ENODEV: throw .notRegular(path: path)
      default: throw .unreadable(path: path, errno: errno)
      }
    }
    do throws(FileError) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw .unreadable(path: path, errno: errno) }
      try checkRegular(status, path)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func checkRegular(_ status: stat, _ path: String) throws(FileError) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: return
    case S_IFDIR: throw .isDirectory(path: path)
    default: throw .notRegular(path: path)
    }
  }

  private static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
