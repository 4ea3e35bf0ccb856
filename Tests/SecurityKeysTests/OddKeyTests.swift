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

/// Keys that are not what a strict reader expects register and tap like any other.
@Suite("Odd keys")
struct OddKeyTests {
  @Test(
    "every built-in model registers, and taps with what it made",
    arguments: ModelProfile.builtIn.filter { $0.name != "always-uv" }, [false, true])
  func everyModel(profile: ModelProfile, withPIN: Bool) async throws {
    let bench = try Bench(profile)
    if withPIN, profile.speaksCTAP2 { try await bench.setPIN() }
    let made = try await bench.register()
    let object = try AttestationObject(parsing: made.attestationObject)
    #expect(object.authenticatorData.attestedCredentialData?.credentialID == made.credentialID)
    let request = Bench.assertion([made.credentialID])
    let got = try await bench.assert(request)
    #expect(got.credentialID == made.credentialID)
    let attested = try #require(object.authenticatorData.attestedCredentialData)
    let key = try CredentialPublicKey(cose: attested.publicKeyItem)
    #expect(key.algorithm == .es256)
    #expect(key.isValidSignature(got.signature, for: got.authenticatorData + SHA256.hash(got.clientDataJSON)))
    #expect(made.evidence.isSimulated && got.evidence.isSimulated)
  }

  @Test(
    "getInfo as real keys send it",
    arguments: [
      // A member map out of order, options out of order.
      "a60182684649444f5f325f30665532465f563202816b686d61632d73656372657403509f0d8150baa54c009299ad62c8bb4e8704a464706c6174f462726bf569636c69656e7450696ef4627570f505190400068101",
      // uv true, no clientPin, the limits of a display key.
      "a70182665532465f5632684649444f5f325f3002816b686d61632d7365637265740350d6d0bdc362eec4dbde8d7a656e4a448704a362726bf5627570f5627576f4068101070a08190400",
    ])
  func realInfo(hex: String) async throws {
    let bench = try Bench(.ctap20.varied("raw") { $0.rawInfo = bytes(hex: hex) })
    let facts = try await bench.key.open()
    #expect(facts.info?.versions.contains("FIDO_2_0") == true)
    #expect(facts.info?.rawBytes == bytes(hex: hex))
    let made = try await bench.register()
    #expect(await failure { try await bench.assert(Bench.assertion([made.credentialID])) } == nil)
  }

  @Test("getInfo that is not getInfo: refused by name, never taken for U2F")
  func badInfo() async throws {
    let good = ModelProfile.virtual.info.encoded()
    var bad: [[UInt8]] = [[], [0xFF], [0xA0], [0x80], [0xBF, 0xFF], Array(repeating: 0x81, count: 5000)]
    bad += stride(from: 0, to: good.count, by: 7).map { Array(good[..<$0]) }
    // A promised length of 2^63, and nesting without end.
    bad.append([0xA1, 0x01, 0x9B, 0x80, 0, 0, 0, 0, 0, 0, 0])
    bad.append([0xA1, 0x01, 0x5B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    for info in bad {
      let bench = try Bench(.virtual.varied("bad") { $0.rawInfo = info })
      #expect(await failure { try await bench.key.open() } == "badAnswer", "\(Hex.encode(info.prefix(40).map { $0 }))")
      #expect(await failure { try await bench.register() } == "badAnswer")
      #expect(bench.virtual.log.entries.allSatisfy { $0.command == .getInfo })
    }
  }

  @Test("a key that promises CBOR and refuses it is an error, not a U2F key")
  func promisedAndRefused() async throws {
    let bench = try Bench(.virtual.varied("q60") { $0.quirks = [.cborPromisedButRefused] })
    #expect(await failure { try await bench.register() } == "wireError")
    #expect(bench.virtual.log.entries.isEmpty)
  }

  @Test("a key once seen as FIDO2 is never used as U2F")
  func neverAgainU2F() async throws {
    let fido2 = try Bench(.virtual)
    try await fido2.key.open()
    await fido2.key.close()
    // The same place, and now it says it is a U2F key.
    let u2f = try VirtualAuthenticator(profile: .u2f)
    let (descriptor, host) = try VirtualKeyHost.inProcess(u2f)
    let key = SecurityKey(
      .reports(id: fido2.socketID, name: "impostor", kindName: "virtual", isSimulated: true) { descriptor },
      timings: Bench.quick)
    #expect(await failure { try await key.open() } == "getInfoRefused")
    await key.close()
    host.stop()
  }

  @Test("Q59: a U2F key that refuses Le in a registration is asked without it")
  func u2fRegistrationLength() async throws {
    let bench = try Bench(.u2f)
    try await bench.key.open()
    bench.virtual.log.clear()
    bench.faults.add(.command(bench.faults.commands, .replaceReply(StatusWord.wrongLength.bytes)))
    let made = try await bench.register()
    #expect(!made.credentialID.isEmpty)
    let asked = bench.virtual.log.entries.compactMap { try? CommandAPDU(parsing: $0.request) }
    #expect(asked.map { $0.le != nil } == [true, false] && asked.allSatisfy { $0.ins == 1 })
    // A key that refuses both is not asked for ever.
    for i in 0..<2 {
      bench.faults.add(.command(bench.faults.commands + i, .replaceReply(StatusWord.wrongLength.bytes)))
    }
    #expect(await failure { try await bench.register() } == "badAnswer")
  }

  @Test("reports of other sizes", arguments: [24, 32, 128, 512])
  func reportSizes(size: Int) async throws {
    let bench = try Bench(.virtual.varied("reports") { $0.reportSize = size })
    let made = try await bench.register()
    #expect(await failure { try await bench.assert(Bench.assertion([made.credentialID])) } == nil)
  }

  @Test("what is asked of a key is what the strictest key takes")
  func strictest() async throws {
    let quirks: Set<Quirk> = [
      .refusesUnknownAlgorithm, .refusesUvFalse, .refusesUvWithToken, .refusesUnknownOption, .refusesUnknownExtension,
      .refusesDescriptorExtras, .unsortedExtensionOutputs, .omitsOnlyCredential, .retriesNeedProtocol,
    ]
    let bench = try Bench(.virtual.varied("strict") { $0.quirks = quirks })
    try await bench.setPIN()
    let made = try await bench.register(Bench.registration(exclude: [[UInt8](repeating: 1, count: 40)], prf: true))
    let got = try await bench.assert(
      Bench.assertion([made.credentialID], salts: PRFSalts(first: Random.bytes(32), second: Random.bytes(32))))
    #expect(got.credentialID == made.credentialID)
    let prf = try #require(got.prf)
    let count = Self.count(prf.second)
    #expect(count == 32)
  }

  @Test("an answer without a match is not on this key, whichever status says so", arguments: [false, true])
  func noMatch(asInvalid: Bool) async throws {
    let bench = try Bench(.virtual.varied("nomatch") { if asInvalid { $0.quirks = [.noMatchIsInvalidCredential] } })
    #expect(await failure { try await bench.assert(Bench.assertion([Random.bytes(64)])) } == "notOnThisKey")
  }

  static func count(_ secret: borrowing SecretBytes?) -> Int {
    switch secret {
    case .some(let secret): secret.count
    case .none: 0
    }
  }
}
