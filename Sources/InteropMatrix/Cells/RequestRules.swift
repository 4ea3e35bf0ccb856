// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealFormats
import WebAuthnCore

/// Whether a request asked what its step claims: the answer to another question shows nothing of it.
enum RequestRules {
  /// Of a makeCredential: Seal's relying party, ES256 and nothing else, not discoverable; hmac-secret where the step is
  /// about it.
  static func fault(_ step: MatrixStep, registration request: CBORItem) -> String? {
    if request[2]?["id"]?.text != Seal.relyingPartyID { return mismatch("rp") }
    let algorithms = request[4]?.array ?? []
    if algorithms.count != 1 || algorithms[0]["alg"]?.int != -7 { return mismatch("algorithm") }
    if request[7]?["rk"]?.bool == true { return mismatch("discoverable") }
    if (request[6]?["hmac-secret"]?.bool == true) != (step == .prfRegister) { return mismatch("hmac-secret") }
    return nil
  }

  /// Of a getAssertion: Seal's relying party, an allow list with the credential in it, a touch, and a secret where the
  /// step is about one.
  static func fault(_ step: MatrixStep, assertion request: CBORItem, credentialID: [UInt8]) -> String? {
    if request[1]?.text != Seal.relyingPartyID { return mismatch("rp") }
    let allowed = (request[3]?.array ?? []).compactMap { $0["id"]?.bytes }
    if !allowed.contains(credentialID) { return mismatch("allowList") }
    if request[5]?["up"]?.bool == false { return mismatch("touch") }
    let secret = request[4]?["hmac-secret"]
    if (secret?.map != nil) != step.asksPRF { return mismatch("hmac-secret") }
    guard let number = step.pinProtocol else { return nil }
    // Without the member it is protocol 1 (CTAP 2.1 section 12.5).
    return (secret?[4]?.int ?? 1) == Int64(number) ? nil : "otherPINProtocol"
  }

  private static func mismatch(_ what: String) -> String { "requestMismatch(\(what))" }
}
