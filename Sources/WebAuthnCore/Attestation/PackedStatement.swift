// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Formats `packed` (WebAuthn level 3 section 8.2) and `fido-u2f` (section 8.6).
extension Statement {
  func packed() -> Finding {
    do {
      let signature = try bytes("sig")
      let algorithm = try algorithm()
      guard item["x5c"] != nil else { return try selfAttestation(algorithm, signature) }
      let chain = try certificates()
      return Finding(
        .basic,
        check(chain[0], algorithm, signature, over: signedBytes) + packedRules(chain[0]) + checkAAGUID(chain[0]), chain)
    } catch { return Finding(item["x5c"] == nil ? .selfSigned : .basic, [error]) }
  }

  private func selfAttestation(
    _ algorithm: COSEAlgorithm, _ signature: [UInt8]
  ) throws(AttestationProblem) -> Finding {
    let key = try credentialKey()
    guard key.algorithm == algorithm else { return Finding(.selfSigned, [.algorithmMismatch(algorithm)]) }
    guard key.canVerify else { return Finding(.selfSigned, [.algorithmUnknown(algorithm)]) }
    let isGood = key.isValidSignature(signature, for: signedBytes)
    return Finding(.selfSigned, isGood ? [] : [.signatureDoesNotMatch])
  }

  /// Section 8.2.1: what a packed attestation certificate must look like.
  private func packedRules(_ certificate: Certificate) -> [AttestationProblem] {
    var broken: [String] = []
    if certificate.version != 3 { broken.append("version") }
    let subject = certificate.subject
    if subject.first("2.5.4.6")?.utf8.count != 2 { broken.append("subjectC") }
    if (subject.first("2.5.4.10") ?? "").isEmpty { broken.append("subjectO") }
    if subject.first("2.5.4.11") != "Authenticator Attestation" { broken.append("subjectOU") }
    if (subject.first("2.5.4.3") ?? "").isEmpty { broken.append("subjectCN") }
    // One without the extension, as older keys have it, is nobody's authority either.
    if certificate.isAuthority { broken.append("basicConstraints") }
    return broken.map { .certificateRule($0) }
  }

  func fidoU2F() -> Finding {
    do {
      let signature = try bytes("sig")
      let chain = try certificates()
      guard let attested, case .es256(let key) = try credentialKey() else {
        return Finding(.basic, [.keyMismatch], chain)
      }
      var problems: [AttestationProblem] = []
      if chain.count != 1 { problems.append(.member("x5c")) }
      if !chain[0].isOn(CurveParameters.P256.self) { problems.append(.certificateRule("curve")) }
      let message =
        [0] + object.authenticatorData.rpIdHash + clientDataHash + attested.credentialID + key.x963Representation
      problems += check(chain[0], .es256, signature, over: message)
      return Finding(.basic, problems, chain)
    } catch { return Finding(.basic, [error]) }
  }
}
