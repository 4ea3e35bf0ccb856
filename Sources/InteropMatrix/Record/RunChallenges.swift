// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// Every challenge of a run follows from the run's nonce, from what the key said of itself, and from the step: an answer
/// belongs to this run and to no other. Only an endorsement's, which follows from the device alone, is the same at every
/// try and belongs to the run because the device is made for it: there a signature that was seen before does not count.
extension RunRecord {
  /// What the key signs in the step: 32 bytes. `rootHash` names the credential, where the step needs it.
  /// - Throws: CommitmentError.
  func challenge(_ step: MatrixStep, attempt: Int, credentialID: [UInt8]?) throws(CommitmentError) -> [UInt8] {
    switch step {
    case .friend:
      let hash = Hex.encode(SHA256.hash(credentialID ?? []))
      return try Statement.friend(
        myHash: Hex.encode(seed("owner", 0)), theirHash: hash, nonce: seed(step.rawValue, attempt)
      ).commitment().digest
    case .endorse, .prfEndorse:
      return try Statement.endorse(devicePublicKey: device.publicKey, kemBundle: device.kemBundle).commitment().digest
    default: return seed(step.rawValue, attempt)
    }
  }

  /// The client data of the step, exactly as this program writes it.
  func clientData(_ step: MatrixStep, attempt: Int, credentialID: [UInt8]?) throws(CommitmentError) -> ClientData {
    ClientData(
      type: step.isRegistration ? .create : .get,
      challenge: try challenge(step, attempt: attempt, credentialID: credentialID), origin: Seal.origin)
  }

  /// SHA-256 of a domain and of framed parts: nonce, digest of getInfo, time, label, number.
  private func seed(_ label: String, _ number: Int) -> [UInt8] {
    var input = Array("sealkey.matrix.challenge.v1".utf8)
    for part in [
      nonce, SHA256.hash(before.info), Array(String(startedAt).utf8), Array(label.utf8), Array("\(number)".utf8),
    ] {
      let count = UInt32(clamping: part.count)
      input += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + part
    }
    return SHA256.hash(input)
  }
}
