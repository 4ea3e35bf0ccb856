// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// Temporary files of writers that were killed. A writer names its file with its process id at the end, and holds an advisory lock
/// on it as long as it writes: what belongs to a living process, or is locked by anybody, is never touched.
package enum AbandonedFile {
  /// What stands between the name of the file that was to be written and the writer's process id.
  private static let marks = [".tmp-", ".new."]

  /// The file that was to be written and the process that wrote, when `name` is a temporary file's.
  package static func parse(_ name: String) -> (target: String, writer: pid_t)? {
    for mark in marks {
      // Backwards: what is written may have such a name itself.
      let bytes = Array(name.utf8)
      guard let digits = bytes.lastIndex(where: { !(0x30...0x39).contains($0) }).map({ bytes[($0 + 1)...] }),
        bytes[..<digits.startIndex].suffix(mark.utf8.count).elementsEqual(mark.utf8), digits.count <= 10,
        let writer = pid_t(String(decoding: digits, as: UTF8.self)), writer > 0
      else { continue }
      let target = bytes[..<(digits.startIndex - mark.utf8.count)]
      if !target.isEmpty { return (String(decoding: target, as: UTF8.self), writer) }
    }
    return nil
  }

  /// Whether nobody will ever finish `name` in `folder`.
  package static func isAbandoned(_ name: String, in folder: String) -> Bool {
    guard let (_, writer) = parse(name), isDead(writer) else { return false }
    return isUnlocked("\(folder)/\(name)")
  }

  /// Removes it when nobody will ever finish it.
  package static func remove(_ name: String, in folder: String) {
    if isAbandoned(name, in: folder) { unlink("\(folder)/\(name)") }
  }

  private static func isDead(_ process: pid_t) -> Bool { kill(process, 0) != 0 && errno == ESRCH }

  /// A writer in another container has a process id that means nothing here; its lock is seen all the same.
  private static func isUnlocked(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }
}
