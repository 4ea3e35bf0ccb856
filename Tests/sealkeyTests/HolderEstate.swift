// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealFormats
import TestSupport
import Testing
import WebAuthnCore

/// A made-up estate with everybody's computer, for key holders to act in.
struct HolderEstate {
  let folder: TemporaryFolder
  let file: String

  init(_ stage: String) throws {
    folder = try TemporaryFolder()
    file = "\(folder.path)/e.capsule"
    let made = try Sealkey.run(["demo", "--capsule", file, "--stage", stage, "--people", "\(folder.path)/p"])
    try #require(made.code == 0, "\(made.err)")
  }

  func data(_ who: String) -> [String] { ["--key", "virtual", "--data-dir", "\(folder.path)/p/\(who)"] }
  func path(_ name: String) -> String { "\(folder.path)/\(name)" }

  /// The option that says which sign of the owner's the person has looked at.
  func seen() throws -> [String] {
    let shown = try Sealkey.run(["capsule", "show", file] + data("karin"))
    let epoch = try #require(shown.json["byFirstSight"]?["lastSignOfOwnerEpoch"]?.int)
    return ["--last-sign", UTCText.format(Int64(epoch))]
  }
}
