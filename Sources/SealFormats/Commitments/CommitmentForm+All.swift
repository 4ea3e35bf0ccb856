// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

extension CommitmentForm {
  /// Every commitment there is, by what it is for.
  public static let all: [CommitmentForm] = identity + people + estate + retired

  private static let identity: [CommitmentForm] = [
    CommitmentForm(
      name: "endorse.v3", fields: [.hex("devicePublicKey"), .hex("kemBundle")], signer: .rootOrBackup,
      isCurrent: true, meaning: "This device speaks for me, and may be wrapped to."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .endorse(devicePublicKey: try f.bytes("devicePublicKey"), kemBundle: try f.bytes("kemBundle"))
    },
    CommitmentForm(
      name: "endorse.v2", fields: [.hex("devicePublicKey"), .hex("kemBundle")], signer: .rootOrBackup,
      isCurrent: false, meaning: "This device speaks for me (the form of old builds)."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .endorseV2(devicePublicKey: try f.bytes("devicePublicKey"), kemBundle: try f.bytes("kemBundle"))
    },
    CommitmentForm(
      name: "revoke.v1", fields: [.hex("devicePublicKey")], signer: .root,
      isCurrent: true, meaning: "This device no longer speaks for me."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .revokeDevice(devicePublicKey: try f.bytes("devicePublicKey"))
    },
    CommitmentForm(
      name: "backup.v1", fields: [.hex("credentialID"), .hex("publicKey")], signer: .root,
      isCurrent: true, meaning: "This other credential may act for me."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .backup(credentialID: try f.bytes("credentialID"), publicKey: try f.bytes("publicKey"))
    },
    CommitmentForm(
      name: "backup.accept.v1", fields: [.hash("rootIDHash"), .hex("credentialID"), .hex("publicKey")],
      signer: .backup, isCurrent: true, meaning: "I am a backup of that identity."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .backupAccept(
        rootIDHash: try f.text("rootIDHash"), credentialID: try f.bytes("credentialID"),
        publicKey: try f.bytes("publicKey"))
    },
    CommitmentForm(
      name: "backup.revoke.v1", fields: [.hex("publicKey")], signer: .root,
      isCurrent: true, meaning: "That backup no longer acts for me."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .backupRevoke(publicKey: try f.bytes("publicKey"))
    },
    CommitmentForm(
      name: "identity.delete.v1", fields: [.hex("nonce")], signer: .root,
      isCurrent: true, meaning: "This identity is deleted for good."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .identityDelete(nonce: try f.bytes("nonce"))
    },
    CommitmentForm(
      name: "fingerprint.v1", fields: [.hex("publicKey")], signer: .nobody,
      isCurrent: true, meaning: "The spoken fingerprint of a public key."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .fingerprint(publicKey: try f.bytes("publicKey"))
    },
  ]

  private static let people: [CommitmentForm] = [
    CommitmentForm(
      name: "friend.v1", fields: [.hash("myHash"), .hash("theirHash"), .hex("nonce")], signer: .root,
      isCurrent: true, meaning: "We met: the first owns the phone, the second taps."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .friend(myHash: try f.text("myHash"), theirHash: try f.text("theirHash"), nonce: try f.bytes("nonce"))
    },
    CommitmentForm(
      name: "forge.reverse.v1", fields: [.hash("senderHash"), .hash("recipientHash"), .hex("nonce")],
      signer: .device, isCurrent: true, meaning: "The other direction of a meeting, by the device of whoever ran it."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .forgeReverse(
        senderHash: try f.text("senderHash"), recipientHash: try f.text("recipientHash"), nonce: try f.bytes("nonce"))
    },
    CommitmentForm(
      name: "receipt.v1",
      fields: [
        .text("receiptID"), .hash("giverHash"), .hash("receiverHash"), .text("itemDescription"),
        .hex("photoSHA256", optional: true), .number("signedAtEpoch"), .hex("nonce"),
      ], signer: .rootAndDevice, isCurrent: true, meaning: "We agree that this thing changed hands."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .receipt(
        ReceiptTerms(
          receiptID: try f.text("receiptID"), giverHash: try f.text("giverHash"),
          receiverHash: try f.text("receiverHash"), itemDescription: try f.text("itemDescription"),
          photoSHA256: try f.optionalBytes("photoSHA256"), signedAtEpoch: try f.seconds("signedAtEpoch"),
          nonce: try f.bytes("nonce")))
    },
    CommitmentForm(
      name: "record.v1",
      fields: [
        .text("kind"), .number("occurredAtEpoch"), .hash("counterpartHash"), .text("sourceRef"),
        .hash("contentDigestHex"),
      ], signer: .nobody, isCurrent: true, meaning: "An entry of a person's own record, for a timestamp authority."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .record(
        RecordTerms(
          kind: try f.text("kind"), occurredAtEpoch: try f.seconds("occurredAtEpoch"),
          counterpartHash: try f.text("counterpartHash"), sourceRef: try f.text("sourceRef"),
          contentDigestHex: try f.text("contentDigestHex")))
    },
  ]

  private static let estate: [CommitmentForm] = [
    CommitmentForm(
      name: "release.authorize.v1",
      fields: [.text("estateID"), .number("epoch"), .text("claimID"), .hex("recordHeadDigest")],
      signer: .root, isCurrent: true, meaning: "A key holder's tap that counts towards releasing the estate."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .releaseAuthorize(
        estateID: try f.text("estateID"), epoch: try f.unsigned("epoch"), claimID: try f.text("claimID"),
        recordHeadDigest: try f.bytes("recordHeadDigest"))
    },
    CommitmentForm(
      name: "custody.confirm.v1", fields: [.text("estateID"), .number("epoch"), .hex("recordHeadDigest")],
      signer: .root, isCurrent: true, meaning: "I still have my key. It never counts to a release."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .custodyConfirm(
        estateID: try f.text("estateID"), epoch: try f.unsigned("epoch"),
        recordHeadDigest: try f.bytes("recordHeadDigest"))
    },
    CommitmentForm(
      name: "estate.event.v1",
      fields: [
        .text("id"), .text("estateID"), .text("kind"), .hash("actorHash"), .hex("actorDevicePublicKey"),
        .number("occurredAtEpoch"), .hex("previousDigest"), .hex("payload"),
      ], signer: .device, isCurrent: true, meaning: "An entry of an estate's record."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .estateEvent(
        EventTerms(
          id: try f.text("id"), estateID: try f.text("estateID"), kind: try f.text("kind"),
          actorHash: try f.text("actorHash"), actorDevicePublicKey: try f.bytes("actorDevicePublicKey"),
          occurredAtEpoch: try f.seconds("occurredAtEpoch"), previousDigest: try f.bytes("previousDigest"),
          payload: try f.bytes("payload")))
    },
  ]

  private static let retired: [CommitmentForm] = [
    CommitmentForm(
      name: "introduce.v1",
      fields: [
        .hash("introducerHash"), .hash("hashA"), .hex("publicKeyA"), .hash("hashB"), .hex("publicKeyB"),
        .number("createdAt"),
      ], signer: .device, isCurrent: false, meaning: "I introduce these two people to each other."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .introduce(
        IntroductionTerms(
          introducerHash: try f.text("introducerHash"),
          first: .init(hash: try f.text("hashA"), publicKey: try f.bytes("publicKeyA")),
          second: .init(hash: try f.text("hashB"), publicKey: try f.bytes("publicKeyB")),
          createdAt: try f.seconds("createdAt")))
    },
    CommitmentForm(
      name: "introduce.accept.v1", fields: [.hex("introduction"), .hash("accepterHash"), .number("acceptedAt")],
      signer: .device, isCurrent: false, meaning: "I accept that introduction."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .introduceAccept(
        introduction: try f.bytes("introduction"), accepterHash: try f.text("accepterHash"),
        acceptedAt: try f.seconds("acceptedAt"))
    },
    CommitmentForm(
      name: "perk.claim.v1",
      fields: [.hash("codeHash"), .text("rootID"), .hex("devicePublicKey"), .number("claimedAt")],
      signer: .device, isCurrent: false, meaning: "I claim the perk behind this code."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .perkClaim(
        codeHash: try f.text("codeHash"), rootID: try f.text("rootID"),
        devicePublicKey: try f.bytes("devicePublicKey"), claimedAt: try f.seconds("claimedAt"))
    },
    CommitmentForm(
      name: "perk.grant.v1",
      fields: [.text("kind"), .number("number", optional: true), .hash("codeHash"), .number("issuedAt")],
      signer: .founder, isCurrent: false, meaning: "The founder grants a perk."
    ) { (f: inout FieldReader) throws(CommitmentError) in
      .perkGrant(
        kind: try f.text("kind"), number: try f.optionalNumber("number"), codeHash: try f.text("codeHash"),
        issuedAt: try f.seconds("issuedAt"))
    },
  ]
}
