// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Formats `apple` (WebAuthn level 3 section 8.8) and `android-key` (section 8.4).
extension Statement {
  func apple() -> Finding {
    do {
      let chain = try certificates()
      let key = try credentialKey()
      var problems = checkKey(chain[0], key)
      // SEQUENCE { [1] { OCTET STRING nonce } }
      let nonce = chain[0].extension("1.2.840.113635.100.8.2").flatMap { DERItem($0.value)?.children }?
        .first { $0.isContext(1) }?.children?.first { $0.isUniversal(4) }?.contents
      if let nonce {
        if nonce != SHA256.hash(signedBytes) { problems.append(.nonceMismatch) }
      } else {
        problems.append(.certificateRule("nonceExtension"))
      }
      return Finding(.anonymizationCA, problems, chain)
    } catch { return Finding(.anonymizationCA, [error]) }
  }

  func androidKey() -> Finding {
    do {
      let signature = try bytes("sig")
      let algorithm = try algorithm()
      let chain = try certificates()
      let key = try credentialKey()
      return Finding(
        .basic,
        check(chain[0], algorithm, signature, over: signedBytes) + checkKey(chain[0], key)
          + keyDescriptionProblems(chain[0]), chain)
    } catch { return Finding(.basic, [error]) }
  }

  /// Android's key description: { version, level, version, level, challenge, uniqueId, software, hardware }.
  private func keyDescriptionProblems(_ certificate: Certificate) -> [AttestationProblem] {
    guard let description = certificate.extension("1.3.6.1.4.1.11129.2.1.17"),
      let fields = DERItem(description.value)?.children, fields.count >= 8, fields[4].isUniversal(4),
      let software = fields[6].children, let hardware = fields[7].children
    else { return [.certificateRule("keyDescription")] }
    var problems: [AttestationProblem] = []
    if fields[4].contents != clientDataHash { problems.append(.nonceMismatch) }
    let all = software + hardware
    // allApplications [600]: the key must be this relying party's alone.
    if all.contains(where: { $0.isContext(600) }) { problems.append(.certificateRule("allApplications")) }
    // origin [702] is KM_ORIGIN_GENERATED (0); purpose [1] is a set of KM_PURPOSE_SIGN (2).
    if all.first(where: { $0.isContext(702) })?.children?.first?.smallInteger != 0 {
      problems.append(.certificateRule("origin"))
    }
    let purposes = all.first { $0.isContext(1) }?.children?.first?.children?.map(\.smallInteger)
    if purposes != [2] { problems.append(.certificateRule("purpose")) }
    return problems
  }
}
