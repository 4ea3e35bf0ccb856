// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import TestSupport
import Testing
import WebAuthnCore

/// A member of a vector's `fields`: text, a number, or null for a field that is left out.
enum VectorField: Decodable {
  case text(String)
  case number(UInt64)
  case absent

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .absent
    } else if let number = try? container.decode(UInt64.self) {
      self = .number(number)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  var text: String? {
    switch self {
    case .text(let text): text
    case .number(let number): String(number)
    case .absent: nil
    }
  }
}

struct CommitmentVector: Decodable {
  let fields: [String: VectorField]
  let preimage_len: Int
  let preimage_hex: String
  let commitment_hex: String
  let challenge_b64url: String

  var given: [(name: String, value: String)] {
    fields.sorted { $0.key < $1.key }.compactMap { name, value in
      guard name != "note", let text = value.text else { return nil }
      return (name, text)
    }
  }
}

struct CommitmentVectors: Decodable {
  let commitments: [String: [CommitmentVector]]
}

@Suite(.arithmetic) struct CommitmentTests {
  @Test(.enabled(if: Corpus.has("seal-vectors.json"), Comment(rawValue: Corpus.absent)))
  func everyVector() throws {
    let vectors = try Corpus.decode("seal-vectors.json", as: CommitmentVectors.self).commitments
    #expect(vectors.count == 14)
    for (name, cases) in vectors {
      for vector in cases {
        let made = try CommitmentForm.commitment(named: name, fields: vector.given)
        #expect(made.preimage.count == vector.preimage_len, "\(name)")
        #expect(Hex.encode(made.preimage) == vector.preimage_hex, "\(name)")
        #expect(Hex.encode(made.digest) == vector.commitment_hex, "\(name)")
        #expect(made.challenge == vector.challenge_b64url, "\(name)")
        #expect(made.name == name)
      }
    }
  }

  /// Two statements never share a preimage by moving a border between fields, because every variable field is
  /// framed or stands between fixed ones.
  @Test func bordersHold() throws {
    let head = [UInt8](repeating: 7, count: 32)
    let one = try Statement.releaseAuthorize(estateID: "ab", epoch: 1, claimID: "c", recordHeadDigest: head)
      .commitment()
    let two = try Statement.releaseAuthorize(estateID: "a", epoch: 1, claimID: "bc", recordHeadDigest: head)
      .commitment()
    #expect(one.digest != two.digest)
  }

  private static let hash = String(repeating: "0a", count: 32)
  private static let device = "04" + String(repeating: "11", count: 64)
  private static let key = String(repeating: "22", count: 64)
  private static let nonce = String(repeating: "33", count: 32)

  /// A good value of every field of every form.
  private static let good: [String: String] = [
    "devicePublicKey": device, "kemBundle": nonce, "credentialID": "aabb", "publicKey": key, "rootIDHash": hash,
    "myHash": hash, "theirHash": hash, "senderHash": hash, "recipientHash": hash, "nonce": nonce,
    "receiptID": "R", "giverHash": hash, "receiverHash": hash, "itemDescription": "A key",
    "photoSHA256": nonce, "signedAtEpoch": "1800000000", "estateID": "E", "epoch": "1", "claimID": "C",
    "recordHeadDigest": nonce, "id": "I", "kind": "heartbeat", "actorHash": hash, "actorDevicePublicKey": device,
    "occurredAtEpoch": "-5", "previousDigest": "", "payload": "7b7d", "counterpartHash": "", "sourceRef": "S",
    "contentDigestHex": "", "introducerHash": hash, "hashA": hash, "hashB": nonce, "publicKeyA": key,
    "publicKeyB": key, "createdAt": "1", "introduction": nonce, "accepterHash": hash, "acceptedAt": "2",
    "codeHash": hash, "rootID": hash, "claimedAt": "3", "number": "4", "issuedAt": "5",
  ]

  @Test(arguments: CommitmentForm.all.map(\.name))
  func everyFormReadsItsOwnFields(name: String) throws {
    let form = try #require(CommitmentForm.named("seal." + name))
    let given = try form.fields.map { (name: $0.name, value: try #require(Self.good[$0.name])) }
    let made = try form.statement(from: given).commitment()
    #expect(made.name == name)
    #expect(made.preimage.starts(with: Array("seal.\(name)".utf8)))
    #expect(made.digest == SHA256.hash(made.preimage))
    for (index, field) in form.fields.enumerated() {
      var fewer = given
      fewer.remove(at: index)
      if field.isOptional {
        #expect(try form.statement(from: fewer).commitment() != made)
      } else {
        #expect(throws: CommitmentError.missingField(commitment: name, field: field.name)) {
          _ = try form.statement(from: fewer)
        }
      }
      #expect(throws: CommitmentError.duplicateField(commitment: name, field: field.name)) {
        _ = try form.statement(from: given + [given[index]])
      }
      // Every field reaches the hash: a change of it changes the commitment, or is refused.
      var other = given
      other[index].value = field.type == "NUMBER" ? "77" : "5555"
      if let changed = try? form.statement(from: other).commitment() { #expect(changed.digest != made.digest) }
    }
    #expect(throws: CommitmentError.unknownField(commitment: name, field: "surprise")) {
      _ = try form.statement(from: given + [("surprise", "1")])
    }
  }

  /// A commitment, one field of it, a bad value of that field.
  private static let bad: [(String, String, String)] = [
    ("endorse.v3", "devicePublicKey", "05" + key), ("endorse.v3", "devicePublicKey", key),
    ("endorse.v3", "kemBundle", "11"), ("endorse.v3", "kemBundle", String(repeating: "00", count: 1220)),
    ("endorse.v2", "kemBundle", ""), ("endorse.v2", "kemBundle", "534b4231" + String(repeating: "00", count: 1216)),
    ("revoke.v1", "devicePublicKey", key), ("backup.v1", "publicKey", device), ("backup.v1", "credentialID", ""),
    ("backup.v1", "credentialID", String(repeating: "00", count: 1024)),
    ("backup.accept.v1", "rootIDHash", hash.uppercased()), ("friend.v1", "myHash", "0a"),
    ("friend.v1", "nonce", "33"), ("receipt.v1", "photoSHA256", "33"), ("receipt.v1", "signedAtEpoch", "1.5"),
    ("receipt.v1", "signedAtEpoch", "+1"), ("release.authorize.v1", "epoch", "-1"),
    ("release.authorize.v1", "epoch", "01"), ("release.authorize.v1", "epoch", "18446744073709551616"),
    ("release.authorize.v1", "recordHeadDigest", "zz"), ("release.authorize.v1", "recordHeadDigest", "00"),
    ("custody.confirm.v1", "recordHeadDigest", nonce + "00"), ("estate.event.v1", "previousDigest", "00"),
    ("estate.event.v1", "payload", "0"), ("record.v1", "counterpartHash", "x"),
    ("perk.claim.v1", "rootID", "a|b"), ("fingerprint.v1", "publicKey", nonce),
  ]

  @Test(arguments: bad)
  func badFieldsAreNamed(name: String, field: String, value: String) throws {
    let form = try #require(CommitmentForm.named(name))
    let given = try form.fields.map {
      (name: $0.name, value: $0.name == field ? value : try #require(Self.good[$0.name]))
    }
    let error = #expect(throws: CommitmentError.self) { _ = try form.statement(from: given).commitment() }
    guard case .badField(name, field, _) = error else {
      Issue.record("\(String(describing: error)) is not a badField of \(field)")
      return
    }
  }

  @Test func namesThatAreNot() {
    #expect(throws: CommitmentError.unknownCommitment("release.v9")) {
      _ = try CommitmentForm.commitment(named: "release.v9", fields: [])
    }
    #expect(Set(CommitmentForm.all.map(\.name)).count == CommitmentForm.all.count)
  }

  @Test func introductionOrdersItsParties() throws {
    let a = IntroductionTerms.Party(hash: Self.hash, publicKey: bytes(hex: Self.key))
    let b = IntroductionTerms.Party(hash: Self.nonce, publicKey: bytes(hex: Self.nonce + Self.nonce))
    let one = IntroductionTerms(introducerHash: Self.hash, first: a, second: b, createdAt: 1)
    let two = IntroductionTerms(introducerHash: Self.hash, first: b, second: a, createdAt: 1)
    #expect(try Statement.introduce(one).commitment() == Statement.introduce(two).commitment())
  }
}
