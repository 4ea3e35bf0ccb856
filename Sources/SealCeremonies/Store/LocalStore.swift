// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// What this computer keeps: who is known and whose root keys are pinned, the record of each estate with the time at
/// which each entry was first seen here, and this computer's devices.
///
///     directory.json          people and pins
///     estates/HASH.jsonl      the record of one estate, never pruned
///     devices/NAME.device     private halves
///     lock                    held by whoever writes
///
/// Every file is for its owner alone and is replaced whole, so a reader needs no lock: it finds the old state or the new
/// one. One change is one file. A file that a killed program left half-written has another name, and is swept away by
/// the next writer.
public struct LocalStore: Sendable {
  /// The version that this program writes, and the only one it reads.
  public static let version: Int64 = 1

  /// The data directory.
  public let path: String
  /// How long a writer waits for another, in milliseconds.
  public var patience: Int

  /// A store in this directory, which may not be there yet.
  public init(path: String, patience: Int = 10_000) {
    self.path = path
    self.patience = patience
  }

  var directoryPath: String { "\(path)/directory.json" }
  var estatesPath: String { "\(path)/estates" }
  var devicesPath: String { "\(path)/devices" }

  /// Whether a file is one of those that a store keeps here. Its path must have no links in it.
  public func owns(_ file: String) -> Bool {
    guard let real = realpath(path, nil) else { return false }
    defer { free(real) }
    let parts = file.split(separator: "/")
    let own = String(cString: real).split(separator: "/")
    guard parts.count > own.count, parts.starts(with: own) else { return false }
    let name = parts[own.count]
    return ["directory.json", "known-keys.json", "lock", "estates", "devices"].contains(name)
      || name.hasPrefix("virtual-key")
  }

  /// Makes a folder and the ones above it, for their owner alone; each name survives a power cut.
  public static func makeFolder(_ path: String) throws(FileError) {
    var made = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: false) {
      let parent = made.isEmpty ? "." : made
      made += made.isEmpty && part.isEmpty ? "/" : (made.isEmpty || made.hasSuffix("/") ? "" : "/") + part
      if made == "/" || made.isEmpty || part.isEmpty { continue }
      if mkdir(made, 0o700) == 0 {
        AtomicFile.flushDirectory(parent)
      } else if errno != EEXIST {
        // A folder that is there on a file system that is read-only says so instead of EEXIST.
        let code = errno
        guard access(made, F_OK) == 0 else { throw .unwritable(path: made, errno: code) }
      }
    }
  }

  /// Runs `body` while no other writer can. Leftovers of killed writers are swept away first.
  /// - Throws: ``StoreError/busy(path:)``, ``FileError``, or what `body` throws.
  func locked<R>(_ body: () async throws -> R) async throws -> R {
    try Self.makeFolder(path)
    let lock = try await StoreLock.acquire(path, patience: patience)
    defer { lock.release() }
    for folder in [path, estatesPath, devicesPath] { sweep(folder) }
    return try await body()
  }

  /// Names of what lies in a folder; none when there is no such folder.
  static func names(in folder: String) -> [String] { FolderNames(of: folder).names }

  private func sweep(_ folder: String) {
    for name in Self.names(in: folder) where isOurs(name, in: folder) { AbandonedFile.remove(name, in: folder) }
  }

  /// Whether a temporary file's name says that it was to become a file of the store. The data directory may be one in
  /// which somebody keeps other things.
  func isOurs(_ name: String, in folder: String) -> Bool {
    guard let target = AbandonedFile.parse(name)?.target else { return false }
    switch folder {
    case estatesPath: return target.hasSuffix(".jsonl")
    case devicesPath: return target.hasSuffix(".device")
    default: return ["directory.json", "known-keys.json"].contains(target) || target.hasPrefix("virtual-key")
    }
  }
}

/// The right to write, as long as it is held: an advisory lock that ends with the process, however that ends.
final class StoreLock: Sendable {
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Waits for the lock, without holding up anybody else's work.
  static func acquire(_ path: String, patience: Int) async throws -> StoreLock {
    let file = "\(path)/lock"
    let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileError.unwritable(path: file, errno: errno) }
    let lock = StoreLock(descriptor)
    var waited = 0
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR else {
        lock.release()
        throw FileError.unwritable(path: file, errno: code)
      }
      guard waited < patience else {
        lock.release()
        throw StoreError.busy(path: path)
      }
      do { try await Task.sleep(for: .milliseconds(20)) } catch {
        lock.release()
        throw error
      }
      waited += 20
    }
    return lock
  }

  func release() { close(descriptor) }
}
