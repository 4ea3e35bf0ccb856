// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

/// Every byte of a small capsule, changed: nothing that was signed or committed to survives, and a second verifier that
/// shares no line with this one gives the same verdict each time.
@Suite(.arithmetic) struct CapsuleByteTests {
  /// All of them take minutes: `SEALKEY_EVERY_BYTE=1`. Else one in so many, from another start at every run.
  private static let isWhole = getenv("SEALKEY_EVERY_BYTE") != nil
  private static let step = isWhole ? 1 : 97

  private struct Change: Sendable {
    let offset: Int
    let mask: UInt8
    let isGood: Bool
  }

  @Test func everyChangedByte() async throws {
    let made = try await TestEstate.written(upTo: .released, policy: ReleasePolicy(), holders: 2)
    let text = made.capsule.encoded()
    let context = made.context
    #expect(await made.verify(try Capsule(parsing: text)).report.isGood)
    let unsigned = unsignedRanges(try JSONReader.parse(text))

    let start = Int.random(in: 0..<Self.step)
    let offsets = Array(stride(from: start, to: text.count, by: Self.step))
    let changes = await withTaskGroup(of: [Change].self) { group in
      for part in 0..<8 {
        group.addTask {
          var out: [Change] = []
          for (index, offset) in offsets.enumerated() where index % 8 == part {
            for mask: UInt8 in [0x01, 0x80] {
              var changed = text
              changed[offset] ^= mask
              let isGood = await Self.isGood(changed, context)
              out.append(Change(offset: offset, mask: mask, isGood: isGood))
            }
          }
          return out
        }
      }
      var all: [Change] = []
      for await part in group { all += part }
      return all.sorted { ($0.offset, $0.mask) < ($1.offset, $1.mask) }
    }
    #expect(changes.count == offsets.count * 2)
    for change in changes where change.isGood {
      #expect(
        unsigned.contains { $0.contains(change.offset) },
        "byte \(change.offset): \(String(decoding: text[max(0, change.offset - 40)..<change.offset + 10], as: UTF8.self))"
      )
    }
    try compare(text, changes)
  }

  private static func isGood(_ text: [UInt8], _ context: CapsuleContext) async -> Bool {
    guard let capsule = try? Capsule(parsing: text) else { return false }
    return await CapsuleVerifier(context).verify(capsule).report.isGood
  }

  /// Members that nobody signs: names, tiers, dates of the file and of endorsements, and the encrypted tables and
  /// content, of which only the names are committed to.
  private func unsignedRanges(_ json: JSONValue) -> [Range<Int>] {
    let free: Set<String> = [
      "displayName", "tier", "exportedAtEpoch", "exportedBy", "stateAtExport", "createdAtEpoch",
      "tableBlobsBase64", "contentBlobsBase64",
    ]
    var out: [Range<Int>] = []
    for member in json.object ?? [] {
      if free.contains(member.name) {
        // With its name, which may become an unknown member's.
        out.append((member.value.range.lowerBound - member.name.utf8.count - 4)..<member.value.range.upperBound)
      } else {
        out += unsignedRanges(member.value)
      }
    }
    for element in json.array ?? [] { out += unsignedRanges(element) }
    return out
  }

  /// Lets the Python verifier judge the same changes.
  private func compare(_ text: [UInt8], _ changes: [Change]) throws {
    guard let python = Program.python else { return }
    let folder = try TemporaryFolder()
    let (file, verdicts) = ("\(folder.path)/capsule.json", "\(folder.path)/verdicts.txt")
    try write(text, to: file)
    let lines = changes.map { "\($0.offset) \($0.mask) \($0.isGood ? "good" : "bad")\n" }.joined()
    try write(Array(lines.utf8), to: verdicts)
    let script = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    let run = try Program.run(
      python, ["/\(script)/Integration/python/verify_capsule.py", file, "--compare", verdicts])
    #expect(run.code == 0, "\(run.out) \(run.err)")
    #expect(run.out.contains("\(changes.count) verdicts compared, 0 differ"))
  }

  private func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      try #require(count > 0)
      rest = rest.dropFirst(count)
    }
  }
}
