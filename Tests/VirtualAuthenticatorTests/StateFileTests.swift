// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

/// A directory that is gone with the test.
final class TemporaryDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/sealkey-test.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw KeyStateError.unwritable(path: "/tmp", errno: errno) }
    path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  }

  deinit {
    for name in names { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  var names: [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var result: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { result.append(name) }
    }
    return result
  }

  static func read(_ path: String) -> [UInt8] {
    let fd = open(path, O_RDONLY)
    defer { close(fd) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = Glibc.read(fd, &bytes, bytes.count)
    return Array(bytes.prefix(max(0, count)))
  }

  static func write(_ path: String, _ bytes: [UInt8], mode: mode_t = 0o600) {
    unlink(path)
    let fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
    _ = Glibc.write(fd, bytes, bytes.count)
    fchmod(fd, mode)
    close(fd)
  }
}

@Suite("State file")
struct StateFileTests {
  static let pin = "2580"

  /// A key with something in every part of its state.
  private func used(_ path: String) throws -> (id: [UInt8], facts: [UInt8]) {
    let platform = try Platform(.biometric, storage: .file(path: path))
    let id = try platform.register()
    _ = try platform.register(
      user: [2], options: [("rk", true)],
      extensions: .textMap([("credBlob", .bytes([1, 2])), ("largeBlobKey", .bool(true))]))
    #expect(platform.config(3, .intMap([(2, .array([.text("a.org")]))])).status == .success)
    try #require(try platform.setPIN(Self.pin) == .success)
    _ = try platform.enrol(pin: Self.pin)
    _ = try platform.tokenReply("wrong", 0x04, rpId: nil)
    return (id, platform.key.info.encoded())
  }

  private func error(_ path: String, _ profile: ModelProfile = .biometric) -> KeyStateError? {
    do {
      _ = try VirtualAuthenticator(profile: profile, storage: .file(path: path))
      return nil
    } catch { return error as? KeyStateError }
  }

  @Test("everything is there again, and only the owner can read it")
  func roundTrip() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/key"
    let (id, info) = try used(path)
    var facts = stat()
    #expect(stat(path, &facts) == 0 && facts.st_mode & 0o7777 == 0o600)
    #expect(directory.names == ["key"], "nothing is left beside it")
    let platform = try Platform(.biometric, storage: .file(path: path))
    #expect(platform.key.info.encoded() == info)
    #expect(platform.pinRetries == 7)
    #expect(platform.call(.getAssertion, Platform.assertion(allow: [id])).status == .success)
    #expect(try platform.tokenReply(Self.pin, 0x04, rpId: nil).0 == .success)
    let wants = CBORValue.textMap([("credBlob", .bool(true)), ("largeBlobKey", .bool(true))])
    let reply = platform.call(.getAssertion, Platform.assertion(extensions: wants))
    #expect(reply.authData?.extensions?["credBlob"]?.bytes == [1, 2] && reply[7]?.bytes?.count == 32)
  }

  @Test("a wrong PIN is remembered before it is answered")
  func retriesFirst() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/key"
    let platform = try Platform(storage: .file(path: path))
    try #require(try platform.setPIN(Self.pin) == .success)
    _ = try platform.tokenReply("wrong", 1)
    let stored = try KeyStateCoding.decode(SecretBytes(TemporaryDirectory.read(path)), path: path)
    #expect(stored.facts.pinRetries == 7)
  }

  @Test("every truncation is named, and leaves the file alone")
  func truncations() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/key"
    _ = try used(path)
    let whole = TemporaryDirectory.read(path)
    for count in 0..<whole.count {
      TemporaryDirectory.write(path, Array(whole[..<count]))
      guard case .truncated(path, let expected, count) = error(path) else {
        Issue.record("\(count) bytes gave \(String(describing: error(path)))")
        continue
      }
      #expect(count < 24 || expected == whole.count)
      #expect(TemporaryDirectory.read(path).count == count)
    }
    TemporaryDirectory.write(path, whole + [0])
    #expect(error(path) == .damaged(path: path))
    TemporaryDirectory.write(path, whole)
    #expect(error(path) == nil)
  }

  @Test("every changed byte is named")
  func damage() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/key"
    _ = try used(path)
    let whole = TemporaryDirectory.read(path)
    for index in whole.indices {
      var changed = whole
      changed[index] ^= 0x41
      TemporaryDirectory.write(path, changed)
      switch (index, error(path)) {
      case (0..<16, .foreign): break
      case (16..<20, .unknownVersion): break
      case (20..<24, .truncated), (20..<24, .damaged): break
      case (24..., .damaged): break
      case (_, let other): Issue.record("byte \(index) gave \(String(describing: other))")
      }
    }
  }

  @Test("a good checksum over nonsense is named too")
  func malformed() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/key"
    _ = try used(path)
    let whole = TemporaryDirectory.read(path)
    let body = Array(whole[72..<(whole.count - 32)])
    let map = try CBORDecoder.decodeAll(body)
    for entry in try #require(map.map) {
      let rest = map.map?.filter { $0.key.text != entry.key.text } ?? []
      for replacement in [nil, CBORValue.null] {
        let members =
          rest.map { ($0.key.rewritten, $0.value.rewritten) } + (replacement.map { [(entry.key.rewritten, $0)] } ?? [])
        let new = CBORValue.encode(.map(members))
        let length = (0..<4).map { UInt8(new.count >> (24 - 8 * $0) & 0xFF) }
        let file = Array(whole[..<20]) + length + whole[24..<72] + new
        TemporaryDirectory.write(path, file + SHA256.hash(file))
        guard case .malformed(path, let part) = error(path) else {
          Issue.record("\(entry.key.text ?? "?") gave \(String(describing: error(path)))")
          continue
        }
        #expect(part == entry.key.text)
      }
    }
  }

  @Test("files that hold no key")
  func foreign() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/key"
    #expect(error(directory.path) == .notAFile(path: directory.path))
    symlink(directory.path + "/elsewhere", path)
    #expect(error(path) == .notAFile(path: path))
    mkfifo(directory.path + "/pipe", 0o600)
    #expect(error(directory.path + "/pipe") == .notAFile(path: directory.path + "/pipe"))
    TemporaryDirectory.write(path, Array("{\"not\":\"a key\"}  more text".utf8))
    #expect(error(path) == .foreign(path: path))
    TemporaryDirectory.write(path, [], mode: 0o600)
    guard case .truncated = error(path) else {
      Issue.record("an empty file gave \(String(describing: error(path)))")
      return
    }
    let absent = directory.path + "/none/key"
    #expect(error(absent) == .unwritable(path: absent, errno: ENOENT))
  }

  @Test("a key that others can read, of another model, or in use is refused")
  func refused() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/key"
    let first = try VirtualAuthenticator(storage: .file(path: path))
    #expect(error(path, .virtual) == .inUse(path: path))
    // Still after the file has been replaced by a save.
    let platform = Platform(first)
    _ = try platform.register()
    #expect(error(path, .virtual) == .inUse(path: path))
    withExtendedLifetime(first) {}
    let other = directory.path + "/other"
    TemporaryDirectory.write(other, TemporaryDirectory.read(path))
    #expect(error(other, .small) == .otherProfile(path: other, profile: "virtual"))
    chmod(other, 0o640)
    #expect(error(other, .virtual) == .tooOpen(path: other, mode: 0o640))
  }

  @Test("what killed programs have left beside the state goes with the next save, and nothing else does")
  func leftovers() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/key"
    let dead = directory.path + "/key.new.2000000001"
    let kept = ["key.new.\(getppid())", "other.new.2000000001", "key.new.", "key.new.x1"].map {
      "\(directory.path)/\($0)"
    }
    for file in [dead] + kept { TemporaryDirectory.write(file, [1, 2, 3]) }
    let key = try VirtualAuthenticator(storage: .file(path: path))
    #expect(access(dead, F_OK) != 0)
    for file in kept { #expect(access(file, F_OK) == 0, "\(file)") }
    withExtendedLifetime(key) {}
  }

  @Test("a state on a read-only disk is not called unreadable or damaged")
  func readOnlyDisk() {
    for code in [EROFS, ENOSPC] {
      let error = KeyStateError.unwritable(path: "/x/virtual-key", errno: code)
      #expect(error.message.contains("/x/virtual-key") && !error.next.contains("Restore"))
      #expect(error.next.contains("disk"))
    }
  }

  @Test("when nothing can be saved, the key says so and the old state stays")
  func unwritable() throws {
    let directory = try TemporaryDirectory()
    let inner = directory.path + "/inner"
    mkdir(inner, 0o700)
    let path = inner + "/key"
    let platform = try Platform(storage: .file(path: path))
    try #require(try platform.setPIN(Self.pin) == .success)
    let before = TemporaryDirectory.read(path)
    // The directory goes away under it: works for root too, where permissions do not.
    rename(inner, directory.path + "/moved")
    #expect(platform.call(.makeCredential, Platform.registration(options: nil)).status == .other)
    #expect(platform.key.lastStorageError == .unwritable(path: path, errno: ENOENT))
    #expect(try platform.tokenReply("wrong", 1).0 == .other, "no PIN is looked at that cannot be counted")
    rename(directory.path + "/moved", inner)
    #expect(TemporaryDirectory.read(path) == before)
    #expect(platform.call(.makeCredential, Platform.registration()).status == .success)
    #expect(platform.key.lastStorageError == nil)
    unlink(path)
    rmdir(inner)
  }
}
