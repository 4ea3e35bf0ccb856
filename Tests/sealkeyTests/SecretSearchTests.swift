// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import SecurityKeys
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

/// After a key was registered for somebody else, nothing of what was secret is left: not in the memory of the program as
/// it ends, not in its files, not in what it printed.
@Suite(.programs) struct SecretSearchTests {
  static let hasGDB: Bool =
    (try? Program.run("gdb", ["--batch", "-nx", "-ex", "run", "--args", "true"]))
    .map { $0.code == 0 && $0.out.contains("exited normally") } ?? false

  private static let pin = "correct-horse-7319-staple"

  // A sanitizer's shadow memory would make a core of many gigabytes.
  @Test(
    .enabled(if: Pace.factor == 1, "not under a sanitizer"),
    .enabled(if: hasGDB || Program.isCI, "gdb is not installed, or may not trace"))
  func nothingIsLeft() async throws {
    let folder = try TemporaryFolder()
    let virtual = try VirtualAuthenticator()
    try await plugged(virtual) { key, _ in try await key.setPIN(SecretBytes(Array(Self.pin.utf8))) }

    // The key lives in this process, so that the other one holds only what a real key would give it.
    let host = try VirtualKeyHost.udp(virtual)
    let port = try #require(host.port)
    let record = "\(folder.path)/emma.json"
    let planted = Random.bytes(32)
    let core = try dump(
      ["sponsor", "--name", "Emma", "--out", record, "--key", "udp:\(port)"], planting: planted, folder)
    host.stop()
    #expect(try Sealkey.exists(record), "the ceremony went through: \(core.out)")
    #expect(core.count > 1 << 20)

    // What was planted is found in each of its forms, so the search can find.
    let found = Set(Needle.all("planted", planted).filter { core.contains($0.bytes) }.map(\.form))
    #expect(found.isSuperset(of: ["raw", "hex", "HEX", "base64+0", "base64+1", "base64+2", "reversed"]), "\(found)")

    let made: DirectoryRecord = try Artefact(parsing: AtomicFile.read(record)).shape(.identityRecord)
    // And what is public is there: this is the memory of a program that did the whole ceremony.
    #expect(core.contains(Array(made.rootHash.utf8)))
    let secrets = try await self.secrets(virtual, made)
    for (name, secret) in secrets {
      for needle in Needle.all(name, secret) {
        #expect(!core.contains(needle.bytes), "\(name) as \(needle.form) is in the memory")
      }
    }
    // Files and words.
    var leftovers = Array((core.out + core.err).utf8)
    let files = try Program.run("find", [folder.path, "-type", "f", "!", "-name", "core"]).out
    for file in files.split(separator: "\n") { leftovers += try AtomicFile.read(String(file)) }
    #expect(leftovers.count > 2000)
    for (name, secret) in secrets {
      for needle in Needle.all(name, secret) {
        #expect(!Needle.contains(leftovers, needle.bytes), "\(name) as \(needle.form) is in a file or was printed")
      }
    }
  }

  @Test(
    "a PIN that came from a pinentry program is gone as well",
    .enabled(if: Pace.factor == 1, "not under a sanitizer"),
    .enabled(if: hasGDB || Program.isCI, "gdb is not installed, or may not trace"))
  func nothingIsLeftOfPinentry() async throws {
    let folder = try TemporaryFolder()
    let virtual = try VirtualAuthenticator()
    try await plugged(virtual) { key, _ in try await key.setPIN(SecretBytes(Array(Self.pin.utf8))) }
    let host = try VirtualKeyHost.udp(virtual)
    let port = try #require(host.port)
    let program = "\(folder.path)-pinentry"
    let script = "while read -r l; do case $l in GETPIN) echo 'D \(Self.pin)'; echo OK ;; *) echo OK ;; esac; done"
    try AtomicFile.write(Array("#!/bin/sh\necho OK\n\(script)\n".utf8), to: program, mode: 0o700)
    defer { unlink(program) }
    let planted = Random.bytes(32)
    let record = "\(folder.path)/eve.json"
    let core = try dump(
      ["register", "--name", "Eve", "--out", record, "--key", "udp:\(port)"], planting: planted, folder,
      pinentry: program)
    host.stop()
    #expect(try Sealkey.exists(record), "the ceremony went through: \(core.out) \(core.err)")
    #expect(Needle.all("planted", planted).contains { core.contains($0.bytes) })
    for (name, secret) in [
      ("PIN", Array(Self.pin.utf8)), ("hash", Array(SHA256.hash(Array(Self.pin.utf8)).prefix(16))),
    ] {
      for needle in Needle.all(name, secret) {
        #expect(!core.contains(needle.bytes), "\(name) as \(needle.form) is in the memory")
      }
    }
  }

  private func plugged<R: Sendable>(
    _ virtual: VirtualAuthenticator, _ body: (SecurityKey, KeySession) async throws -> R
  ) async throws -> R {
    let (descriptor, host) = try VirtualKeyHost.inProcess(virtual)
    defer { host.stop() }
    let key = SecurityKey(
      .reports(id: "search", name: "virtual key", kindName: "virtual", isSimulated: true) { descriptor })
    let result = try await body(key, KeySession(key) { _ in SecretBytes(Array(Self.pin.utf8)) })
    await key.close()
    return result
  }

  /// Everything that must be gone, opened again with the key.
  private func secrets(
    _ virtual: VirtualAuthenticator, _ record: DirectoryRecord
  ) async throws -> [(name: String, bytes: [UInt8])] {
    let endorsement = record.deviceEndorsements[0]
    let salt = try #require(endorsement.prfSalt)
    let id = try #require(record.credentialID)
    return try await plugged(virtual) { _, session in
      let opened = try await Ceremony(key: session).unlock(record)
      let answer = try await session.getAssertion(
        AssertionRequest(
          rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: Random.bytes(32),
          allowList: [CredentialDescriptor(id: id)], prfSalts: PRFSalts(bothFormsOf: salt)))
      let prf = try #require(answer.prf)
      var out: [(String, [UInt8])] = [
        ("PIN", Array(Self.pin.utf8)), ("PIN's hash", Array(SHA256.hash(Array(Self.pin.utf8)).prefix(16))),
        ("PRF output", prf.first.exposed()), ("signing key", opened.halves.signingKey.exposed()),
        ("X25519 key", opened.halves.bundle.x25519.exposed()),
        (
          "lock key",
          try HKDF.sha256(
            inputKeyMaterial: prf.first, salt: salt, info: Array("seal.sponsored.lock.v1".utf8), outputByteCount: 32
          ).exposed()
        ),
      ]
      switch opened.halves.bundle.mlkem768Seed {
      case .some(let seed): out.append(("ML-KEM seed", seed.exposed()))
      case .none: break
      }
      return out
    }
  }

  // MARK: A core dump at the very end

  private func dump(_ arguments: [String], planting secret: [UInt8], _ folder: TemporaryFolder, pinentry: String? = nil)
    throws
    -> Core
  {
    let path = "\(folder.path)/core"
    // gdb passes text on, so what is planted as text is text; the raw form goes in as escapes.
    func octal(_ bytes: [UInt8]) -> String {
      bytes.map { byte in
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
      }.joined()
    }
    let texts = Needle.all("planted", secret).map(\.whole)
    var commands = [
      "set pagination off", "set confirm off", "set dump-excluded-mappings on", "set use-coredump-filter off",
      "handle SIGPIPE nostop noprint pass", "catch syscall exit_group", "run",
    ]
    for (index, text) in texts.enumerated() {
      commands.append("set $p\(index) = ((char*(*)(unsigned long))malloc)(\(text.count + 64))")
      commands.append(
        "call ((char*(*)(char*,char*,unsigned long))memcpy)($p\(index), \"\(octal(text))\", \(text.count))")
    }
    commands += ["generate-core-file \(path)", "kill"]
    let pinFile = "\(folder.path)-pin"
    try AtomicFile.write(Array("\(Self.pin)\n".utf8), to: pinFile, mode: 0o600)
    defer { unlink(pinFile) }
    let words =
      arguments + ["--data-dir", "\(folder.path)/data"] + (pinentry.map { ["--pinentry", $0] } ?? ["--pin-fd", "7"])
    let shell =
      "exec gdb --batch -nx " + commands.map { "-ex '\($0)'" }.joined(separator: " ")
      + " --args '\(Program.sealkey)' " + words.map { "'\($0)'" }.joined(separator: " ") + " 7< '\(pinFile)'"
    let result = try Program.run("sh", ["-c", shell])
    return try Core(path, result.out, result.err)
  }
}

/// A core dump, mapped.
private final class Core {
  let base: UnsafeMutableRawPointer
  let count: Int
  let out: String
  let err: String

  init(_ path: String, _ out: String, _ err: String) throws {
    self.out = out
    self.err = err
    let descriptor = open(path, O_RDONLY)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_size > 0,
      let map = mmap(nil, Int(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0), map != MAP_FAILED
    else { throw FileError.notFound(path: "\(path): \(out) \(err)") }
    close(descriptor)
    base = map
    count = Int(status.st_size)
  }

  deinit { munmap(base, count) }

  func contains(_ needle: [UInt8]) -> Bool {
    Needle.contains(UnsafeRawBufferPointer(start: base, count: count), needle)
  }
}

/// A secret in one of the forms in which it could lie around.
private struct Needle {
  let form: String
  /// What is searched for: a part of the form, where its ends depend on what is beside it.
  let bytes: [UInt8]
  /// The whole form.
  let whole: [UInt8]

  static func all(_ name: String, _ secret: [UInt8]) -> [Needle] {
    func whole(_ form: String, _ bytes: [UInt8]) -> Needle { Needle(form: form, bytes: bytes, whole: bytes) }
    var out = [
      whole("raw", secret), whole("hex", Array(Hex.encode(secret).utf8)),
      whole("HEX", Array(Hex.encode(secret).uppercased().utf8)),
      // A big number lies in memory as limbs, the lowest first.
      whole("reversed", secret.reversed()),
    ]
    for shift in 0..<3 {
      let text = Array(Base64.encode([UInt8](repeating: 0, count: shift) + secret).utf8)
      let start = shift == 0 ? 0 : shift + 1
      let end = text.count - 4
      out.append(Needle(form: "base64+\(shift)", bytes: Array(text[start..<max(start, end)]), whole: text))
    }
    // Half of a secret is too much as well.
    if secret.count >= 32 {
      out.append(whole("first half", Array(secret.prefix(secret.count / 2))))
      out.append(whole("second half", Array(secret.suffix(secret.count / 2))))
    }
    return out
  }

  static func contains(_ haystack: [UInt8], _ needle: [UInt8]) -> Bool {
    haystack.withUnsafeBytes { contains($0, needle) }
  }

  static func contains(_ haystack: UnsafeRawBufferPointer, _ needle: [UInt8]) -> Bool {
    guard let base = haystack.baseAddress, let first = needle.first else { return false }
    var place = 0
    while place + needle.count <= haystack.count,
      let hit = memchr(base + place, Int32(first), haystack.count - needle.count + 1 - place)
    {
      if memcmp(hit, needle, needle.count) == 0 { return true }
      place = UnsafeRawPointer(hit) - base + 1
    }
    return false
  }
}
