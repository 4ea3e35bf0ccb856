// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

extension Statement {
  /// The fields as text, as ``CommitmentForm/statement(from:)`` reads them: for evidence and for showing.
  public var fields: [(name: String, value: String)] {
    switch self {
    case .endorse(let device, let bundle), .endorseV2(let device, let bundle):
      [("devicePublicKey", Hex.encode(device)), ("kemBundle", Hex.encode(bundle))]
    case .revokeDevice(let device): [("devicePublicKey", Hex.encode(device))]
    case .backup(let credentialID, let key):
      [("credentialID", Hex.encode(credentialID)), ("publicKey", Hex.encode(key))]
    case .backupAccept(let root, let credentialID, let key):
      [("rootIDHash", root), ("credentialID", Hex.encode(credentialID)), ("publicKey", Hex.encode(key))]
    case .backupRevoke(let key), .fingerprint(let key): [("publicKey", Hex.encode(key))]
    case .friend(let mine, let theirs, let nonce):
      [("myHash", mine), ("theirHash", theirs), ("nonce", Hex.encode(nonce))]
    case .forgeReverse(let sender, let recipient, let nonce):
      [("senderHash", sender), ("recipientHash", recipient), ("nonce", Hex.encode(nonce))]
    case .receipt(let t):
      [
        ("receiptID", t.receiptID), ("giverHash", t.giverHash), ("receiverHash", t.receiverHash),
        ("itemDescription", t.itemDescription), ("photoSHA256", Hex.encode(t.photoSHA256 ?? [])),
        ("signedAtEpoch", String(t.signedAtEpoch)), ("nonce", Hex.encode(t.nonce)),
      ]
    case .releaseAuthorize(let estate, let epoch, let claim, let head):
      [
        ("estateID", estate), ("epoch", String(epoch)), ("claimID", claim), ("recordHeadDigest", Hex.encode(head)),
      ]
    case .custodyConfirm(let estate, let epoch, let head):
      [("estateID", estate), ("epoch", String(epoch)), ("recordHeadDigest", Hex.encode(head))]
    case .identityDelete(let nonce): [("nonce", Hex.encode(nonce))]
    case .estateEvent(let t):
      [
        ("id", t.id), ("estateID", t.estateID), ("kind", t.kind), ("actorHash", t.actorHash),
        ("actorDevicePublicKey", Hex.encode(t.actorDevicePublicKey)),
        ("occurredAtEpoch", String(t.occurredAtEpoch)), ("previousDigest", Hex.encode(t.previousDigest)),
        ("payload", Hex.encode(t.payload)),
      ]
    case .record(let t):
      [
        ("kind", t.kind), ("occurredAtEpoch", String(t.occurredAtEpoch)), ("counterpartHash", t.counterpartHash),
        ("sourceRef", t.sourceRef), ("contentDigestHex", t.contentDigestHex),
      ]
    case .introduce(let t):
      [
        ("introducerHash", t.introducerHash), ("hashA", t.first.hash), ("publicKeyA", Hex.encode(t.first.publicKey)),
        ("hashB", t.second.hash), ("publicKeyB", Hex.encode(t.second.publicKey)), ("createdAt", String(t.createdAt)),
      ]
    case .introduceAccept(let introduction, let accepter, let time):
      [("introduction", Hex.encode(introduction)), ("accepterHash", accepter), ("acceptedAt", String(time))]
    case .perkClaim(let code, let root, let device, let time):
      [
        ("codeHash", code), ("rootID", root), ("devicePublicKey", Hex.encode(device)), ("claimedAt", String(time)),
      ]
    case .perkGrant(let kind, let number, let code, let time):
      [
        ("kind", kind), ("number", number.map { String($0) } ?? "-"), ("codeHash", code), ("issuedAt", String(time)),
      ]
    }
  }

  /// `{"name":...,"fields":{...}}`, every value text.
  public var json: JSONValue {
    .object([("name", .string(name)), ("fields", .object(fields.map { ($0.name, .string($0.value)) }))])
  }

  /// Reads what ``json`` wrote.
  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, "statement")
    let name = try m.string("name")
    var given: [(name: String, value: String)] = []
    for member in try m.required("fields").object ?? [] {
      guard let text = member.value.string else { throw m.fail("fields", "holds something that is not text") }
      given.append((member.name, text))
    }
    guard let form = CommitmentForm.named(name) else { throw m.fail("name", "is no commitment's") }
    do { self = try form.statement(from: given) } catch { throw m.fail("fields", "does not read: \(error.message)") }
  }
}
