// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import TestSupport
import Testing
import VirtualAuthenticator

@testable import SecurityKeys

/// A FIDO2 key that is badly heard is still a FIDO2 key.
@Suite("No silent downgrade")
struct NoDowngradeTests {
  /// What must never be said of a key that was only badly heard.
  static let falsehoods: Set<String> = [
    "notOnThisKey", "alreadyRegistered", "fido2Needed", "es256Unsupported", "prfUnsupported", "uvNotConfigured",
    "pinNotSet", "pinBlocked", "keyFull",
  ]

  @Test(
    "each single frame lost or corrupted in turn",
    arguments: [SweepCeremony.open, .register, .registerWithPIN, .tapWithPIN, .probe, .probeOneByOne])
  func everyFrame(ceremony: SweepCeremony) async throws {
    let extent = try await Sweep.extent(ceremony)
    var plans: [Sweep.Plan] = []
    for index in 0..<extent.toHost {
      // Channel, command or sequence, length, and four bits of what it says.
      for action in [Fault.PacketAction.drop, .truncate(to: 0), .truncate(to: 20)] {
        plans.append(.packet(.toHost, index, action))
      }
      for bit in [3, 32, 39, 47, 50, 56, 60, 63, 100, 301] { plans.append(.packet(.toHost, index, .flipBit(bit))) }
    }
    for index in 0..<extent.toKey {
      // A request whose text is changed is another request, so only the frame is.
      for action in [Fault.PacketAction.drop, .truncate(to: 0), .flipBit(3), .flipBit(32), .flipBit(39)] {
        plans.append(.packet(.toKey, index, action))
      }
    }
    let results = try await Sweep.judgeAll(ceremony, plans) { result in
      var complaints: [String] = []
      if result.usedU2F { complaints.append("used as U2F") }
      if let said = result.failure, Self.falsehoods.contains(said) { complaints.append("said \(said)") }
      // Keepalives come and go with time: a late fault can fall into the second time.
      if result.fired > 0, let after = result.failureAfterwards {
        complaints.append("first \(result.failure ?? "success"), and \(after) afterwards")
      }
      if result.triesLost > 1 { complaints.append("\(result.triesLost) tries lost") }
      return complaints
    }
    #expect(results.count == Pace.sample(plans).count)
    // The faults did happen, and did harm.
    #expect(results.count { $0.fired > 0 } > results.count * 9 / 10)
    #expect(results.contains { $0.failure != nil })
  }
}
