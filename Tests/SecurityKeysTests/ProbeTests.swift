// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// The silent question "is one of these on the key?".
@Suite("Silent probe", .serialized)
struct ProbeTests {
  static func ids(_ ids: [[UInt8]]) -> [CredentialDescriptor] { ids.map { CredentialDescriptor(id: $0) } }

  static func unknown(_ count: Int, length: Int = 64) -> [[UInt8]] { (0..<count).map { _ in Random.bytes(length) } }

  @Test(
    "known, wherever it stands; unknown; nothing asked: no touch in any of them",
    arguments: [ModelProfile.virtual, .ctap20, .small, .medium, .u2f])
  func verdicts(profile: ModelProfile) async throws {
    let bench = try Bench(profile)
    let id = try await bench.register().credentialID
    let touches = bench.touches
    bench.virtual.log.clear()
    let others = Self.unknown(4)
    for place in 0...4 {
      let list = others[..<place] + [id] + others[place...]
      let found = try await bench.key.find(Self.ids(Array(list)), rpID: Bench.rpID)
      #expect(found?.id == id)
    }
    #expect(try await bench.key.find(Self.ids([id]), rpID: Bench.rpID)?.id == id)
    #expect(try await bench.key.find(Self.ids(others), rpID: Bench.rpID) == nil)
    #expect(try await bench.key.find(Self.ids([others[0]]), rpID: Bench.rpID) == nil)
    #expect(try await bench.key.find(Self.ids([id]), rpID: "example.org") == nil, "another relying party's")
    #expect(bench.touches == touches && bench.virtual.log.entries.allSatisfy { $0.waits == 0 })
    let asked = bench.virtual.log.entries.count
    #expect(try await bench.key.find([], rpID: Bench.rpID) == nil)
    #expect(bench.virtual.log.entries.count == asked)
  }

  @Test("with a PIN set the probe needs none")
  func withPIN() async throws {
    let bench = try Bench()
    try await bench.setPIN()
    let id = try await bench.register().credentialID
    bench.asked.withLock { $0 = [] }
    #expect(try await bench.key.find(Self.ids(Self.unknown(3) + [id]), rpID: Bench.rpID)?.id == id)
    #expect(bench.pinQuestions == 0)
  }

  @Test("every status but the two for \"no credentials\" is an error, never \"not there\"", arguments: [1, 3])
  func statuses(count: Int) async throws {
    let bench = try Bench()
    let ids = Self.ids(Self.unknown(count))
    try await bench.key.open()
    for byte in UInt8(1)...UInt8.max {
      let status = CTAPStatus(rawValue: byte)
      // Every command of the search is answered with it.
      let end = bench.faults.commands + count + 1
      for index in bench.faults.commands..<end { bench.faults.add(.command(index, .status(status))) }
      var verdict: CredentialDescriptor??
      let name = await failure { verdict = .some(try await bench.key.find(ids, rpID: Bench.rpID)) }
      if status == .noCredentials || status == .invalidCredential {
        #expect(name == nil && verdict == .some(nil))
      } else {
        #expect(name == SecurityKeyError.of(status).name && verdict == nil, "\(status)")
      }
      // What is left of the faults.
      while bench.faults.commands < end { _ = try? await bench.key.find(ids, rpID: Bench.rpID) }
      // A key that has said something odd of its PIN is asked anew what it is: now, and not by the next round.
      _ = try await bench.key.find(ids, rpID: Bench.rpID)
    }
    #expect(try await bench.key.find(ids, rpID: Bench.rpID) == nil)
  }

  @Test("a yes that is no assertion, or names another credential, is a bad answer")
  func badYes() async throws {
    let bench = try Bench()
    let id = try await bench.register().credentialID
    func reply(_ id: [UInt8]?, _ authData: [UInt8]?, _ signature: [UInt8]? = [1]) -> [UInt8] {
      [0]
        + CBORValue.encode(
          .intMap([
            (1, id.map { .textMap([("id", .bytes($0)), ("type", .text("public-key"))]) }),
            (2, authData.map { .bytes($0) }), (3, signature.map { .bytes($0) }),
          ]))
    }
    let good = SHA256.hash(Array(Bench.rpID.utf8)) + [0, 0, 0, 0, 1]
    let table: [(what: String, reply: [UInt8], isYes: Bool)] = [
      ("as it should be", reply(id, good), true), ("the only one left out", reply(nil, good), true),
      ("another id", reply(Random.bytes(id.count), good), false),
      ("an id cut short", reply(id.dropLast(), good), false),
      ("no authenticator data", reply(id, nil), false), ("too short", reply(id, good.dropLast()), false),
      ("another relying party", reply(id, SHA256.hash([1]) + [0, 0, 0, 0, 1]), false),
      ("no signature", reply(id, good, nil), false), ("an empty one", reply(id, good, []), false),
      ("nothing", [0], false), ("an empty map", [0, 0xA0], false), ("no map", [0, 0x80], false),
      ("no CBOR", [0, 0xFF], false),
    ]
    for row in table {
      bench.faults.add(.command(bench.faults.commands, .replaceReply(row.reply)))
      var found: CredentialDescriptor?
      let name = await failure { found = try await bench.key.find(Self.ids([id]), rpID: Bench.rpID) }
      #expect(name == (row.isYes ? nil : "badAnswer"), "\(row.what)")
      #expect(found?.id == (row.isYes ? id : nil), "\(row.what)")
    }
  }

  @Test("a list that the key chokes on is asked id by id")
  func oneByOne() async throws {
    let bench = try Bench()
    let id = try await bench.register().credentialID
    let list = Self.unknown(5) + [id]
    for status in [CTAPStatus.limitExceeded, .requestTooLarge, .invalidLength, .other] {
      let key = bench.secondKey()
      try await key.open()
      bench.virtual.log.clear()
      bench.faults.add(.command(bench.faults.commands, .status(status)))
      #expect(try await key.find(Self.ids(list), rpID: Bench.rpID)?.id == id)
      await key.close()
      #expect(bench.virtual.log.count(.getAssertion) == list.count, "the list did not reach the key itself")
    }
  }

  @Test("one id that the key chokes on does not hide the right one, and forbids \"not on this key\"")
  func chokes() async throws {
    let bench = try Bench(.small)
    let id = try await bench.register().credentialID
    let list = Self.unknown(3)
    bench.faults.add(.command(bench.faults.commands + 1, .status(.other)))
    #expect(try await bench.key.find(Self.ids(list + [id]), rpID: Bench.rpID)?.id == id)
    bench.faults.add(.command(bench.faults.commands + 1, .status(.other)))
    #expect(await failure { try await bench.key.find(Self.ids(list), rpID: Bench.rpID) } == CTAPStatus.other.name)
  }

  @Test("a key that refuses every probe is not asked a thousand times")
  func patience() async throws {
    let bench = try Bench(.small)
    try await bench.key.open()
    bench.virtual.log.clear()
    let first = bench.faults.commands
    for offset in 0..<40 { bench.faults.add(.command(first + offset, .status(.unsupportedOption))) }
    let list = Self.ids(Self.unknown(1000))
    #expect(
      await failure { try await bench.key.find(list, rpID: Bench.rpID) } == CTAPStatus.unsupportedOption.name)
    #expect(bench.faults.commands - first <= 8)
  }
}
