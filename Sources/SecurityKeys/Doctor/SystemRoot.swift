// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CUdev
import Glibc

/// The files in which a computer says how it is set up, and who looks. A test puts a folder in their place.
public struct SystemRoot: Sendable {
  /// What stands before every path: nothing, or a test's folder.
  let prefix: String
  /// Whoever uses the key.
  let user: User
  /// Whether this user may read and write a file, by its whole path.
  let mayUse: @Sendable (String) -> Bool
  /// An environment variable's value; nil when it is not set.
  let variable: @Sendable (String) -> String?

  /// Who somebody is to the kernel.
  struct User: Sendable {
    let id: UInt32
    let groups: Set<UInt32>
  }

  /// This computer, as this process sees it.
  public static let this = SystemRoot(
    prefix: "", user: .this, mayUse: { access($0, R_OK | W_OK) == 0 },
    variable: { name in getenv(name).map { String(cString: $0) } })

  /// The text of a file, at most 1 MB; nil when there is none.
  func text(_ path: String) -> String? {
    guard exists(path) else { return nil }
    return String(decoding: bytes(path), as: UTF8.self)
  }

  func bytes(_ path: String) -> [UInt8] { SystemNodes.contents(prefix + path, limit: 1 << 20) }

  func exists(_ path: String) -> Bool { access(prefix + path, F_OK) == 0 }

  /// The names in a folder, sorted; none when there is no such folder.
  func names(_ folder: String) -> [String] {
    guard let directory = opendir(prefix + folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Where a path leads, links followed, without the prefix; nil when nothing is there.
  func resolved(_ path: String) -> String? {
    guard let resolved = realpath(prefix + path, nil) else { return nil }
    defer { free(resolved) }
    let whole = String(cString: resolved)
    guard !prefix.isEmpty, let base = realpath(prefix, nil) else { return whole }
    defer { free(base) }
    let start = String(cString: base)
    return whole.hasPrefix(start) ? String(whole.dropFirst(start.count)) : whole
  }

  /// Owner, group and permissions of a file; nil when it is not there.
  func status(_ path: String) -> stat? {
    var status = stat()
    return stat(prefix + path, &status) == 0 ? status : nil
  }

  /// Whether somebody was given a file by an access control list, as logind gives nodes to whoever sits at the screen.
  func hasAccessList(_ path: String) -> Bool { getxattr(prefix + path, "system.posix_acl_access", nil, 0) > 0 }
}

extension SystemRoot.User {
  static var this: Self {
    var groups = [gid_t](repeating: 0, count: 1024)
    let count = getgroups(Int32(groups.count), &groups)
    return Self(id: geteuid(), groups: Set(groups.prefix(Int(max(0, count)))).union([getegid()]))
  }
}
