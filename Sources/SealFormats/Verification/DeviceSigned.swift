// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What a device key signed directly, over the 32-byte digest as a message.
public enum DeviceSignature {
  /// Whether the device of that 65-byte key signed `statement`.
  public static func isValid(_ signature: [UInt8], by devicePublicKey: [UInt8], over statement: Statement) -> Bool {
    guard let key = try? P256.Signing.PublicKey(x963Representation: devicePublicKey),
      let digest = try? statement.commitment().digest
    else { return false }
    return key.isValidSignature(signature, for: digest)
  }
}

extension ForgeHandshake {
  /// Checks the sender's device, among the sender's verified devices, and its signature.
  public func verify(sender: VerifiedIdentity) -> VerificationReport {
    var report = VerificationReport()
    if senderHash != sender.rootHash {
      report.add(.bad, "identityMissing", "sender", "The handshake names another sender.")
    }
    if sender.device(senderDevicePublicKey) == nil {
      report.add(
        .bad, "deviceNotEndorsed", sender.displayName, sender.whyNotLive(senderDevicePublicKey, "the sender"))
    }
    if DeviceSignature.isValid(signature, by: senderDevicePublicKey, over: statement) {
      report.add(.good, "deviceSignature", sender.displayName, "The sender's device signed this meeting.")
    } else {
      report.add(.bad, "signatureDoesNotMatch", sender.displayName, "The device did not sign this meeting.")
    }
    return report
  }
}

extension VerifiedIdentity {
  /// Why what the device signed does not count. A device that is revoked may have signed before, and nothing tells when.
  fileprivate func whyNotLive(_ device: [UInt8], _ person: String) -> String {
    revokedDevices.contains { $0.publicKey == device }
      ? "The device that signed was revoked by \(person). It may have signed before that, and nothing in the file tells."
      : "The device that signed is none of \(person)'s live devices."
  }
}

extension FriendshipAttestation {
  /// What the friend must have signed: `owner` has the phone, `tapper` taps.
  public func statement(owner: String, tapper: String) -> Statement {
    .friend(myHash: owner, theirHash: tapper, nonce: nonce)
  }
}

extension CustodyReceipt {
  /// Seal's verdicts on a receipt, in Seal's order (FORMATS.md section 9).
  public enum Verdict: String, Sendable, Hashable {
    /// Both signed, and the photo is the one.
    case valid
    /// The receiver's tap does not verify.
    case receiverSignatureFailed
    /// The giver's device does not belong to the giver, or did not sign.
    case giverSignatureFailed
    /// The photo is not the one that was signed.
    case photoAltered
    /// One of the two identities is not known here.
    case identityMissing
  }

  /// Checks both signatures, and the photo where one is given.
  public func verify(
    giver: VerifiedIdentity?, receiver: VerifiedIdentity?, photo: [UInt8]? = nil,
    relyingPartyID: String = Seal.relyingPartyID
  ) -> (verdict: Verdict, report: VerificationReport) {
    var report = VerificationReport()
    guard let giver, let receiver, giver.rootHash == terms.giverHash, receiver.rootHash == terms.receiverHash else {
      report.add(.bad, "identityMissing", "receipt", "The giver or the receiver is not known here.")
      return (.identityMissing, report)
    }
    if let photo {
      if SHA256.hash(photo) == terms.photoSHA256 {
        report.add(.good, "photo", "receipt", "The photo is the one that was signed.")
      } else {
        report.add(.bad, "photoAltered", "receipt", "The photo is not the one that was signed.")
      }
    }
    let statement = Statement.receipt(terms)
    if let commitment = try? statement.commitment() {
      report.add(
        receiverAssertion.problems(under: receiver.rootKey, for: commitment, relyingPartyID: relyingPartyID),
        "receiverAssertion", receiver.displayName, good: "The receiver's key touched for this receipt.")
    } else {
      report.add(.bad, "receiverSignatureFailed", receiver.displayName, "The receipt's fields cannot be signed.")
    }
    let receiverIsGood = !report.checks.contains { $0.outcome == .bad && $0.subject == receiver.displayName }
    let giverIsGood =
      giver.device(giverDevicePublicKey) != nil
      && DeviceSignature.isValid(giverSignature, by: giverDevicePublicKey, over: statement)
    if giverIsGood {
      report.add(.good, "giverSignature", giver.displayName, "The giver's device signed this receipt.")
    } else {
      report.add(
        .bad, "giverSignatureFailed", giver.displayName,
        giver.device(giverDevicePublicKey) == nil
          ? giver.whyNotLive(giverDevicePublicKey, "the giver") : "The giver's device did not sign this receipt.")
    }
    let photoIsGood = !report.checks.contains { $0.name == "photoAltered" }
    if !photoIsGood { return (.photoAltered, report) }
    if !receiverIsGood { return (.receiverSignatureFailed, report) }
    return (giverIsGood ? .valid : .giverSignatureFailed, report)
  }
}

extension TombstoneProof {
  /// Checks the marker for a root: the credential ID that its assertion names must hash to the root hash, and the key
  /// must have touched for this nonce.
  public func verify(
    rootHash: String, publicKey: [UInt8], relyingPartyID: String = Seal.relyingPartyID
  ) -> VerificationReport {
    var report = VerificationReport()
    if RootIdentity.rootHash(of: assertion.credentialID) != rootHash {
      report.add(.bad, "unexpectedCredential", "delete marker", "The marker was made with another credential.")
    }
    report.append(
      assertion.verify(
        publicKey: publicKey, statement: .identityDelete(nonce: nonce), relyingPartyID: relyingPartyID))
    return report
  }
}
