// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

@Suite(.arithmetic) struct ShareTests {
  /// The field against sums over a table that was made with logarithms, outside this program.
  @Test func field() {
    var sum: UInt32 = 0
    for a in 0...255 { for b in 0...255 { sum = sum &* 31 &+ UInt32(ShamirSharing.multiply(UInt8(a), UInt8(b))) } }
    #expect(sum == 3_119_935_360)
    #expect((1...255).reduce(0) { $0 + Int(ShamirSharing.inverse(UInt8($1))) * $1 } == 4_178_565)
    for a in 1...255 { #expect(ShamirSharing.multiply(UInt8(a), ShamirSharing.inverse(UInt8(a))) == 1) }
  }

  /// Shares of 3 that another program made.
  @Test func combinesAnothersShares() throws {
    var shares = ShareList()
    for hex in [
      "0541f64c1207d2f83e522400f79f31705a95d43577a1177189a89f992cbabcadb0",
      "01a6bf0eddf60f813b28cfd75e00dd8b7f2cdb8d1b87c19b9cfae1bb27945d66b2",
      "022dc8108201497a277ea68b648e2165161280f4f5cf12c76988a3662ebde1b1c0",
    ] {
      let raw = bytes(hex: hex)
      shares.append(
        try EstateShare(SecretBytes(raw), holder: "h", index: UInt64(raw[0]), commitment: SHA256.hash(raw)))
    }
    #expect(try ShamirSharing.combine(shares).exposed() == Array(100..<132))
    let fewer = try ShamirSharing.combine(shares.prefix(2))
    #expect(fewer.exposed() != Array(100..<132))
  }

  @Test(arguments: [(1, 1), (1, 3), (2, 3), (3, 5), (5, 5), (2, 255)])
  func splitsAndCombines(threshold: Int, count: Int) throws {
    let secret = SecretBytes.random(count: 32)
    let shares = try ShamirSharing.split(secret, threshold: threshold, count: count)
    #expect(shares.indexes == Array(1...UInt8(count)))
    #expect(Set(shares.commitments).count == count)
    // Every window of that many neighbours, around the corner too.
    for start in stride(from: 0, to: count, by: max(1, count / 7)) {
      var some = ShareList()
      for offset in 0..<threshold {
        try shares.withShare(at: (start + offset) % count) { share throws(ShareError) in
          some.append(
            try EstateShare(
              share.bytes.clone(), holder: "h", index: UInt64(share.index), commitment: share.commitment))
        }
      }
      #expect(try ShamirSharing.combine(some).exposed() == secret.exposed())
    }
    // A rule of one: every share is the secret.
    if threshold == 1 {
      shares.withShare(at: 0) { #expect(Array($0.bytes.exposed().dropFirst()) == secret.exposed()) }
    }
  }

  @Test func badSplits() {
    for (threshold, count) in [(0, 1), (2, 1), (1, 0), (1, 256), (-1, 3)] {
      #expect(throws: ShareError.self) {
        _ = try ShamirSharing.split(.random(count: 32), threshold: threshold, count: count)
      }
    }
    #expect(throws: ShareError.self) { _ = try ShamirSharing.combine(ShareList()) }
  }

  private struct Epoch: ~Copyable {
    let shares: ShareList
    let holders: [String]
    let bundles: [KEMBundle]
    let material: EpochMaterial
    let statement: EpochPublishedPayload
  }

  private func epoch(bundles: [KEMBundle], wrongPlaintext: [UInt8]? = nil) throws -> Epoch {
    let key = SecretBytes.random(count: 32)
    let shares = try ShamirSharing.split(key, threshold: 2, count: 3)
    let holders = (1...3).map { String(repeating: "\($0)", count: 64) }
    var slots: [EpochMaterial.HolderShare] = []
    for position in 0..<3 {
      let envelope = try shares.withShare(at: position) { share in
        try Wrap.seal(
          SecretBytes(wrongPlaintext ?? share.bytes.exposed()), to: bundles[position],
          authenticating: SealAAD.share(estateID: "E", epoch: 4, index: UInt64(position) + 1))
      }
      // In front of it one that is somebody else's: the first that opens wins.
      let stranger = try Wrap.seal(
        SecretBytes([1]), to: PrivateBundle().publicKeys, authenticating: [1], suite: .classical)
      slots.append(
        .init(
          custodianHash: holders[position], shareIndex: UInt64(position) + 1, envelopes: [stranger, envelope],
          commitment: shares.commitments[position]))
    }
    let material = EpochMaterial(
      estateID: "E", epoch: 4, threshold: 2, ownerWraps: [], custodianShares: slots,
      estateKeyCommitment: SHA256.hash(key))
    let statement = EpochPublishedPayload(
      epoch: 4, threshold: 2, custodianHashes: holders, custodianPublicKeys: [],
      shareCommitments: shares.commitments, estateKeyCommitment: SHA256.hash(key),
      materialDigest: SHA256.hash(material.encoded()))
    return Epoch(shares: shares, holders: holders, bundles: bundles, material: material, statement: statement)
  }

  @Test func openingMyShare() throws {
    let mine = try PrivateBundle(x25519: .random(count: 32), mlkem768Seed: nil)
    let other = try PrivateBundle(x25519: .random(count: 32), mlkem768Seed: nil)
    let bundles = [other.publicKeys, mine.publicKeys, other.publicKeys]
    let made = try epoch(bundles: bundles)
    let read = try EpochMaterial(blob: made.material.encoded(), statement: made.statement, estateID: "E")
    #expect(read == made.material)
    let share = try read.openShare(of: made.holders[1], with: mine)
    #expect(share.index == 2 && share.commitment == made.statement.shareCommitments[1])
    func fails(_ name: String, _ body: () throws -> Void) {
      let error = #expect(throws: ShareError.self) { try body() }
      #expect(error?.name == name)
    }
    fails("noShare") { _ = try read.openShare(of: made.holders[0], with: mine) }
    fails("notMyShare") { _ = try read.openShare(of: "nobody", with: mine) }
    // A share that opens and is not the one that was issued: wrong bytes, wrong index, wrong length.
    for plaintext in [[2] + Random.bytes(32), [1] + Random.bytes(32), [2], [0] + Random.bytes(32)] {
      let wrong = try epoch(bundles: bundles, wrongPlaintext: plaintext)
      fails("badShare") { _ = try wrong.material.openShare(of: wrong.holders[1], with: mine) }
    }
    // Everything that the statement says is compared.
    let blob = made.material.encoded()
    fails("materialMismatch") {
      _ = try EpochMaterial(blob: blob + [0x20], statement: made.statement, estateID: "E")
    }
    fails("materialMismatch") { _ = try EpochMaterial(blob: blob, statement: made.statement, estateID: "F") }
    for change in 0..<5 {
      var statement = made.statement
      switch change {
      case 0: statement.epoch = 5
      case 1: statement.threshold = 1
      case 2: statement.custodianHashes.swapAt(0, 1)
      case 3: statement.shareCommitments.swapAt(0, 1)
      default: statement.estateKeyCommitment[0] ^= 1
      }
      fails("materialMismatch") { _ = try EpochMaterial(blob: blob, statement: statement, estateID: "E") }
    }
  }
}
