// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import VirtualAuthenticator

extension RunRecord.HostDescription {
  /// This computer, for a run: its mark is other for every run, so that two records never tell of one computer.
  static func this(nonce: [UInt8], usesReader: Bool) -> RunRecord.HostDescription {
    var names = utsname()
    uname(&names)
    let system = withUnsafeBytes(of: &names.sysname) { text($0) }
    let release = withUnsafeBytes(of: &names.release) { text($0) }
    let machine = SystemText.contents("/etc/machine-id", limit: 64)
    return .init(
      mark: Array(SHA256.hash(Array("sealkey.matrix.host.v1".utf8) + nonce + machine).prefix(8)),
      kernel: "\(system) \(release)", libfido2: SystemText.mappedLibrary("libfido2.so") ?? "unknown",
      pcscd: usesReader ? SystemText.packageVersion("pcscd") ?? "unknown" : nil)
  }

  private static func text(_ raw: UnsafeRawBufferPointer) -> String {
    String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// What the system says of itself in small text files.
enum SystemText {
  static func contents(_ path: String, limit: Int) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count < limit {
      let count = read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }

  /// The version in the file name of a library that this process has loaded.
  static func mappedLibrary(_ stem: String) -> String? {
    let maps = contents("/proc/self/maps", limit: 1 << 20)
    for line in maps.split(separator: 0x0a) {
      let path = String(decoding: line, as: UTF8.self).split(separator: " ").last ?? ""
      guard let file = path.split(separator: "/").last, file.hasPrefix(stem + ".") else { continue }
      return String(file.dropFirst(stem.count + 1))
    }
    return nil
  }

  /// The version of an installed Debian package.
  static func packageVersion(_ name: String) -> String? {
    let status = contents("/var/lib/dpkg/status", limit: 16 << 20)
    var isIt = false
    for line in status.split(separator: 0x0a, omittingEmptySubsequences: false) {
      if line.starts(with: "Package: ".utf8) { isIt = line.dropFirst(9).elementsEqual(name.utf8) }
      if isIt, line.starts(with: "Version: ".utf8) { return String(decoding: line.dropFirst(9), as: UTF8.self) }
    }
    return nil
  }
}

/// The hosts of a virtual key, to be stopped together.
final class HostList: Sendable {
  private let hosts = Locked<[VirtualKeyHost]>([])
  func add(_ host: VirtualKeyHost) { hosts.withLock { $0 = $0.filter(\.isRunning) + [host] } }
  func stopAll() { for host in hosts.withLock({ $0 }) { host.stop() } }
}
