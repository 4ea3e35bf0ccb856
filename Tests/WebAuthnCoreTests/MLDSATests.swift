// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Testing
import WebAuthnCore

/// ML-DSA credentials: read on every machine, verified where libcrypto has the algorithm, and otherwise refused by name.
@Suite(.arithmetic) struct MLDSATests {
  private static let algorithms: [MLDSA: Int] = [.mlDSA44: -48, .mlDSA65: -49, .mlDSA87: -50]

  private func decoded(_ text: String) throws -> [UInt8] {
    try #require(Base64.decode(text.filter { !$0.isWhitespace }))
  }

  private func cose(_ vector: MLDSAVector, _ change: (inout [(Int, CBORValue?)]) -> Void = { _ in }) throws -> CBORItem
  {
    var members: [(Int, CBORValue?)] = [
      (1, .int(7)), (3, Self.algorithms[vector.set].map { .int($0) }), (-1, .bytes(try decoded(vector.publicKey))),
    ]
    change(&members)
    return try CBORDecoder.decodeAll(CBORValue.encode(.intMap(members)))
  }

  @Test(arguments: MLDSAVector.all) func reads(_ vector: MLDSAVector) throws {
    let key = try CredentialPublicKey(cose: cose(vector))
    #expect(key.algorithm.rawValue == Self.algorithms[vector.set].map(Int64.init))
    #expect(key.algorithm.description == vector.set.rawValue)
    #expect(key.canVerify == vector.set.isAvailable)
    #expect(key.formatFault(of: []) == nil)
    func fails(_ name: String, _ change: (inout [(Int, CBORValue?)]) -> Void) {
      let error = #expect(throws: COSEKeyError.self) { try CredentialPublicKey(cose: cose(vector, change)) }
      #expect(error?.name == name)
    }
    fails("coseKeyTypeDoesNotFit") { $0[0].1 = .int(2) }
    fails("coseKeyMissing(1)") { $0[0].1 = nil }
    fails("coseKeyMissing(-1)") { $0[2].1 = nil }
    fails("coseKeyWrongType(-1)") { $0[2].1 = .text("x") }
    fails("badPublicKey") { $0[2].1 = .bytes([1]) }
  }

  @Test(
    "verified with libcrypto 3.5 or later", .enabled(if: MLDSA.mlDSA44.isAvailable, "this libcrypto has no ML-DSA"),
    arguments: MLDSAVector.all)
  func verifies(_ vector: MLDSAVector) throws {
    let key = try CredentialPublicKey(cose: cose(vector))
    let signature = try decoded(vector.signature)
    #expect(key.isValidSignature(signature, for: AlgorithmTests.message))
    #expect(!key.isValidSignature(signature, for: AlgorithmTests.message + [0]))
    #expect(!key.isValidSignature(Array(signature.dropLast()), for: AlgorithmTests.message))
    #expect(!key.isValidSignature(signature + [0], for: AlgorithmTests.message))
    for index in stride(from: 0, to: signature.count, by: 97) {
      var changed = signature
      changed[index] ^= 1
      #expect(!key.isValidSignature(changed, for: AlgorithmTests.message), "byte \(index)")
    }
  }

  @Test(
    "without it, an error with a name", .enabled(if: !MLDSA.mlDSA44.isAvailable, "this libcrypto has ML-DSA"),
    arguments: MLDSAVector.all)
  func isUnavailable(_ vector: MLDSAVector) throws {
    let key = try CredentialPublicKey(cose: cose(vector))
    let (publicKey, signature) = (try decoded(vector.publicKey), try decoded(vector.signature))
    #expect(!key.isValidSignature(signature, for: AlgorithmTests.message))
    let error = #expect(throws: CryptoError.self) {
      try vector.set.isValidSignature(signature, for: AlgorithmTests.message, publicKey: publicKey)
    }
    #expect(error?.name == "algorithmUnavailable")
    let verifier = AssertionVerifier(rpID: "example.org", challenge: [1])
    let problems = verifier.problems(
      authenticatorData: [], clientDataJSON: [], signature: signature, publicKey: key)
    #expect(problems.first?.name == "algorithmUnknown(\(key.algorithm.rawValue))")
  }

  /// Seal's own paths: ES256 alone.
  @Test(arguments: MLDSAVector.all) func sealRefuses(_ vector: MLDSAVector) throws {
    let data =
      SHA256.hash(Array("sealmessenger.com".utf8)) + [0x41, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 16) + [0, 1, 7]
      + CBORValue.encode(try cose(vector).rewritten)
    let object = AttestationObject.build(format: "none", statement: [0xa0], authenticatorData: data)
    let error = #expect(throws: SealRegistrationError.self) { try SealRegistration(attestationObject: object) }
    #expect(error?.name == "unsupportedAlgorithm(\(Self.algorithms[vector.set] ?? 0))")
    let failure = #expect(throws: VerificationFailure.self) {
      try RegistrationVerifier(rpID: "sealmessenger.com", challenge: [1]).verify(
        attestationObject: object, clientDataJSON: [], credentialID: nil)
    }
    #expect(
      failure?.problems.contains { $0.name == "unsupportedAlgorithm(\(Self.algorithms[vector.set] ?? 0))" } == true)
  }
}
