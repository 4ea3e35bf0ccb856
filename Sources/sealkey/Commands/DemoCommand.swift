// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import SecurityKeys
import VirtualAuthenticator
import WebAuthnCore

extension Command {
  static let demo = Command(
    "demo", "Do the whole job on the built-in virtual key: register, endorse, tap, verify.",
    options: [
      OptionSpec("dir", "DIR", "where to put the files (sealkey-demo)"),
      OptionSpec("capsule", "FILE", "write a whole made-up estate there instead"),
      OptionSpec(
        "stage", "STAGE",
        "with --capsule, how far its story goes (released): sealed, overdue, claimed, open, authorized or released",
        choices: ["sealed", "overdue", "claimed", "open", "authorized", "released"]),
      OptionSpec(
        "people", "DIR", "with --capsule, keep everybody's virtual key, identity and device there, to play them"),
    ],
    examples: [
      "sealkey demo", "sealkey demo --dir /tmp/demo --json",
      "sealkey demo --capsule rehearsal.capsule --stage open --people people",
    ]
  ) { invocation in
    try invocation.noOperands()
    if let path = invocation.options["capsule"] {
      if invocation.options.has("dir") { throw UsageError.conflict("capsule", "dir") }
      return try await DemoCapsule.write(path, invocation)
    }
    for option in ["stage", "people"] where invocation.options.has(option) { throw UsageError.missingOption("capsule") }
    let folder = invocation.options["dir"] ?? "sealkey-demo"
    if mkdir(folder, 0o755) != 0, errno != EEXIST { throw FileError.unwritable(path: folder, errno: errno) }
    try checkFiles(in: folder, invocation)
    let session = try VirtualSession(invocation)
    defer { session.host.stop() }
    do {
      let outcome = try await run(invocation, folder, session)
      await session.key.close()
      return outcome
    } catch {
      await session.key.close()
      throw error
    }
  }

  /// A rehearsal replaces what a rehearsal wrote, and nothing else unasked.
  private static func checkFiles(in folder: String, _ invocation: Invocation) throws {
    for path in ["identity.json", "endorsement.json", "tap.json"].map({ "\(folder)/\($0)" })
    where OutputFiles.isThere(path) {
      if OutputFiles.beginsWithPrivateHalves(path) { throw FileError.exists(path: path) }
      let held = try? Artefact(parsing: AtomicFile.read(path))
      if held?.isSimulated != true, !invocation.options.has("replace") { throw OutputTaken.exists(path) }
    }
  }

  /// A virtual key that lives as long as the demo.
  private struct VirtualSession {
    let key: SecurityKey
    let host: VirtualKeyHost

    init(_ invocation: Invocation) throws {
      let virtual = try invocation.makeVirtualKey(nil, storage: .memory)
      let (descriptor, host) = try VirtualKeyHost.inProcess(virtual)
      self.host = host
      key = SecurityKey(
        .reports(id: "demo", name: "virtual key", kindName: "virtual", isSimulated: true) { descriptor },
        timings: invocation.timings)
    }
  }

  private static func run(_ invocation: Invocation, _ folder: String, _ virtual: VirtualSession) async throws -> Outcome
  {
    let session = KeySession(virtual.key)
    let ceremony = Ceremony(key: session)
    var lines = ["This is a rehearsal on a virtual key: every file it writes is marked simulated."]
    var files: [JSONValue] = []
    func step(_ number: Int, _ title: String, _ artefact: Artefact, _ file: String, _ context: VerificationContext)
      throws
    {
      let path = "\(folder)/\(file)"
      try AtomicFile.write(artefact.encoded(pretty: true), to: path)
      // What counts is the file: it is read again, as anybody else would.
      let read = try Artefact(parsing: AtomicFile.read(path))
      let report = try read.verify(context)
      lines.append("\(number). \(title)")
      lines.append("   wrote \(path) (simulated)")
      for check in report.checks where check.outcome != .warning {
        lines.append("   \(check.outcome.rawValue): \(check.explanation)")
      }
      guard report.isGood, read.isSimulated else { throw DemoError(file: path) }
      files.append(
        .object([
          ("file", .string(path)), ("kind", .string(read.kind.rawValue)), ("simulated", .bool(true)),
          ("ok", .bool(true)),
        ]))
    }

    let registered = try await ceremony.register(name: "Ada (demo)")
    let record = registered.record
    var context = VerificationContext(rootPublicKey: record.publicKey)
    try step(1, "Registered a security key: the person's identity.", registered.artefact, "identity.json", context)
    context.directory[record.rootHash] = record

    let devicePath = "\(folder)/laptop.device"
    let device = try DeviceFile.readOrMake(devicePath)
    let (endorsement, endorsed) = try await ceremony.endorse(
      devicePublicKey: device.halves.devicePublicKey, kemBundle: device.halves.kemBundle, as: record,
      at: SealDate(epoch: Int64(time(nil))))
    try step(
      2, "Endorsed this computer's device.", endorsed.artefact(endorsement, for: record, isSimulated: true),
      "endorsement.json", context)

    let tap = try await ceremony.tap(
      estateID: "6F9619FF-8B86-4D01-B42D-00CF4FC964FF", epoch: 1, claimID: "0E984725-C51C-4BF4-9960-E1C80E27ABA0",
      recordHeadDigest: SHA256.hash(Array("the record's newest event".utf8)), as: record)
    try step(3, "Tapped a claim.", tap.artefact(for: record, isSimulated: true), "tap.json", context)

    lines.append(
      "All three verify. With a real key the same commands are: sealkey register, sealkey endorse, sealkey tap.")
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([("simulated", .bool(true)), ("folder", .string(folder)), ("files", .array(files))]))
  }
}

/// The rehearsal's own check failed.
struct DemoError: NamedError {
  let file: String
  let name = "demoFailed"
  var message: String { "The file \(file) does not verify." }
  let next = "This is a fault of sealkey: please report it."
}
