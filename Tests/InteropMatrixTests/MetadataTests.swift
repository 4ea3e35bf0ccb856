// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import InteropMatrix

/// Signed metadata is believed for its signature, its signer's certificate and its date, and for nothing less.
@Suite("Signed metadata") struct MetadataTests {
  private static let now: Int64 = 1_796_000_000  // 2026-11-30

  private static func trust(_ host: String? = MetadataRoot.host) throws -> MetadataFile.Trust {
    let der = try #require(Base64.decode(SignedMetadata.root))
    return .init(roots: [try Certificate(derRepresentation: der)], host: host)
  }

  private func read(
    _ text: String, _ trust: MetadataFile.Trust? = nil, at time: Int64? = now
  ) throws -> MetadataFile { try MetadataFile(Array(text.utf8), trust: trust ?? Self.trust(), at: time) }

  @Test("a good BLOB: read, its signer named, its models and status reports there", arguments: ["RS256", "ES256"])
  func good(algorithm: String) throws {
    let file = try read((algorithm == "RS256" ? SignedMetadata.rs256 : SignedMetadata.es256) + "\n")
    #expect(file.signer == "CN=mds")
    let found = try PublishedModel.all(payload: file.payload, at: Self.now)
    #expect(found.number == 9 && found.models.map(\.name) == ["Signed Key"])
    #expect(found.models[0].warnings == ["REVOKED (since 2026-01-02)", "UPDATE_AVAILABLE (for firmware 5)"])
    let payload = try PublishedModel.Payload(file.payload)
    #expect(payload.entries(aaguid: found.models[0].aaguid).flatMap(PublishedModel.warnings(of:)).count == 2)
    #expect(throws: AtlasError.expired("2027-02-01")) {
      try PublishedModel.all(payload: file.payload, at: 1_900_000_000)
    }
  }

  @Test("FIDO's root is GlobalSign's, and vouches for no signer of ours")
  func builtInRoot() throws {
    let root = try #require(MetadataRoot.builtIn.first)
    #expect(Hex.encode(SHA256.hash(root.derRepresentation)) == MetadataRoot.fingerprint)
    #expect(root.subject.first("2.5.4.3") == "GlobalSign" && root.isAuthority)
    let error = #expect(throws: AtlasError.self) { try read(SignedMetadata.rs256, .fido) }
    #expect(error?.name == "metadataUntrusted")
  }

  @Test("a signer for another name, and a signer whose time is over")
  func signers() throws {
    #expect(throws: AtlasError.otherSigner(["other.example"])) { try read(SignedMetadata.otherHost) }
    #expect(try read(SignedMetadata.otherHost, Self.trust(nil)).signer == "CN=other")
    let error = #expect(throws: AtlasError.self) { try read(SignedMetadata.expired) }
    // X509_V_ERR_CERT_HAS_EXPIRED
    #expect(error?.name == "metadataUntrusted" && error?.status == 10)
    #expect(try read(SignedMetadata.expired, at: nil).signer == "CN=old")
  }

  @Test("every part changed: never read")
  func changed() throws {
    let good = Array(SignedMetadata.es256.utf8)
    for index in stride(from: 0, to: good.count, by: Extent.isFull ? 1 : 41) where good[index] != UInt8(ascii: ".") {
      var bad = good
      bad[index] = bad[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      // The last letter of a part may carry bits that mean nothing; base64url here wants them to be zero.
      guard let trust = try? Self.trust(), let read = try? MetadataFile(bad, trust: trust, at: Self.now) else {
        continue
      }
      // Without its first letters a BLOB is no BLOB: it is taken for a payload, which then cannot be read.
      #expect(read.signer == nil && (try? PublishedModel.all(payload: read.payload)) == nil, "byte \(index)")
    }
    let parts = SignedMetadata.es256.split(separator: ".").map(String.init)
    let swapped = [parts[0], SignedMetadata.rs256.split(separator: ".").map(String.init)[1] + "A", parts[2]]
    #expect(throws: AtlasError.self) { try read(swapped.joined(separator: ".")) }
    let other = SignedMetadata.rs256.split(separator: ".").map(String.init)
    #expect(throws: AtlasError.signatureDoesNotMatch) { try read("\(parts[0]).\(parts[1]).\(other[2])") }
  }

  private static func header(_ json: String) -> String { Base64.encode(Array(json.utf8), .url) + ".e30.c2ln" }

  @Test("files of the wrong kind: each its own name")
  func wrong() throws {
    let header = try #require(Base64.decode(SignedMetadata.es256.prefix { $0 != "." }, .url))
    let leaf = try #require(try JSONReader.parse(header)["x5c"]?.array?.first?.string)
    for (text, name) in [
      ("eyJhbGciOiJSUzI1NiJ9.e30", "metadataMalformed"), ("eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "metadataMalformed"),
      ("eyJ.e30.c2ln", "metadataMalformed"), (Self.header(#"{"x5c":[]}"#), "metadataMalformed"),
      (Self.header(#"{"alg":"ES256","x5u":"x"}"#), "metadataMalformed"),
      (Self.header(#"{"alg":"ES256","x5c":["AAAA"]}"#), "metadataMalformed"),
      (Self.header(#"{"alg":"ES256","crit":["x"],"x5c":["AAAA"]}"#), "metadataMalformed"),
      (Self.header(#"{"alg":"none","x5c":["\#(leaf)"]}"#), "metadataAlgorithmUnknown"),
      (Self.header(#"{"alg":"HS256","x5c":["\#(leaf)"]}"#), "metadataAlgorithmUnknown"),
      (Self.header(#"{"alg":"RS256","x5c":["\#(leaf)"]}"#), "metadataSignatureDoesNotMatch"),
      (Self.header(#"{"alg":"ES384","x5c":["\#(leaf)"]}"#), "metadataSignatureDoesNotMatch"),
      (Self.header(#"{"alg":"ES256","x5c":["\#(leaf)"]}"#), "metadataSignatureDoesNotMatch"),
    ] {
      let error = #expect(throws: AtlasError.self, "\(text.prefix(40))") { try read(text) }
      #expect(error?.name == name, "\(text.prefix(40))")
    }
  }
}
