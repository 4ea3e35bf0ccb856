// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CUdev
import Glibc

/// Opens a hidraw node for this program alone.
///
/// libfido2 takes the same lock on the nodes it opens itself, so two programs wait for each other. A program that takes
/// no lock (a browser) is met on the wire, as BUSY.
enum NodeLock {
  /// Opens `path` and locks it, waiting for another program's lock until `deadline`.
  /// - Returns: the descriptor; closing it ends the lock.
  static func open(_ path: String, until deadline: Deadline, _ cancel: CancelSwitch?) throws(TransportError) -> Int32 {
    let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw refusal(path, errno) }
    do throws(TransportError) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw .system(call: "fstat", errno: errno) }
      guard status.st_mode & S_IFMT == S_IFCHR else { throw .absent(path) }
      try lock(descriptor, path, deadline, cancel)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func lock(
    _ descriptor: Int32, _ path: String, _ deadline: Deadline, _ cancel: CancelSwitch?
  ) throws(TransportError) {
    var rest: Int32 = 10
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      switch errno {
      case EINTR: continue
      case EWOULDBLOCK: break
      case let code: throw .system(call: "flock", errno: code)
      }
      let left = deadline.millisecondsLeft
      guard left > 0 else { throw .inUse(by: holder(of: path)) }
      var waits = [pollfd(fd: cancel?.eventDescriptor ?? -1, events: Int16(POLLIN), revents: 0)]
      if poll(&waits, 1, min(rest, left)) > 0 { throw .cancelled }
      // A key is often held for the moment of a list: quick at first, patient later.
      rest = min(rest * 2, 200)
    }
  }

  private static func refusal(_ path: String, _ code: Int32) -> TransportError {
    switch code {
    case EACCES, EPERM: .notPermitted(path: path)
    case ENOENT, ENODEV, ENXIO, ENOTDIR, ELOOP, EISDIR: .absent(path)
    case EBUSY: .inUse(by: holder(of: path))
    default: .system(call: "open", errno: code)
    }
  }

  /// Whether the node can be used now. Opens it for a moment.
  static func access(_ path: String) -> FoundKey.Access {
    do throws(TransportError) {
      close(try open(path, until: .now, nil))
      return .ready
    } catch .notPermitted {
      return .notPermitted
    } catch .inUse(let holder) {
      return .inUse(by: holder)
    } catch {
      return .gone
    }
  }

  /// The name of a program that has `path` open, as far as /proc lets this user see. This process is one like any other:
  /// it may hold the key in another place.
  static func holder(of path: String) -> String? {
    guard let directory = opendir("/proc") else { return nil }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard let process = Int32(name), process != getpid(), has(process, path) else { continue }
      let comm = SystemNodes.contents("/proc/\(process)/comm", limit: 64)
      let program = HIDNode.cleaned(String(decoding: comm, as: UTF8.self)) ?? "a program"
      return "\(program) (process \(process))"
    }
    return nil
  }

  private static func has(_ process: Int32, _ path: String) -> Bool {
    guard let directory = opendir("/proc/\(process)/fd") else { return false }
    defer { closedir(directory) }
    var target = [CChar](repeating: 0, count: 4097)
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      let count = readlink("/proc/\(process)/fd/\(name)", &target, target.count - 1)
      guard count > 0 else { continue }
      if String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) == path { return true }
    }
    return false
  }
}
