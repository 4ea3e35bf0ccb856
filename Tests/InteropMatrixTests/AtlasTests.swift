// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc
import SealCeremonies
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import InteropMatrix

/// What is predicted of a model follows from what its maker published.
@Suite("Atlas") struct AtlasTests {
  private static func payload(_ info: String, name: String = "Some Key", status: String = "FIDO_CERTIFIED") -> [UInt8] {
    Array(
      """
      {"legalHeader":"x","no":7,"nextUpdate":"2027-02-01","entries":[
        {"statusReports":[],"metadataStatement":{"description":"U2F without getInfo"}},
        {"aaguid":"61206d61-6b65-7227-7320-616167756964","statusReports":[{"status":"\(status)"}],
         "metadataStatement":{"description":"\(name)","authenticatorGetInfo":\(info)}}]}
      """.utf8)
  }

  private static let aaguid = "\"aaguid\":\"61206d616b65722773206161677569 64\"".replacing(" ", with: "")

  private func predict(_ members: String, name: String = "Some Key", status: String = "FIDO_CERTIFIED") async throws
    -> Prediction
  {
    let found = try PublishedModel.all(payload: Self.payload("{\(Self.aaguid),\(members)}", name: name, status: status))
    #expect(found.number == 7 && found.models.count == 1)
    return await Prediction.of(try #require(found.models.first))
  }

  @Test("predictions by hand")
  func predictions() async throws {
    let plain = try await predict(
      #""versions":["FIDO_2_0"],"extensions":["hmac-secret"],"options":{"rk":true,"up":true,"clientPin":false},"pinUvAuthProtocols":[1]"#
    )
    #expect(plain.outcome == .works)
    // One id a command, when the key names no other number.
    #expect(plain.probes == 1000 && plain.reasons == ["1000 commands look for one of 1,000 credentials"])

    let lists = try await predict(
      #""versions":["FIDO_2_1"],"extensions":["hmac-secret"],"options":{"rk":true,"up":true,"clientPin":true,"pinUvAuthToken":true,"makeCredUvNotRqd":true},"pinUvAuthProtocols":[2],"maxCredentialCountInList":8,"maxCredentialIdLength":128,"maxMsgSize":1200"#
    )
    #expect(lists.probes == 125)
    #expect(lists.reasons.contains("PIN protocol 2 only"))

    let always = try await predict(
      #""versions":["FIDO_2_1"],"options":{"rk":true,"up":true,"clientPin":true,"pinUvAuthToken":true,"alwaysUv":true},"pinUvAuthProtocols":[2,1],"maxCredentialCountInList":20,"maxMsgSize":7609"#
    )
    #expect(always.outcome == .worksWithPIN)
    #expect(always.reasons.contains("no hmac-secret: not for somebody else"))

    let eddsa = try await predict(
      #""versions":["FIDO_2_1"],"options":{"rk":true,"up":true,"clientPin":false},"pinUvAuthProtocols":[1],"algorithms":[{"type":"public-key","alg":-8}]"#
    )
    #expect(eddsa.outcome == .fails && eddsa.reasons.contains("no ES256"))

    let short = try await predict(
      #""versions":["FIDO_2_0"],"options":{"rk":true,"up":true,"clientPin":false},"pinUvAuthProtocols":[1],"maxCredentialIdLength":16"#
    )
    #expect(short.outcome == .works && short.reasons.contains("ids of at most 16 bytes"))

    let u2f = try await predict(#""versions":["U2F_V2"]"#)
    #expect(u2f.outcome == .works && u2f.reasons[0].hasPrefix("U2F only"))

    let small = try await predict(
      #""versions":["FIDO_2_0"],"options":{"rk":true,"up":true,"clientPin":false},"pinUvAuthProtocols":[1],"maxMsgSize":600"#,
      status: "REVOKED")
    #expect(small.reasons.contains("small messages: 600 bytes") && small.reasons.contains("metadata says REVOKED"))

    let old = try await predict(
      #""versions":["FIDO_2_0"],"options":{"rk":true,"up":true,"clientPin":false},"pinUvAuthProtocols":[1],"firmwareVersion":328707"#,
      name: "YubiKey 5 Series with NFC")
    #expect(old.reasons.contains { $0.contains("YSA-2024-03") })
    let page = Atlas.markdown([old], number: 7, nextUpdate: "2027-02-01")
    #expect(page.contains("No hardware was touched") && page.contains("| YubiKey 5 Series with NFC |"))
  }

  @Test("files that are no metadata")
  func bad() {
    for text in ["", "{}", "[]", #"{"no":1,"nextUpdate":"2027-01-01","entries":[]}"#] {
      #expect(throws: AtlasError.self) { try PublishedModel.all(payload: Array(text.utf8)) }
    }
    #expect(throws: AtlasError.expired("2027-02-01")) {
      try PublishedModel.all(payload: Self.payload("{\(Self.aaguid),\"versions\":[\"FIDO_2_0\"]}"), at: 1_900_000_000)
    }
  }

  @Test("the maker's root from the metadata: a run of its key leads there, and to no other root")
  func roots() async throws {
    let record = try await MatrixBench(hasPIN: false).run()
    let root = Base64.encode(try VirtualAttestation.rootCertificate())
    let payload = Array(
      """
      {"no":1,"nextUpdate":"2027-02-01","entries":[{"aaguid":"\(Hex.encode(SimulatedKey.aaguid))",
       "metadataStatement":{"attestationRootCertificates":["\(root)","not a certificate"]}}]}
      """.utf8)
    let word = try MakersWord(of: record, payload: payload, isSigned: true, at: nil)
    #expect(word.roots.count == 1 && word.isListed)
    let verdict = AttestationVerdict(record, roots: word.roots)
    #expect(verdict.report?.trust == .trusted && verdict.aaguidAgrees)
    // It leads there, and no maker made a virtual key.
    let report = RunRecord.verify(record.encoded(), makers: word)
    #expect(report.checks.filter { $0.name == "attestation" }.map(\.outcome) == [.note])
    #expect(report.warnings.isEmpty && report.isGood)
    let none = RunRecord.verify(record.encoded())
    #expect(!none.checks.contains { $0.name == "attestation" && $0.outcome == .good })
  }

  private static let metadata: String? = getenv("SEALKEY_METADATA").map { String(cString: $0) }

  @Test("every published model gets a prediction with a reason", .enabled(if: metadata != nil, "set SEALKEY_METADATA"))
  func everything() async throws {
    let path = try #require(Self.metadata)
    let found = try PublishedModel.all(payload: AtomicFile.read(path, limit: 64 << 20))
    let predictions = await Atlas.predict(found.models)
    #expect(predictions.count == found.models.count)
    #expect(predictions.allSatisfy { !$0.reasons.isEmpty && $0.outcome != .unknown })
  }
}
