// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import SecurityKeys
import Testing
import VirtualAuthenticator
import WebAuthnCore

/// The ceremonies verify what the key says before they hand anything out.
@Suite struct CeremonyTests {
  private func withKey(_ body: (KeySession) async throws -> Void) async throws {
    let (descriptor, host) = try VirtualKeyHost.inProcess(try VirtualAuthenticator())
    defer { host.stop() }
    let key = SecurityKey(
      .reports(id: "ceremony", name: "virtual key", kindName: "virtual", isSimulated: true) { descriptor })
    do {
      try await body(KeySession(key))
      await key.close()
    } catch {
      await key.close()
      throw error
    }
  }

  @Test func registerEndorseTap() async throws {
    try await withKey { session in
      let ceremony = Ceremony(key: session)
      let registered = try await ceremony.register(name: "Ada")
      let record = registered.record
      #expect(record.tier == "verified")
      #expect(record.rootHash == Hex.encode(SHA256.hash(registered.response.credentialID)))
      #expect(registered.artefact.isSimulated)
      #expect(registered.telemetry.line.contains("ES256(P-256) P-256 flags=UP|AT credIdLen="))
      var context = VerificationContext(rootPublicKey: record.publicKey)
      #expect(try registered.artefact.verify(context).isGood)
      context.directory[record.rootHash] = record

      let device = try PrivateHalves()
      let (endorsement, endorsed) = try await ceremony.endorse(
        devicePublicKey: device.devicePublicKey, kemBundle: device.bundle.publicKeys.bytes, as: record,
        at: SealDate(epoch: 1_800_000_000))
      #expect(try endorsed.artefact(endorsement, for: record, isSimulated: false).verify(context).isGood)

      let tap = try await ceremony.tap(
        estateID: "E", epoch: 3, claimID: "C", recordHeadDigest: SHA256.hash([1]), as: record)
      let artefact = tap.artefact(for: record, isSimulated: false)
      // The mark comes from the key, whatever the caller says.
      #expect(artefact.isSimulated)
      #expect(try artefact.verify(context).isGood)
      let other = Statement.releaseAuthorize(
        estateID: "E", epoch: 4, claimID: "C", recordHeadDigest: SHA256.hash([1]))
      #expect(!tap.assertion.verify(publicKey: record.publicKey, statement: other).isGood)
    }
  }

  @Test(arguments: ["", "a\nb", String(repeating: "x", count: 65), "\u{7f}"])
  func badNamesAreRefusedBeforeTheTouch(_ name: String) async throws {
    try await withKey { session in
      await #expect(throws: CeremonyError.badName) { _ = try await Ceremony(key: session).register(name: name) }
    }
  }

  @Test func changedRegistrationsAreRefused() async throws {
    let changes: [(String, @Sendable (inout RegistrationResponse) -> Void)] = [
      ("credentialIDMismatch", { $0.credentialID[0] ^= 1 }),
      (
        "challengeMismatch", { $0.clientDataJSON = ClientData(type: .create, challenge: [1], origin: Seal.origin).json }
      ),
      ("truncated", { $0.attestationObject.removeLast() }),
    ]
    for (name, change) in changes {
      try await withKey { session in
        do {
          _ = try await Ceremony(key: TamperedKey(real: session, registration: change)).register(name: "Ada")
          Issue.record("\(name): accepted")
        } catch CeremonyError.verificationFailed(let problems) {
          #expect(problems.map(\.name).contains(name))
        }
      }
    }
  }

  @Test func changedTapsAreRefused() async throws {
    let changes: [(String, @Sendable (inout AssertionResponse) -> Void)] = [
      ("signatureDoesNotMatch", { $0.authenticatorData[36] ^= 1 }),
      ("signatureTrailingBytes", { $0.signature.append(0) }),
      ("challengeMismatch", { $0.clientDataJSON = ClientData(type: .get, challenge: [1], origin: Seal.origin).json }),
      ("originMismatch", { $0.clientDataJSON = ClientData(type: .get, challenge: [1], origin: "https://x").json }),
    ]
    for (name, change) in changes {
      try await withKey { session in
        let record = try await Ceremony(key: session).register(name: "Ada").record
        do {
          _ = try await Ceremony(key: TamperedKey(real: session, assertion: change)).tap(
            estateID: "E", epoch: 1, claimID: "C", recordHeadDigest: [], as: record)
          Issue.record("\(name): accepted")
        } catch CeremonyError.verificationFailed(let problems) {
          #expect(problems.map(\.name).contains(name))
        }
        let stranger = TamperedKey(real: session, assertion: { $0.credentialID[0] ^= 1 })
        await #expect(throws: CeremonyError.unexpectedCredential) {
          _ = try await Ceremony(key: stranger).tap(
            estateID: "E", epoch: 1, claimID: "C", recordHeadDigest: [], as: record)
        }
      }
    }
  }
}
