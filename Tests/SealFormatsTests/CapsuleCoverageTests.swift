// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

/// What no signature of a capsule covers.
@Suite(.arithmetic) struct CapsuleCoverageTests {
  /// What no signature covers is said to be so, and is not called good; what can be told of it all the same is.
  @Test func whatNothingCovers() async throws {
    let made = try await TestEstate.written(upTo: .released)
    let id = try #require(made.capsule.contentBlobs.keys.first)
    func report(_ change: (inout Capsule) throws -> Void) async throws -> VerificationReport {
      var capsule = made.capsule
      try change(&capsule)
      return await made.verify(capsule).report
    }
    func uncovered(_ report: VerificationReport) -> [String] {
      report.checks.filter {
        $0.name == "notCovered" && $0.outcome == .note
          && $0.explanation.hasPrefix("Not covered by any signature: ")
      }.map(\.subject)
    }
    let told = "exportedBy, exportedAtEpoch" + (made.capsule.stateAtExport == nil ? "" : ", stateAtExport")
    let members = ["contentBlobsBase64", "tableBlobsBase64", "identities", told]
    for change: (inout Capsule) -> Void in [{ _ in }, { $0.contentBlobs[id]?[20] ^= 1 }] {
      let found = try await report(change)
      #expect(found.isGood && uncovered(found) == members)
      // What is good of the content is its names.
      let good = found.checks.filter { $0.subject == "content" && $0.outcome == .good }
      #expect(good.map(\.name) == ["contentNames"] && good[0].explanation.contains("names"))
    }
    var found = try await report {
      $0.contentBlobs = [:]
      $0.tableBlobs = [:]
      $0.stateAtExport = "open"
      $0.otherMembers = [.init("later", .int(1))]
    }
    #expect(uncovered(found) == ["identities", "exportedBy, exportedAtEpoch, stateAtExport", "later"])
    #expect(found.checks.contains { $0.name == "contentDiffers" && $0.explanation.contains("none of it") })
    found = try await report { $0.contentBlobs["another"] = $0.contentBlobs.removeValue(forKey: id) }
    #expect(
      found.checks.contains { $0.name == "contentDiffers" } && !found.checks.contains { $0.name == "contentNames" })
    found = try await report { capsule in capsule.entries.removeAll { $0.event.kind == .vaultUpdated } }
    #expect(found.warnings.contains { $0.name == "contentUnlisted" })
  }

  /// The credential ID beside an endorsement is signed by nobody, and the root is known by its hash.
  @Test func credentialIDsOfEndorsements() async throws {
    let made = try await TestEstate.written(upTo: .open)
    for hash in made.capsule.identities.keys {
      var capsule = made.capsule
      let endorsement = try #require(capsule.identities[hash]?.deviceEndorsements.first)
      var tap = try endorsement.assertion()
      tap.credentialID[0] ^= 1
      capsule.identities[hash]?.deviceEndorsements[0].assertionJSON = tap.encoded(.compact)
      let verified = await made.verify(capsule)
      #expect(verified.report.failures.map(\.name) == ["credentialIDMismatch"])
      // The device is endorsed all the same, and what it signed counts.
      #expect(verified.identities[hash]?.devices.count == 1)
      #expect(verified.admitted.count == made.capsule.events.count)
    }
  }
}
