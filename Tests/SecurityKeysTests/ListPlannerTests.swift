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

/// Lists cut to a key's limits.
@Suite("List planner")
struct ListPlannerTests {
  static func planner(_ size: Int?, _ count: Int?, _ length: Int?) -> ListPlanner {
    ListPlanner(ModelProfile.virtual.varied("limits") { $0.limits(size, count, length) }.info)
  }

  @Test("what is absent has its value by rule, and no limit goes beyond what the wire carries")
  func limits() {
    #expect(Self.planner(nil, nil, nil) == Self.planner(1024, 1, 1023))
    #expect(Self.planner(1 << 40, 0, 1 << 40) == Self.planner(7609, 1, 1023))
    #expect(Self.planner(-1, -1, -1).maxCount == 1)
  }

  @Test("ids that cannot be this key's are left out, each other one is there once and in its place")
  func candidates() {
    let planner = Self.planner(300, 8, 128)
    let ids = [64, 128, 129, 0, 1, 300].map { ProbeTests.ids([Random.bytes($0)])[0] }
    #expect(planner.candidates(ids + ids, baseSize: 70) == [ids[0], ids[1], ids[4]])
    #expect(planner.candidates(ids, baseSize: 220) == [ids[4]], "no request could hold the others")
  }

  @Test("for lists of every kind: nothing lost, nothing twice, no limit broken, no list that could be longer")
  func properties() {
    var random = SeededGenerator(seed: 31)
    for _ in 0..<400 {
      let size = Int.random(in: 200...7609, using: &random)
      let count = Int.random(in: 1...300, using: &random)
      let planner = Self.planner(size, count, Int.random(in: 16...1023, using: &random))
      let base = Int.random(in: 50...150, using: &random)
      let lengths = (0..<Int.random(in: 0...120, using: &random)).map { _ in Int.random(in: 1...300, using: &random) }
      let all = lengths.map { CredentialDescriptor(id: Random.bytes($0)) }
      let ids = planner.candidates(all, baseSize: base)
      let chunks = planner.chunks(ids, baseSize: base)
      #expect(chunks.flatMap { $0 } == ids)
      for (i, chunk) in chunks.enumerated() {
        #expect(!chunk.isEmpty && chunk.count <= count)
        #expect(base + ListPlanner.listSize(chunk) <= planner.maxRequestSize)
        guard i + 1 < chunks.count else { continue }
        let longer = chunk + [chunks[i + 1][0]]
        #expect(longer.count > count || base + ListPlanner.listSize(longer) > planner.maxRequestSize)
      }
    }
  }

  @Test("sizes are those of the bytes that are sent", arguments: [1, 2, 23, 24, 60])
  func sizes(count: Int) async throws {
    let bench = try Bench()
    let ids = ProbeTests.ids((0..<count).map { Random.bytes($0 + 1) })
    _ = try await bench.key.find(ids, rpID: Bench.rpID)
    let sent = try #require(bench.virtual.log.entries.last).request
    #expect(sent.count == ListRequest.probeSize(rpID: Bench.rpID) + ListPlanner.listSize(ids))
  }
}
