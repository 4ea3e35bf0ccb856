// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import TestSupport
import Testing

/// Files are whole, private where they hold secrets, and never half-written.
@Suite(.programs) struct AtomicFileTests {
  @Test func writesReadsAndReplaces() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/file"
    for content: [UInt8] in [[], [1, 2, 3], [UInt8](repeating: 7, count: 300_000)] {
      try AtomicFile.write(content, to: path)
      #expect(try AtomicFile.read(path) == content)
    }
    #expect(throws: FileError.tooLarge(path: path, limit: 10)) { _ = try AtomicFile.read(path, limit: 10) }
    #expect(throws: FileError.exists(path: path)) { try AtomicFile.write([9], to: path, replacing: false) }
    #expect(try AtomicFile.read(path).count == 300_000)
    #expect(try Program.run("ls", ["-A", folder.path]).out == "file\n")
  }

  @Test func namesWhatIsWrong() throws {
    let folder = try TemporaryFolder()
    #expect(throws: FileError.notFound(path: "\(folder.path)/x")) { _ = try AtomicFile.read("\(folder.path)/x") }
    #expect(throws: FileError.isDirectory(path: folder.path)) { _ = try AtomicFile.read(folder.path) }
    #expect(throws: FileError.isDirectory(path: folder.path)) { try AtomicFile.write([1], to: folder.path) }
    #expect(throws: FileError.unwritable(path: "\(folder.path)/no/x", errno: ENOENT)) {
      try AtomicFile.write([1], to: "\(folder.path)/no/x")
    }
    #expect(throws: FileError.self) { try AtomicFile.write([1], to: "/dev/full/x") }
  }

  @Test func secretsAreForTheOwnerAlone() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/secret"
    try AtomicFile.write(secret: SecretBytes([1, 2, 3]), to: path)
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(try AtomicFile.readSecret(path).exposed() == [1, 2, 3])
    chmod(path, 0o640)
    #expect(throws: FileError.tooOpen(path: path)) { _ = try AtomicFile.readSecret(path) }
  }

  @Test func devicesAreMadeOnceAndReadAgain() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/device"
    let made = try DeviceFile.readOrMake(path)
    let again = try DeviceFile.readOrMake(path)
    #expect(made.isNew && !again.isNew)
    #expect(made.halves == again.halves)
    #expect(made.halves.devicePublicKey.count == 65)
    let whole = try AtomicFile.readSecret(path).exposed()
    for count in 0..<whole.count {
      try AtomicFile.write(Array(whole.prefix(count)), to: path, mode: 0o600)
      #expect(throws: DeviceError.self, "cut at \(count)") { _ = try DeviceFile.read(path) }
    }
  }
}
