// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// The limits of real models, and how many commands a list costs on each.
struct ListRow: Sendable, CustomTestStringConvertible {
  let maxMsgSize: Int?
  let maxCount: Int?
  let maxIDLength: Int?
  /// Bytes in this key's own ids.
  let idLength: Int
  /// Ids in one silent probe, counted by hand: an entry has 21 bytes and the id's head (2 bytes up to 255, then 3); a
  /// probe for sealmessenger.com has 66 bytes without its list's entries.
  let perProbe: Int

  static let table = [
    ListRow(maxMsgSize: 510, maxCount: 1, maxIDLength: 94, idLength: 94, perProbe: 1),
    ListRow(maxMsgSize: 1200, maxCount: 8, maxIDLength: 128, idLength: 128, perProbe: 7),
    ListRow(maxMsgSize: 1200, maxCount: 8, maxIDLength: 128, idLength: 66, perProbe: 8),
    ListRow(maxMsgSize: nil, maxCount: nil, maxIDLength: nil, idLength: 66, perProbe: 1),
    ListRow(maxMsgSize: nil, maxCount: 10, maxIDLength: 1024, idLength: 220, perProbe: 3),
    ListRow(maxMsgSize: 2048, maxCount: 20, maxIDLength: 128, idLength: 96, perProbe: 16),
    ListRow(maxMsgSize: 3072, maxCount: 10, maxIDLength: 255, idLength: 255, perProbe: 10),
    ListRow(maxMsgSize: 7609, maxCount: 512, maxIDLength: 1023, idLength: 320, perProbe: 21),
    ListRow(maxMsgSize: 7609, maxCount: 512, maxIDLength: 1023, idLength: 66, perProbe: 84),
  ]

  var profile: ModelProfile {
    ModelProfile.small.varied("row") {
      $0.limits(maxMsgSize, maxCount, maxIDLength)
      $0.credentialIdLength = idLength
    }
  }

  var testDescription: String {
    "\(maxMsgSize.map(String.init) ?? "none")/\(maxCount.map(String.init) ?? "none")/"
      + "\(maxIDLength.map(String.init) ?? "none"), ids of \(idLength) bytes"
  }

  /// Where the right one stands in a list of ``count``; nil for nowhere.
  static let places: [Int?] = [0, 3, 24, nil]
  static let count = 25

  func probes(until place: Int?) -> Int { place.map { $0 / perProbe + 1 } ?? (Self.count + perProbe - 1) / perProbe }
}

extension Bench {
  /// What the key has been asked, without getInfo and without the question how many PIN tries are left.
  var commands: Int {
    virtual.log.entries.count { $0.command != .getInfo && !($0.command == .clientPIN && $0.subcommand == 1) }
  }

  func commands(_ body: () async throws -> Void) async rethrows -> Int {
    virtual.log.clear()
    try await body()
    return commands
  }

  /// `count` ids that no key knows, with `id` at `place`.
  static func list(_ count: Int, length: Int, id: [UInt8], at place: Int?) -> [[UInt8]] {
    var list = ProbeTests.unknown(count, length: length)
    if let place { list[place] = id }
    return list
  }
}

@Suite("Commands of a list", .serialized)
struct ListCountTests {
  @Test("an assertion takes the planner's minimum, with a PIN and without", arguments: ListRow.table, [false, true])
  func assertions(row: ListRow, withPIN: Bool) async throws {
    let bench = try Bench(row.profile)
    if withPIN { try await bench.setPIN() }
    let id = try await bench.register().credentialID
    #expect(id.count == row.idLength)
    for place in ListRow.places {
      let request = Bench.assertion(Bench.list(ListRow.count, length: row.idLength, id: id, at: place))
      let touches = bench.touches
      bench.asked.withLock { $0 = [] }
      // Another hold on the same key remembers nothing.
      let key = bench.secondKey()
      var name: String?
      let commands = await bench.commands {
        name = await failure { try await key.getAssertion(request, pin: bench.person) }
      }
      await key.close()
      #expect(name == (place == nil ? "notOnThisKey" : nil))

      let planner = ListPlanner(bench.virtual.info)
      let ids = planner.candidates(request.allowList, baseSize: ListRequest.probeSize(rpID: Bench.rpID))
      let plan = planner.plan(
        ids, ceremonySize: ListRequest.assertionSize(request), probeSize: ListRequest.probeSize(rpID: Bench.rpID),
        probesFirst: withPIN)
      let verification = withPIN && place != nil ? 2 : 0
      #expect(commands == plan.assertionCommands(knowing: place == nil ? nil : id) + verification)
      // And the same, counted by hand.
      let outright = !withPIN && row.perProbe > ListRow.count
      #expect(commands == (outright ? 1 : row.probes(until: place) + (place == nil ? 0 : 1)) + verification)
      #expect(bench.touches - touches == (place == nil ? 0 : 1), "on another key nobody is asked for anything")
      #expect(bench.pinQuestions == (withPIN && place != nil ? 1 : 0))
    }
  }

  @Test("a registration takes the planner's minimum", arguments: ListRow.table)
  func registrations(row: ListRow) async throws {
    let bench = try Bench(row.profile)
    let id = try await bench.register().credentialID
    for place in ListRow.places {
      let request = Bench.registration(exclude: Bench.list(ListRow.count, length: row.idLength, id: id, at: place))
      let key = bench.secondKey()
      var name: String?
      let commands = await bench.commands {
        name = await failure { try await key.makeCredential(request, pin: bench.person) }
      }
      await key.close()
      #expect(name == (place == nil ? nil : "alreadyRegistered"))
      let planner = ListPlanner(bench.virtual.info)
      let probeSize = ListRequest.probeSize(rpID: Bench.rpID)
      let plan = planner.plan(
        planner.candidates(request.excludeList, baseSize: probeSize),
        ceremonySize: ListRequest.registrationSize(request), probeSize: probeSize, probesFirst: false)
      // A key that says "already registered" is asked once more, silently, whether it means this relying party.
      let check = plan.isOutright && place != nil ? 1 : 0
      #expect(commands == plan.registrationCommands(knowing: place == nil ? nil : id) + check)
      if !plan.isOutright { #expect(commands == row.probes(until: place) + (place == nil ? 1 : 0)) }
    }
  }

  @Test(
    "never more commands than an independent client takes on the same key",
    .enabled(if: Program.python != nil || Program.isCI), arguments: ListRow.table, [false, true])
  func independent(row: ListRow, withPIN: Bool) async throws {
    let python = try #require(Program.python)
    let bench = try Bench(row.profile)
    if withPIN { try await bench.setPIN() }
    let id = try await bench.register().credentialID
    await bench.key.close()
    for place in [3, nil] as [Int?] {
      let list = Bench.list(ListRow.count, length: row.idLength, id: id, at: place)
      for act in ["assert", "register"] {
        let key = bench.secondKey()
        let ours = await bench.commands {
          _ = await failure {
            if act == "assert" {
              _ = try await key.getAssertion(Bench.assertion(list), pin: bench.person)
            } else {
              _ = try await key.makeCredential(Bench.registration(exclude: list), pin: bench.person)
            }
          }
        }
        await key.close()
        let host = try VirtualKeyHost.udp(bench.virtual)
        let port = try #require(host.port)
        let theirs = try await bench.commands {
          let script = Self.script
          let pin = withPIN ? String(decoding: Bench.pin, as: UTF8.self) : "-"
          let words = [script, "\(port)", act, Bench.rpID, pin]
          let input = Array(list.map { Hex.encode($0) }.joined(separator: "\n").utf8)
          let result = try Program.run(python, ["-B"] + words, input: input)
          let expected = (act == "assert") == (place != nil) ? "done" : "refused"
          #expect(result.code == 0 && result.out.hasSuffix(expected + "\n"), "\(result.out)\(result.err)")
        }
        host.stop()
        #expect(ours <= theirs, "\(act), place \(place.map(String.init) ?? "nowhere")")
        #expect(ours > 0 && theirs > 0)
      }
    }
  }

  private static let script: String = {
    var parts = #filePath.split(separator: "/")
    parts.removeLast(2)
    return "/" + parts.joined(separator: "/") + "/Integration/python/lists.py"
  }()
}
