// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// Other people's programs check our output.
@Suite(.programs) struct IndependentVerifierTests {
  static let here = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")

  @Test(.enabled(if: Program.python != nil || Program.isCI, "set SEALKEY_PYTHON, or run make test"))
  func pythonAcceptsTheDemo() throws {
    let python = try #require(Program.python, "CI needs SEALKEY_PYTHON: Tools/python-env.sh prints one")
    let folder = try TemporaryFolder()
    #expect(try Program.run(Program.sealkey, ["demo", "--dir", folder.path]).code == 0)
    let script = "/\(Self.here)/Integration/python/verify_artefacts.py"
    let result = try Program.run(python, [script, folder.path])
    #expect(result.code == 0, "\(result.out)\(result.err)")
    #expect(result.out.contains("checks passed"))
    // The checker must be able to fail: one bit of the tap's signature.
    let path = "\(folder.path)/tap.json"
    let text = try Program.run("cat", [path]).out
    let signature = try #require(try JSONReader.parse(Array(text.utf8))["seal"]?["signature"]?.string)
    var bytes = try #require(Base64.decode(signature))
    bytes[bytes.count - 1] ^= 1
    let changed = text.replacing(signature.replacing("/", with: "\\/"), with: Base64.encode(bytes))
    #expect(changed != text)
    _ = try Program.run("tee", [path], input: Array(changed.utf8))
    #expect(try Program.run(python, [script, folder.path]).code != 0)
    #expect(try Program.run(Program.sealkey, ["verify", path]).code == 1)
  }

  /// Each member of the evidence with another last digit: both verifiers say that the file is not good.
  @Test(.enabled(if: Program.python != nil || Program.isCI, "set SEALKEY_PYTHON, or run make test"))
  func pythonRefusesTheSameContradictions() throws {
    let python = try #require(Program.python, "CI needs SEALKEY_PYTHON: Tools/python-env.sh prints one")
    let folder = try TemporaryFolder()
    #expect(try Program.run(Program.sealkey, ["demo", "--dir", folder.path]).code == 0)
    let script = "/\(Self.here)/Integration/python/verify_artefacts.py"
    let identity = "\(folder.path)/identity.json"
    for (file, members) in [
      ("identity", ["rootPublicKeyHex", "credentialIDHex", "registrationChallengeHex"]),
      ("endorsement", ["rootPublicKeyHex", "credentialIDHex", "devicePublicKey", "kemBundle"]),
      ("tap", ["rootPublicKeyHex", "credentialIDHex", "estateID"]),
    ] {
      let path = "\(folder.path)/\(file).json"
      let text = try Program.run("cat", [path]).out
      let evidence = try #require(try JSONReader.parse(Array(text.utf8))["evidence"])
      for member in members {
        let held = evidence[member]?.string ?? evidence["statement"]?["fields"]?[member]?.string
        let value = try #require(held, "\(file): \(member)")
        let other = String(value.dropLast()) + (value.hasSuffix("0") ? "1" : "0")
        #expect(text.contains("\"\(value)\""))
        let changed = text.replacing("\"\(value)\"", with: "\"\(other)\"")
        _ = try Program.run("tee", [path], input: Array(changed.utf8))
        #expect(try Program.run(python, [script, folder.path]).code != 0, "\(file): \(member)")
        let given = file == "identity" ? [] : ["--identity", identity]
        #expect(try Program.run(Program.sealkey, ["verify", path] + given).code == 1, "\(file): \(member)")
      }
      _ = try Program.run("tee", [path], input: Array(text.utf8))
    }
    #expect(try Program.run(python, [script, folder.path]).code == 0)
  }

  static let hasFidoTools = (try? Program.run("fido2-assert", ["-V"]))?.code ?? 127 != 127

  /// fido2-cred -V takes the registration, fido2-assert -V the taps.
  @Test(.enabled(if: hasFidoTools || Program.isCI, "fido2-tools is not installed"))
  func fidoToolsAcceptTheDemo() throws {
    let folder = try TemporaryFolder()
    #expect(try Program.run(Program.sealkey, ["demo", "--dir", folder.path]).code == 0)
    func file(_ name: String) throws -> JSONValue {
      try JSONReader.parse(Array(try Program.run("cat", ["\(folder.path)/\(name).json"]).out.utf8))
    }
    func hex(_ json: JSONValue?) throws -> [UInt8] { try #require(json?.string.flatMap { Hex.decode($0) }) }
    let evidence = try #require(try file("identity")["evidence"])
    let object = try AttestationObject(parsing: try hex(evidence["attestationObjectHex"]))
    let clientData = try hex(evidence["registrationClientDataHex"])
    let authData = CBORValue.encode(.bytes(object.authenticatorDataBytes))
    let credential = [
      Base64.encode(SHA256.hash(clientData)), "sealmessenger.com", object.format, Base64.encode(authData),
      Base64.encode(try hex(evidence["credentialIDHex"])),
      Base64.encode(try #require(object.statement["sig"]?.bytes)),
      Base64.encode(try #require(object.statement["x5c"]?.array?.first?.bytes)),
    ]
    let made = try Program.run("fido2-cred", ["-V"], input: Array((credential.joined(separator: "\n") + "\n").utf8))
    #expect(made.code == 0, "\(made.err)")
    // Its output is the credential ID, then the public key in PEM.
    let pem = made.out.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n"
    #expect(pem.contains("BEGIN PUBLIC KEY"))
    _ = try Program.run("tee", ["\(folder.path)/key.pem"], input: Array(pem.utf8))
    func accepts(_ assertion: JSONValue) throws -> Bool {
      func bytes(_ name: String) throws -> [UInt8] {
        try #require(assertion[name]?.string.flatMap { Base64.decode($0) })
      }
      let lines = [
        Base64.encode(SHA256.hash(try bytes("clientDataJSON"))), "sealmessenger.com",
        Base64.encode(CBORValue.encode(.bytes(try bytes("authenticatorData")))),
        Base64.encode(try bytes("signature")),
      ]
      return try Program.run(
        "fido2-assert", ["-V", "-p", "\(folder.path)/key.pem", "es256"],
        input: Array((lines.joined(separator: "\n") + "\n").utf8)
      ).code == 0
    }
    #expect(try accepts(try #require(try file("tap")["seal"])))
    let nested = try #require(try file("endorsement")["seal"]?["assertion"]?.string.flatMap { Base64.decode($0) })
    #expect(try accepts(try JSONReader.parse(nested)))
  }
}
