// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

extension Statement {
  /// The name without the leading `seal.`.
  public var name: String {
    switch self {
    case .endorse: "endorse.v3"
    case .endorseV2: "endorse.v2"
    case .revokeDevice: "revoke.v1"
    case .backup: "backup.v1"
    case .backupAccept: "backup.accept.v1"
    case .backupRevoke: "backup.revoke.v1"
    case .friend: "friend.v1"
    case .forgeReverse: "forge.reverse.v1"
    case .receipt: "receipt.v1"
    case .releaseAuthorize: "release.authorize.v1"
    case .custodyConfirm: "custody.confirm.v1"
    case .identityDelete: "identity.delete.v1"
    case .estateEvent: "estate.event.v1"
    case .record: "record.v1"
    case .introduce: "introduce.v1"
    case .introduceAccept: "introduce.accept.v1"
    case .perkClaim: "perk.claim.v1"
    case .perkGrant: "perk.grant.v1"
    case .fingerprint: "fingerprint.v1"
    }
  }

  /// Checks the length of every field and builds the commitment (FORMATS.md section 3).
  ///
  /// - Throws: ``CommitmentError/badField(commitment:field:reason:)`` naming the first field that is wrong.
  public func commitment() throws(CommitmentError) -> Commitment {
    let check = FieldCheck(commitment: name)
    var out = Preimage(domain: "seal.\(name)")
    switch self {
    case .endorse(let device, let bundle):
      try check.deviceKey(device)
      try check.bundle(bundle, sizes: [0, KEMBundle.classicalSize, KEMBundle.hybridSize])
      out.frame(device)
      out.frame(bundle)
    case .endorseV2(let device, let bundle):
      try check.deviceKey(device)
      // Plain fields: only fixed lengths keep the border between them.
      try check.bundle(bundle, sizes: [KEMBundle.classicalSize])
      out.append(device)
      out.append(bundle)
    case .revokeDevice(let device):
      try check.deviceKey(device)
      out.append(device)
    case .backup(let credentialID, let key):
      try check.credentialID(credentialID)
      try check.rootKey(key)
      out.append(credentialID)
      out.append(key)
    case .backupAccept(let root, let credentialID, let key):
      try check.hash(root, "rootIDHash")
      try check.credentialID(credentialID)
      try check.rootKey(key)
      out.append(root)
      out.append(credentialID)
      out.append(key)
    case .backupRevoke(let key):
      try check.rootKey(key)
      out.append(key)
    case .friend(let mine, let theirs, let nonce):
      try check.hash(mine, "myHash")
      try check.hash(theirs, "theirHash")
      try check.size(nonce, "nonce", [32])
      out.append(mine)
      out.append(theirs)
      out.append(nonce)
    case .forgeReverse(let sender, let recipient, let nonce):
      try check.hash(sender, "senderHash")
      try check.hash(recipient, "recipientHash")
      try check.size(nonce, "nonce", [32])
      out.append(sender)
      out.append(recipient)
      out.append(nonce)
    case .receipt(let terms):
      try terms.append(to: &out, check)
    case .releaseAuthorize(let estate, let epoch, let claim, let head):
      try check.size(head, "recordHeadDigest", [0, 32])
      out.frame(estate)
      out.frame(String(epoch))
      out.frame(claim)
      out.frame(head)
    case .custodyConfirm(let estate, let epoch, let head):
      try check.size(head, "recordHeadDigest", [0, 32])
      out.frame(estate)
      out.frame(String(epoch))
      out.frame(head)
    case .identityDelete(let nonce):
      try check.size(nonce, "nonce", [32])
      out.append(nonce)
    case .estateEvent(let terms):
      try terms.checkLengths(check)
      terms.append(to: &out)
    case .record(let terms):
      try terms.append(to: &out, check)
    case .introduce(let terms):
      try terms.append(to: &out, check)
    case .introduceAccept(let introduction, let accepter, let time):
      try check.size(introduction, "introduction", [32])
      try check.hash(accepter, "accepterHash")
      out.frame(introduction)
      out.frame(accepter)
      out.frame(String(time))
    case .perkClaim(let code, let root, let device, let time):
      try check.hash(code, "codeHash")
      try check.deviceKey(device)
      try check.noBar(root, "rootID")
      out.append("|\(code)|\(root)|\(Hex.encode(device))|\(time)")
    case .perkGrant(let kind, let number, let code, let time):
      try check.hash(code, "codeHash")
      try check.noBar(kind, "kind")
      out.append("|\(kind)|\(number.map { String($0) } ?? "-")|\(code)|\(time)")
    case .fingerprint(let key):
      try check.size(key, "publicKey", [64, 65])
      out.append(key)
    }
    return Commitment(name: name, preimage: out)
  }
}

extension ReceiptTerms {
  fileprivate func append(to out: inout Preimage, _ check: FieldCheck) throws(CommitmentError) {
    try check.hash(giverHash, "giverHash")
    try check.hash(receiverHash, "receiverHash")
    if let photoSHA256 { try check.size(photoSHA256, "photoSHA256", [32]) }
    try check.size(nonce, "nonce", [32])
    out.frame(receiptID)
    out.frame(giverHash)
    out.frame(receiverHash)
    out.frame(itemDescription)
    // The one field without a frame: whether there is a photo.
    out.append([photoSHA256 == nil ? 0 : 1])
    out.frame(photoSHA256 ?? [])
    out.frame(String(signedAtEpoch))
    out.frame(nonce)
  }
}

extension EventTerms {
  fileprivate func checkLengths(_ check: FieldCheck) throws(CommitmentError) {
    try check.hash(actorHash, "actorHash")
    try check.deviceKey(actorDevicePublicKey, field: "actorDevicePublicKey")
    try check.size(previousDigest, "previousDigest", [0, 32])
  }

  fileprivate func append(to out: inout Preimage) {
    out.frame(id)
    out.frame(estateID)
    out.frame(kind)
    out.frame(actorHash)
    out.frame(actorDevicePublicKey)
    out.frame(String(occurredAtEpoch))
    out.frame(previousDigest)
    out.frame(payload)
  }

  /// The digest of an event as it was found, whatever its field lengths. Every field is framed, so odd lengths cannot
  /// make two events one; and Seal admits an event whose `previousDigest` has an odd length, so we must be able to.
  var digestAsFound: [UInt8] {
    var out = Preimage(domain: "seal.estate.event.v1")
    append(to: &out)
    return SHA256.hash(out.bytes)
  }
}

extension RecordTerms {
  fileprivate func append(to out: inout Preimage, _ check: FieldCheck) throws(CommitmentError) {
    if !counterpartHash.isEmpty { try check.hash(counterpartHash, "counterpartHash") }
    if !contentDigestHex.isEmpty { try check.hash(contentDigestHex, "contentDigestHex") }
    out.frame(kind)
    out.frame(String(occurredAtEpoch))
    out.frame(counterpartHash)
    out.frame(sourceRef)
    out.frame(contentDigestHex)
  }
}

extension IntroductionTerms {
  fileprivate func append(to out: inout Preimage, _ check: FieldCheck) throws(CommitmentError) {
    try check.hash(introducerHash, "introducerHash")
    try check.hash(first.hash, "hashA")
    try check.hash(second.hash, "hashB")
    try check.size(first.publicKey, "publicKeyA", [64])
    try check.size(second.publicKey, "publicKeyB", [64])
    out.frame(introducerHash)
    let inOrder = first.hash.utf8.lexicographicallyPrecedes(second.hash.utf8) || first.hash == second.hash
    for party in inOrder ? [first, second] : [second, first] {
      out.frame(party.hash)
      out.frame(party.publicKey)
    }
    out.frame(String(createdAt))
  }
}

/// The length checks, each with the name of the field at fault.
struct FieldCheck {
  let commitment: String

  func fail(_ field: String, _ reason: String) -> CommitmentError {
    .badField(commitment: commitment, field: field, reason: reason)
  }

  func size(_ value: [UInt8], _ field: String, _ sizes: [Int]) throws(CommitmentError) {
    guard sizes.contains(value.count) else {
      let wanted = sizes.map { $0 == 0 ? "none" : String($0) }.joined(separator: " or ")
      throw fail(field, "has \(value.count) bytes and must have \(wanted)")
    }
  }

  func hash(_ value: String, _ field: String) throws(CommitmentError) {
    guard value.utf8.count == 64, Hex.decode(value, lowercaseOnly: true) != nil else {
      throw fail(field, "must be 64 lowercase hexadecimal characters")
    }
  }

  func deviceKey(_ value: [UInt8], field: String = "devicePublicKey") throws(CommitmentError) {
    try size(value, field, [65])
    guard value[0] == 4 else { throw fail(field, "must be an uncompressed point, which starts with byte 04") }
  }

  func rootKey(_ value: [UInt8]) throws(CommitmentError) {
    try size(value, "publicKey", [64])
  }

  func bundle(_ value: [UInt8], sizes: [Int]) throws(CommitmentError) {
    try size(value, "kemBundle", sizes)
    guard value.count != KEMBundle.hybridSize || value.starts(with: KEMBundle.magic) else {
      throw fail("kemBundle", "has the length of a hybrid bundle and does not start with SKB1")
    }
  }

  func credentialID(_ value: [UInt8]) throws(CommitmentError) {
    guard (1...1023).contains(value.count) else {
      throw fail("credentialID", "has \(value.count) bytes and must have 1 to 1023")
    }
  }

  func noBar(_ value: String, _ field: String) throws(CommitmentError) {
    guard !value.isEmpty, !value.utf8.contains(0x7c) else {
      throw fail(field, "must not be empty nor contain a vertical bar")
    }
  }
}
