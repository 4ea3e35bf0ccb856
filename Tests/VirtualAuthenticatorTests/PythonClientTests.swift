// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc
import TestSupport
import Testing
import VirtualAuthenticator

/// An independent client, PyPI's `fido2`, drives the virtual key over UDP.
@Suite("Independent client", .programs)
struct PythonClientTests {
  static let scenarios: [(scenario: String, profile: String)] = [
    ("hid", "virtual"), ("info", "virtual"), ("ceremonies", "virtual"), ("pin", "virtual"), ("pin_block", "virtual"),
    ("hmac_secret", "virtual"), ("resident", "virtual"), ("resident", "final"), ("extensions", "virtual"),
    ("config", "virtual"), ("bio", "bio"), ("reset", "virtual"), ("u2f", "virtual"), ("u2f_only", "u2f"),
  ]

  @Test("every ceremony", .enabled(if: Python.isUsable, "\(Python.missing)"), arguments: scenarios)
  func scenario(scenario: String, profile: String) throws {
    let model = try #require(ModelProfile.named(profile))
    let host = try VirtualKeyHost.udp(try VirtualAuthenticator(profile: model))
    defer { host.stop() }
    let port = try #require(host.port)
    let (status, output) = try Python.run("client.py", ["\(port)", scenario])
    #expect(status == 0 && output.hasSuffix("passed\n"), "\(output)")
  }

  @Test("continuous integration has the client", .enabled(if: getenv("CI") != nil))
  func present() {
    #expect(Python.works, "\(Python.missing)")
  }
}
