// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

extension RunRecord {
  /// The file's bytes: one form only, so that a changed byte is a changed record.
  public func encoded() -> [UInt8] {
    var members = evidenceMembers
    members.append(("cells", cellsJSON))
    let digest = SHA256.hash(JSONWriter.write(.object(members), .compact))
    members.append(("evidenceDigestHex", .hex(digest)))
    return JSONWriter.write(.object(members), .readable) + [0x0a]
  }

  /// SHA-256 over everything else in the record, 32 bytes.
  public var evidenceDigest: [UInt8] {
    SHA256.hash(JSONWriter.write(.object(evidenceMembers + [("cells", cellsJSON)]), .compact))
  }

  /// `<model>-<firmware>-<transport>-<date>-<short hash>.json`, in characters that every system takes.
  public var fileName: String {
    let model = key.name.lowercased()
    let date = MatrixDate.text(startedAt).prefix(10)
    let hash = Hex.encode(evidenceDigest.prefix(4))
    let parts = [model, firmwareText, key.transportName.lowercased()].map(Self.plain)
    return parts.joined(separator: "-") + "-\(date)-\(hash).json"
  }

  private static func plain(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars.prefix(48) {
      let isPlain = ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) || scalar == "."
      if isPlain { out.unicodeScalars.append(scalar) } else if !out.hasSuffix("_") { out += "_" }
    }
    while out.hasSuffix("_") { out.removeLast() }
    return out.isEmpty ? "unknown" : out
  }

  private var evidenceMembers: [(String, JSONValue?)] {
    [
      ("format", .string(Self.format)), ("version", .int(Self.version)), ("simulated", .bool(isSimulated)),
      ("tool", .string(tool)), ("nonceHex", .hex(nonce)), ("startedAt", .int(startedAt)),
      ("finishedAt", finishedAt.map { .int($0) }), ("tester", tester.map { .string($0) }), ("key", key.json),
      ("hosts", .array(hosts.map(\.json))), ("before", before.json), ("after", after?.json), ("device", device.json),
      ("steps", .array(steps.map(\.json))),
    ]
  }
}

extension RunRecord.KeyDescription {
  fileprivate var json: JSONValue {
    .object([
      ("name", .string(name)), ("transport", .string(transport)), ("place", place.map { .string($0) }),
      ("vendorID", vendorID.map { .int($0) }), ("productID", productID.map { .int($0) }),
      ("deviceVersionHex", .hex(deviceVersion)), ("capabilities", .int(capabilities)),
      ("serial", serial.map { .string($0) }),
    ])
  }
}

extension RunRecord.HostDescription {
  fileprivate var json: JSONValue {
    .object([
      ("markHex", .hex(mark)), ("kernel", .string(kernel)), ("libfido2", .string(libfido2)),
      ("pcscd", pcscd.map { .string($0) }),
    ])
  }
}

extension RunRecord.KeyState {
  fileprivate var json: JSONValue {
    .object([
      ("getInfoHex", .hex(info)), ("pinTries", pinTries.map { .int($0) }),
      ("discoverable", discoverable.map { .int($0) }),
    ])
  }
}

extension RunRecord.TestDevice {
  fileprivate var json: JSONValue {
    .object([
      ("publicKeyHex", .hex(publicKey)), ("kemBundleHex", .hex(kemBundle)), ("saltHex", .hex(salt)),
      ("lockedHex", locked.map { .hex($0) }),
    ])
  }
}

extension StepRecord {
  fileprivate var json: JSONValue {
    .object([
      ("step", .string(step.rawValue)), ("skipped", skipped.map { .string($0) }),
      ("attempts", .array(attempts.map(\.json))),
    ])
  }
}

extension StepRecord.Attempt {
  fileprivate var json: JSONValue {
    .object([
      ("host", .int(host)), ("clientDataJSON", .string(String(decoding: clientDataJSON, as: UTF8.self))),
      (
        "exchanges",
        .array(exchanges.map { .object([("requestHex", .hex($0.request)), ("replyHex", .hex($0.reply))]) })
      ),
      ("answer", answer?.json), ("failure", failure.map { .string($0) }), ("status", status.map { .int($0) }),
      ("touches", .int(touches)), ("firstKeepaliveMs", firstKeepalive.map { .int($0) }), ("durationMs", .int(duration)),
      ("opensLock", opensLock.map { .bool($0) }),
    ])
  }
}

extension StepRecord.Answer {
  fileprivate var json: JSONValue {
    .object([
      ("attestationObjectHex", attestationObject.map { .hex($0) }), ("credentialIDHex", credentialID.map { .hex($0) }),
      ("authenticatorDataHex", authenticatorData.map { .hex($0) }), ("signatureHex", signature.map { .hex($0) }),
    ])
  }
}
