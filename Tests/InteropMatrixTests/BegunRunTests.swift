// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SecurityKeys
import TestSupport
import Testing
import VirtualAuthenticator

@testable import InteropMatrix

/// Runs that were begun and not finished: whose they are, what they keep, and that none is lost.
@Suite("Matrix runs begun") struct BegunRunTests {
  /// Stops a run of `bench`'s key before `step`, as Ctrl-C does, and keeps it in `folder`.
  private func stop(
    _ bench: MatrixBench, before step: MatrixStep, in folder: RunFolder,
    _ change: (inout MatrixRunner.Options) -> Void = { _ in }
  ) async throws {
    var place = bench.place
    let (usual, virtual, key) = (place.beforeStep, bench.virtual, place.description)
    place.beforeStep = {
      usual($0)
      if $0 == step { virtual.touch.setPolicy(.never) }
    }
    let runner = bench.runner(change, place: place, save: { try folder.keep($0, key) })
    let task = Task { try await runner.run(continuingOneOf: folder.begun(key).runs.map(\.record), at: 1_800_000_000) }
    while virtual.touch.pending == nil { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    await #expect(throws: (any Error).self) { _ = try await task.value }
    virtual.touch.setPolicy(.automatic)
  }

  private func goOn(
    _ bench: MatrixBench, _ folder: RunFolder, _ told: Locked<[String]>? = nil,
    _ change: (inout MatrixRunner.Options) -> Void = { _ in }
  ) async throws -> RunRecord {
    let key = bench.place.description
    return try await bench.runner(
      change,
      progress: { progress in
        switch progress {
        case .settled(let line): told?.withLock { $0.append(line) }
        case .left: told?.withLock { $0.append("left") }
        case .resumed(let count): told?.withLock { $0.append("resumed \(count)") }
        default: break
        }
      }, save: { try folder.keep($0, key) }
    ).run(continuingOneOf: folder.begun(key).runs.map(\.record), at: 1_800_000_000)
  }

  @Test("two keys of one model: each goes on with its own run, whichever comes first")
  func twoKeys() async throws {
    let temporary = try TemporaryFolder()
    let folder = RunFolder(temporary.path)
    let (first, second) = (try await MatrixBench(), try await MatrixBench())
    try await stop(first, before: .friend, in: folder)
    try await stop(second, before: .prfRegister, in: folder)
    let key = first.place.description
    #expect(second.place.description.name == key.name)
    #expect(folder.begun(key).runs.map(\.record.steps.count).sorted() == [2, 4])
    let told = Locked<[String]>([])
    let secondRun = try await goOn(second, folder, told)
    #expect(told.withLock { $0 } == ["left", "resumed 4"])
    #expect(folder.begun(key).runs.map(\.record.steps.count) == [2])
    let firstRun = try await goOn(first, folder, told)
    #expect(told.withLock { $0 } == ["left", "resumed 4", "resumed 2"])
    #expect(folder.begun(key).runs.isEmpty)
    #expect(firstRun.nonce != secondRun.nonce && folder.readable().runs.count == 2)
    for run in [firstRun, secondRun] { #expect(RunRecord.verify(run.encoded()).isGood) }
  }

  @Test("a third key of the model begins anew and leaves the others; the name of an older version is found")
  func another() async throws {
    let temporary = try TemporaryFolder()
    let folder = RunFolder(temporary.path)
    let first = try await MatrixBench()
    try await stop(first, before: .friend, in: folder)
    let key = first.place.description
    let file = try #require(folder.begun(key).runs.first?.file)
    let older = "\(temporary.path)/.unfinished-virtual_key__virtual_-virtual.json"
    _ = try Program.run("mv", [file, older])
    #expect(folder.begun(key).runs.map(\.file) == [older])
    let told = Locked<[String]>([])
    _ = try await goOn(try await MatrixBench(), folder, told)
    #expect(told.withLock { $0 } == ["left"])
    #expect(folder.begun(key).runs.map(\.file) == [older])
    _ = try await goOn(first, folder, told)
    #expect(told.withLock { $0 } == ["left", "resumed 2"] && folder.begun(key).runs.isEmpty)
  }

  @Test("what is there under the name of a begun run and is none gets another name, and nothing is written over it")
  func damaged() async throws {
    let temporary = try TemporaryFolder()
    let folder = RunFolder(temporary.path)
    let bench = try await MatrixBench()
    try await stop(bench, before: .signIn, in: folder)
    let key = bench.place.description
    let file = try #require(folder.begun(key).runs.first?.file)
    var names: Set<String> = []
    for text in ["garbage", try Program.run("sed", ["s/sealkey test/sealkey mine/", file]).out] {
      _ = try Program.run("tee", [file], input: Array(text.utf8))
      let found = folder.begun(key)
      #expect(found.runs.isEmpty && found.damaged.map(\.path) == [file])
      let other = try #require(RunFolder.setAside(file))
      #expect(try Program.run("cat", [other]).out == text)
      names.insert(other)
      #expect(folder.begun(key).damaged.isEmpty)
    }
    #expect(names.count == 2)
    #expect(RunFolder.setAside(file) == nil)
  }

  @Test("what is given to a run that goes on is taken where there was nothing, and said where it is not")
  func settled() async throws {
    let temporary = try TemporaryFolder()
    let folder = RunFolder(temporary.path)
    let bench = try await MatrixBench()
    try await stop(bench, before: .friend, in: folder) { $0.repeats = 2 }
    let told = Locked<[String]>([])
    try await stop(bench, before: .endorse, in: folder) { $0.tester = "Ada" }
    let record = try await goOn(bench, folder, told) {
      $0.tester = "Bob"
      $0.serial = "12"
      $0.repeats = 3
    }
    #expect(record.tester == "Ada" && record.key.serial == "12")
    let lines = told.withLock { $0 }
    #expect(
      lines == [
        "resumed 3", "The run keeps its tester, Ada; --tester Bob is not taken.",
        "The run had no serial yet; it takes 12.",
        "The steps that are done keep their tries; --repeat 3 is for those that are still to be done.",
      ])
    // Without a word about it, as often as before.
    #expect(record.steps.prefix(4).map(\.attempts.count) == [2, 2, 2, 3])
    #expect(RunRecord.verify(record.encoded()).isGood)
  }

  @Test("a PIN that was set meanwhile: the run is left, a new one is begun, and ending the old one is refused")
  func pinSetMeanwhile() async throws {
    let temporary = try TemporaryFolder()
    let folder = RunFolder(temporary.path)
    let bench = try await MatrixBench(hasPIN: false)
    try await stop(bench, before: .friend, in: folder)
    let key = SecurityKey(bench.place.endpoint)
    try await key.setPIN(SecretBytes(MatrixBench.pin))
    await key.close()
    let told = Locked<[String]>([])
    await #expect(throws: MatrixRunError.keyStateChanged) {
      _ = try await goOn(bench, folder, told) { $0.finishesNow = true }
    }
    let record = try await goOn(bench, folder, told)
    #expect(told.withLock { $0 } == ["left"])
    #expect(record.cells.sheet[2] == "yes" && record.cells.further[6] == "✅ as before")
    #expect(MatrixBench.end(record) == MatrixBench.end(try await MatrixBench().run()))
    #expect(folder.begun(bench.place.description).runs.map(\.record.steps.count) == [2])
  }

  @Test("of a run without a step only its place is kept: the key is looked at anew")
  func withoutAStep() async throws {
    let temporary = try TemporaryFolder()
    let folder = RunFolder(temporary.path)
    let bench = try await MatrixBench(hasPIN: false)
    try await stop(bench, before: .register, in: folder) { $0.tester = "Ada" }
    let begun = try #require(folder.begun(bench.place.description).runs.first?.record)
    let key = SecurityKey(bench.place.endpoint)
    try await key.setPIN(SecretBytes(MatrixBench.pin))
    await key.close()
    let record = try await goOn(bench, folder)
    #expect(record.nonce == begun.nonce && record.tester == "Ada" && record.cells.sheet[2] == "yes")
    #expect(RunRecord.verify(record.encoded()).isGood && folder.begun(bench.place.description).runs.isEmpty)
  }

  @Test("what a key is called: a reader does not tell, its run over USB and the tester do")
  func names() {
    let aaguid = [UInt8](repeating: 0xAB, count: 16)
    let card = RunRecord.KeyDescription(name: "ACS ACR1252", transport: "pcsc")
    let hid = RunRecord.KeyDescription(name: "Maker Key 5", transport: "hidraw")
    var options = MatrixRunner.Options()
    func name(_ key: RunRecord.KeyDescription, _ aaguid: [UInt8]?) -> String {
      MatrixRunner.keyName(key, aaguid, options)
    }
    #expect(name(hid, aaguid) == "Maker Key 5")
    #expect(name(card, aaguid) == "AAGUID abababababababababababababababab" && name(card, nil) == "U2F card")
    options.sameModel = (aaguid, "Maker Key 5")
    #expect(name(card, aaguid) == "Maker Key 5" && name(card, [1]) == "AAGUID 01" && name(card, nil) == "U2F card")
    options.model = "Maker Key 5C NFC"
    #expect(name(card, aaguid) == "Maker Key 5C NFC" && name(hid, aaguid) == "Maker Key 5C NFC")
  }

  @Test("a late touch is asked for once more, and leaves no mark")
  func lateTouch() async throws {
    let bench = try await MatrixBench()
    let asked = Locked<[MatrixStep]>([])
    var place = bench.place
    let (usual, virtual) = (place.beforeStep, bench.virtual)
    place.beforeStep = {
      usual($0)
      if $0 == .signIn || $0 == .prfProtocol2 { virtual.touch.setPolicy(.never) }
    }
    let record = try await bench.runner(
      place: place, touch: .seconds(4),
      progress: { progress in
        guard case .askedAgain(let step) = progress else { return }
        asked.withLock { $0.append(step) }
        virtual.touch.setPolicy(.automatic)
      }
    ).run(at: 1_800_000_000)
    #expect(asked.withLock { $0 } == [.signIn, .prfProtocol2])
    #expect(MatrixBench.end(record) == MatrixBench.end(try await MatrixBench().run()))
    #expect(record.steps.allSatisfy { $0.attempts.count == 1 })
  }

  @Test("nobody touches the second time either: the run stops there unfinished, and goes on later")
  func noTouch() async throws {
    let bench = try await MatrixBench()
    let kept = Locked<RunRecord?>(nil)
    var place = bench.place
    let (usual, virtual) = (place.beforeStep, bench.virtual)
    place.beforeStep = {
      usual($0)
      if $0 == .friend { virtual.touch.setPolicy(.never) }
    }
    await #expect(throws: SecurityKeyError.transport(.timedOut)) {
      _ = try await bench.runner(place: place, touch: .seconds(3), save: { record in kept.withLock { $0 = record } })
        .run(at: 1_800_000_000)
    }
    let begun = try #require(kept.withLock { $0 })
    #expect(begun.steps.map(\.step) == [.register, .signIn] && begun.finishedAt == nil)
    virtual.touch.setPolicy(.automatic)
    let end = try await bench.runner().run(continuing: begun, at: 1_800_000_000)
    #expect(MatrixBench.end(end) == MatrixBench.end(try await MatrixBench().run()))
  }

  @Test("a key that always verifies and has no PIN is told so before the first step")
  func insistsInVain() async throws {
    let bench = try await MatrixBench(.alwaysUv, hasPIN: false)
    let saved = Locked(0)
    await #expect(throws: SecurityKeyError.uvNotConfigured) {
      _ = try await bench.runner(save: { _ in saved.withLock { $0 += 1 } }).run(at: 1_800_000_000)
    }
    #expect(saved.withLock { $0 } == 0 && bench.virtual.touch.requests.isEmpty)
  }
}
