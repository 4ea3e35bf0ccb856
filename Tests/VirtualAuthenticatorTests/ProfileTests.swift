// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

@Suite("Profiles", .programs)
struct ProfileTests {
  @Test("names are unique, and find their profile")
  func names() {
    #expect(Set(ModelProfile.builtIn.map(\.name)).count == ModelProfile.builtIn.count)
    for profile in ModelProfile.builtIn {
      #expect(ModelProfile.named(profile.name)?.info == profile.info)
      #expect(SimulatedKey.isSimulated(aaguid: profile.info.aaguid))
    }
    #expect(ModelProfile.named("no such model") == nil)
  }

  @Test("every profile registers and asserts within its limits", arguments: ModelProfile.builtIn.map(\.name))
  func ceremonies(name: String) throws {
    let profile = try #require(ModelProfile.named(name))
    guard profile.speaksCTAP2, name != "always-uv" else { return }
    let platform = try Platform(profile)
    let id = try platform.register()
    #expect(id.count <= (profile.info.maxCredentialIdLength ?? .max))
    if profile.credentialIdLength > 0 { #expect(id.count == profile.credentialIdLength) }
    let count = profile.info.maxCredentialCountInList ?? 1
    let full = (1..<count).map { [UInt8](repeating: UInt8(clamping: $0), count: id.count) } + [id]
    let members = Platform.assertion(allow: full)
    let size = 1 + CBORValue.encode(.intMap(members)).count
    let reply = platform.call(.getAssertion, members)
    #expect(reply.status == (size > profile.info.effectiveMaxMsgSize ? .requestTooLarge : .success))
    let over = Platform.assertion(allow: [id] + full)
    let tooLarge = 1 + CBORValue.encode(.intMap(over)).count > profile.info.effectiveMaxMsgSize
    let unlimited = profile.info.maxCredentialCountInList == nil
    #expect(
      platform.call(.getAssertion, over).status == (tooLarge ? .requestTooLarge : unlimited ? .success : .limitExceeded)
    )
  }

  @Test("getInfo is canonical, unless the profile says otherwise", arguments: ModelProfile.builtIn.map(\.name))
  func info(name: String) throws {
    let profile = try #require(ModelProfile.named(name))
    guard profile.speaksCTAP2 else { return }
    let key = try VirtualAuthenticator(profile: profile)
    let reply = key.handle([0x04])
    let info = try AuthenticatorInfo(parsing: Array(reply.dropFirst()))
    #expect((info.encoded() == info.rawBytes) == !profile.shufflesInfo)
    var expected = key.info
    #expect(info.malformedMembers.isEmpty)
    #expect(Set(info.otherMembers) == Set(expected.otherMembers))
    expected.otherMembers = info.otherMembers
    #expect(expected.encoded() == info.encoded())
  }

  @Test("a recorded getInfo is answered as it is")
  func raw() throws {
    let key = try VirtualAuthenticator(profile: ModelProfile.virtual.varied("raw") { $0.rawInfo = [0xA0, 0x01] })
    #expect(key.handle([0x04]) == [0x00, 0xA0, 0x01])
  }

  /// Profiles that leave something out on purpose: for hosts that must cope.
  static let incomplete: Set = ["no-hmac-secret", "protocol1"]

  @Test("a profile that says FIDO_2_1 has what FIDO_2_1 demands", arguments: ModelProfile.builtIn.map(\.name))
  func mandatory(name: String) throws {
    let profile = try #require(ModelProfile.named(name))
    let info = profile.info
    guard info.versions.contains("FIDO_2_1"), !Self.incomplete.contains(name) else { return }
    let has = info.options
    if has["clientPin"] != nil || has["uv"] != nil {
      #expect(has["pinUvAuthToken"] == true && info.pinUvAuthProtocols.contains(2))
      #expect(info.extensions.contains("credProtect"))
    }
    if has["rk"] == true { #expect(has["credMgmt"] == true) }
    #expect(info.extensions.contains("hmac-secret"))
    #expect(info.extensions.contains("largeBlobKey") == (has["largeBlobs"] == true))
    if info.maxCredBlobLength != nil {
      #expect((info.maxCredBlobLength ?? 0) >= 32 && info.extensions.contains("credBlob"))
    }
    if let size = info.maxSerializedLargeBlobArray { #expect(size >= 1024) }
    if has["setMinPINLength"] == true { #expect(has["clientPin"] != nil && has["authnrCfg"] == true) }
    if has["bioEnroll"] != nil { #expect(has["uv"] != nil) }
    if info.versions.contains("U2F_V2") { #expect(info.algorithms.contains(.init(alg: -7))) }
    #expect((info.minPINLength ?? 4) >= 4 && profile.pinRetries <= 8)
  }

  // MARK: - Attestation

  @Test("packed attestation verifies under its certificate, and that under the root")
  func basic() throws {
    let platform = try Platform()
    let reply = platform.call(.makeCredential, Platform.registration())
    #expect(reply[1]?.text == "packed" && reply[3]?["alg"]?.int == -7)
    let certificate = try #require(reply[3]?["x5c"]?.array?.first?.bytes)
    #expect(SimulatedKey.isSimulated(certificate: certificate))
    #expect(SimulatedKey.isSimulated(certificate: try VirtualAttestation.rootCertificate()))
    #expect(!SimulatedKey.isSimulated(certificate: [0x30, 0x00]))
    #expect(!SimulatedKey.isSimulated(aaguid: [UInt8](repeating: 0, count: 16)))
    let status = try Python.run(
      "certificates.py",
      [
        Hex.encode(try VirtualAttestation.rootCertificate()), Hex.encode(certificate),
        Hex.encode(reply[2]?.bytes ?? []), Hex.encode(Platform.hash), Hex.encode(reply[3]?["sig"]?.bytes ?? []),
      ])
    if Python.isUsable { #expect(status.status == 0, "\(status.output)") }
  }

  @Test("self attestation, none, and a format nobody knows")
  func others() throws {
    for (attestation, format) in [
      (ModelProfile.Attestation.selfSigned, "packed"), (.none, "none"), (.unknown(format: "x-y"), "x-y"),
    ] {
      let platform = try Platform(ModelProfile.virtual.varied("x") { $0.attestation = attestation })
      let reply = platform.call(.makeCredential, Platform.registration())
      #expect(reply[1]?.text == format)
      #expect(reply[3]?["x5c"] == nil)
      if attestation == .none { #expect(reply[3]?.map?.isEmpty == true) }
      if attestation == .selfSigned {
        let attested = try #require(reply.authData?.attestedCredentialData)
        let key = try CredentialPublicKey(cose: attested.publicKeyItem)
        #expect(key.isValidSignature(reply[3]?["sig"]?.bytes ?? [], for: (reply[2]?.bytes ?? []) + Platform.hash))
      }
    }
  }

  @Test(
    "CTAP 2.2: the platform's first wish among the formats",
    arguments: [
      (["none"], "none"), (["packed", "none"], "packed"), (["tpm", "none"], "none"), (["tpm"], "packed"),
      ([], "packed"),
    ])
  func preference(wishes: [String], format: String) throws {
    let platform = try Platform(.nonCanonical)
    let reply = platform.call(
      .makeCredential, Platform.registration() + [(0x0B, .array(wishes.map { .text($0) }))])
    #expect(reply[1]?.text == format)
  }
}
