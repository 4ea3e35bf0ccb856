// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

extension CapsuleCheck {
  /// Checks the owner's statements, their material, and that they agree with each other.
  mutating func checkEpochs() {
    guard let newest = statements.last else {
      report.add(.warning, "noEpoch", "capsule", "The owner has not sealed yet: there are no key holders.")
      return
    }
    var keys: [String: [UInt8]] = [:]
    var numbers = Set<UInt64>()
    for (event, body) in statements {
      let subject = "epoch \(body.epoch)"
      for problem in statementProblems(body) { report.add(.bad, "badStatement", subject, problem) }
      if !numbers.insert(body.epoch).inserted {
        soft("epochTwice", subject, "The owner signed more than one statement under this number.")
      }
      for (holder, key) in zip(body.custodianHashes, body.custodianPublicKeys) {
        if let before = keys[holder], before != key {
          report.add(.bad, "publicKeyChanged", name(of: holder), "The owner's statements name two root keys.")
        }
        keys[holder] = key
        if let pinned = context.pins[holder], pinned != key {
          report.add(
            .bad, "publicKeyChanged", name(of: holder), "The owner's key for this holder is not the pinned one.")
        }
        if capsule.identities[holder] == nil {
          soft("identityMissing", String(holder.prefix(8)), "This key holder is not among the identities.")
        }
      }
      if body.custodianHashes.contains(capsule.ownerHash) {
        soft("ownerIsHolder", subject, "It names the owner as a key holder too, who cannot act as one.")
      }
      // Of several statements under one number the file can hold only one's material; only the newest is in force.
      let isNewest = event == newest.event
      if let read = checkMaterial(body, subject, isNewest: isNewest), isNewest { material = read }
    }
    if let highest = numbers.max(), highest != newest.body.epoch {
      report.add(
        .bad, "epochNotHighest", "epoch \(newest.body.epoch)",
        "The newest statement does not have the highest number, which is \(highest).")
    }
    for name in capsule.epochBlobs.keys.sorted(by: utf8Order) where UInt64(name).map({ !numbers.contains($0) }) ?? true
    {
      soft("materialUnsigned", "epoch \(name)", "The owner signed no statement for this material.")
    }
  }

  private func statementProblems(_ body: EpochPublishedPayload) -> [String] {
    var out: [String] = []
    let count = body.custodianHashes.count
    if body.custodianPublicKeys.count != count || body.shareCommitments.count != count {
      out.append("It does not name one key and one share for each key holder.")
    }
    if Set(body.custodianHashes).count != count { out.append("It names a key holder twice.") }
    if Set(body.custodianPublicKeys).count != body.custodianPublicKeys.count {
      out.append("It names one root key twice, so one key could tap as two key holders.")
    }
    if count == 0 { out.append("It names no key holder.") }
    if body.threshold < 1 || body.threshold > Int64(count) {
      out.append("Its threshold of \(body.threshold) cannot be kept by \(count) key holders.")
    }
    if body.custodianHashes.contains(where: { Hex.decode($0, lowercaseOnly: true)?.count != 32 }) {
      out.append("It names a key holder by something that is not a root hash.")
    }
    if body.custodianPublicKeys.contains(where: { (try? P256.Signing.PublicKey(rawRepresentation: $0)) == nil }) {
      out.append("It names a root key that is not a key.")
    }
    let hashes = body.shareCommitments + [body.estateKeyCommitment, body.materialDigest]
    if hashes.contains(where: { $0.count != 32 }) { out.append("A commitment in it has a wrong length.") }
    return out
  }

  private mutating func checkMaterial(
    _ body: EpochPublishedPayload, _ subject: String, isNewest: Bool
  ) -> EpochMaterial? {
    // Another statement under the number may be the one that the material is of.
    let isShared = !isNewest && statements.count { $0.body.epoch == body.epoch } > 1
    guard let blob = capsule.epochBlobs[String(body.epoch)] else {
      report.add(.bad, "materialMissing", subject, "The epoch's material is not in the file.")
      return nil
    }
    if isShared, SHA256.hash(blob) != body.materialDigest {
      soft("materialMismatch", subject, "The epoch's material in the file is of another statement under this number.")
      return nil
    }
    do {
      let material = try EpochMaterial(blob: blob, statement: body, estateID: capsule.estateID)
      let suites = Set(material.custodianShares.flatMap { $0.envelopes.map(\.suite) }).sorted().joined(separator: ", ")
      report.add(
        .good, "material", subject,
        "\(material.custodianShares.count) shares, \(body.threshold) needed, as the owner signed; wrapped with \(suites)."
      )
      checkEnvelopes(material, subject)
      if body.threshold == 1 {
        report.add(
          .warning, "ruleOfOne", subject, "One key holder is enough, so every share is the Estate Key itself.")
      }
      return material
    } catch {
      report.add(error, subject)
      return nil
    }
  }

  private mutating func checkEnvelopes(_ material: EpochMaterial, _ subject: String) {
    for share in material.custodianShares {
      let who = "\(subject), \(name(of: share.custodianHash))"
      if share.envelopes.isEmpty { soft("shareMissing", who, "This key holder's share is wrapped to no device.") }
      for envelope in share.envelopes where !isShareEnvelope(envelope) {
        soft("badEnvelope", who, "An envelope of this share is malformed.")
      }
    }
  }

  /// Whether an envelope can hold a share of 33 bytes.
  func isShareEnvelope(_ envelope: WrapEnvelope) -> Bool {
    let isHybrid = envelope.suite == WrapEnvelope.hybrid
    return (isHybrid || envelope.suite == WrapEnvelope.classical) && envelope.ephemeralPublicKey.count == 32
      && envelope.mlkemCiphertext?.count == (isHybrid ? 1088 : nil)
      && envelope.ciphertext.count == 12 + EstateShare.size + 16
  }
}
