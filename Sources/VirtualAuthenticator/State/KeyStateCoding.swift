// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// The bytes of a stored key.
///
///     magic (16) | version (4) | length of the body (4) | secret (32) | PIN hash (16) | body: CBOR | SHA-256 (32)
///
/// The two secrets stand outside the CBOR, so that they never pass through an ordinary array. The checksum is against
/// accidents: the file is as trustworthy as the account it lies in.
enum KeyStateCoding {
  static let version: UInt32 = 1
  private static let magic = Array("sealkey-virtual\n".utf8)
  private static let secretCount = 32
  private static let pinHashCount = 16
  private static let digestCount = 32
  private static let bodyStart = 16 + 4 + 4 + secretCount + pinHashCount
  /// Far more than any key holds.
  private static let largestBody = 16 << 20

  static func encode(_ state: KeyState) -> SecretBytes {
    let body = CBORValue.encode(cbor(state.facts))
    let head = magic + bigEndian(version) + bigEndian(UInt32(clamping: body.count))
    let total = bodyStart + body.count + digestCount
    var file = SecretBytes(count: total) { out in
      copy(head, to: out, at: 0)
      state.secret.withUnsafeBytes { copy($0, to: out, at: 24) }
      state.pinHash.withUnsafeBytes { copy($0, to: out, at: 24 + secretCount) }
      copy(body, to: out, at: bodyStart)
    }
    let digest = SHA256.hash(file.slice(0..<(total - digestCount)))
    file.withUnsafeMutableBytes { copy(digest, to: $0, at: total - digestCount) }
    return file
  }

  static func decode(_ file: borrowing SecretBytes, path: String) throws(KeyStateError) -> KeyState {
    let count = file.count
    guard count >= 24 else {
      let start = file.exposed()
      guard magic.starts(with: start.prefix(16)) else { throw .foreign(path: path) }
      throw .truncated(path: path, expected: bodyStart + digestCount, actual: count)
    }
    let head = file.slice(0..<24).exposed()
    guard head.starts(with: magic) else { throw .foreign(path: path) }
    let version = integer(head[16..<20])
    guard version == Self.version else { throw .unknownVersion(path: path, version: version) }
    let bodyCount = Int(integer(head[20..<24]))
    guard bodyCount <= largestBody else { throw .damaged(path: path) }
    let total = bodyStart + bodyCount + digestCount
    guard count >= total else { throw .truncated(path: path, expected: total, actual: count) }
    guard count == total,
      SHA256.hash(file.slice(0..<(total - digestCount))) == file.slice((total - digestCount)..<total).exposed()
    else { throw .damaged(path: path) }
    let body = file.slice(bodyStart..<(bodyStart + bodyCount)).exposed()
    guard let item = try? CBORDecoder.decodeAll(body) else { throw .malformed(path: path, part: "CBOR") }
    return KeyState(
      secret: file.slice(24..<(24 + secretCount)),
      pinHash: file.slice((24 + secretCount)..<bodyStart), facts: try facts(item, path: path))
  }

  private static func cbor(_ f: KeyState.Facts) -> CBORValue {
    .textMap([
      ("profile", .text(f.profile)),
      ("signatures", .unsigned(UInt64(f.signatures))),
      ("sequence", .unsigned(f.sequence)),
      ("pinIsSet", .bool(f.pinIsSet)),
      ("pinCodePoints", .int(f.pinCodePoints)),
      ("pinRetries", .int(f.pinRetries)),
      ("uvRetries", .int(f.uvRetries)),
      ("minPINLength", .int(f.minPINLength)),
      ("minPINLengthRPIDs", .array(f.minPINLengthRPIDs.map { .text($0) })),
      ("forcePINChange", .bool(f.forcePINChange)),
      ("alwaysUv", .bool(f.alwaysUv)),
      ("enterpriseAttestation", .bool(f.enterpriseAttestation)),
      (
        "credentials",
        .array(
          f.credentials.map { c in
            .textMap([
              ("id", .bytes(c.id)), ("rpId", .text(c.rpId)), ("rpName", c.rpName.map { .text($0) }),
              ("userId", .bytes(c.user.id)), ("userName", c.user.name.map { .text($0) }),
              ("userDisplayName", c.user.displayName.map { .text($0) }),
              ("credBlob", c.credBlob.map { .bytes($0) }), ("sequence", .unsigned(c.sequence)),
            ])
          })
      ),
      (
        "fingerprints",
        .array(f.fingerprints.map { .textMap([("id", .bytes($0.id)), ("name", $0.name.map { .text($0) })]) })
      ),
      ("largeBlobs", .bytes(f.largeBlobs)),
    ])
  }

  private static func facts(_ item: CBORItem, path: String) throws(KeyStateError) -> KeyState.Facts {
    let m = StateMembers(item: item, path: path, prefix: "")
    var f = KeyState.Facts(
      profile: try m.text("profile"), pinRetries: try m.small("pinRetries"), uvRetries: try m.small("uvRetries"),
      minPINLength: try m.small("minPINLength"), alwaysUv: try m.bool("alwaysUv"),
      enterpriseAttestation: try m.bool("enterpriseAttestation"))
    guard let signatures = UInt32(exactly: try m.unsigned("signatures")) else { throw m.malformed("signatures") }
    f.signatures = signatures
    f.sequence = try m.unsigned("sequence")
    f.pinIsSet = try m.bool("pinIsSet")
    f.pinCodePoints = try m.small("pinCodePoints")
    f.forcePINChange = try m.bool("forcePINChange")
    f.largeBlobs = try m.bytes("largeBlobs")
    for rpID in try m.array("minPINLengthRPIDs") {
      guard let text = rpID.text else { throw m.malformed("minPINLengthRPIDs") }
      f.minPINLengthRPIDs.append(text)
    }
    for element in try m.array("credentials") {
      f.credentials.append(try credential(StateMembers(item: element, path: path, prefix: "credentials.")))
    }
    for element in try m.array("fingerprints") {
      let p = StateMembers(item: element, path: path, prefix: "fingerprints.")
      f.fingerprints.append(StoredFingerprint(id: try p.bytes("id"), name: p.optionalText("name")))
    }
    return f
  }

  private static func credential(_ m: StateMembers) throws(KeyStateError) -> StoredCredential {
    StoredCredential(
      id: try m.bytes("id"), rpId: try m.text("rpId"), rpName: m.optionalText("rpName"),
      user: StoredUser(
        id: try m.bytes("userId"), name: m.optionalText("userName"), displayName: m.optionalText("userDisplayName")),
      credBlob: m.optionalBytes("credBlob"), sequence: try m.unsigned("sequence"))
  }

  private static func bigEndian(_ n: UInt32) -> [UInt8] { (0..<4).map { UInt8(n >> (24 - 8 * UInt32($0)) & 0xFF) } }
  private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
  private static func copy(_ bytes: [UInt8], to out: UnsafeMutableRawBufferPointer, at offset: Int) {
    bytes.withUnsafeBytes { copy($0, to: out, at: offset) }
  }
  private static func copy(_ bytes: UnsafeRawBufferPointer, to out: UnsafeMutableRawBufferPointer, at offset: Int) {
    UnsafeMutableRawBufferPointer(rebasing: out[offset..<(offset + bytes.count)]).copyMemory(from: bytes)
  }
}

/// Members of a map in a state file. Each is looked up in a function of its own: the optimiser of Swift 6.3 stops with a
/// fault where many are in one.
private struct StateMembers {
  let item: CBORItem
  let path: String
  let prefix: String

  func malformed(_ name: String) -> KeyStateError { .malformed(path: path, part: prefix + name) }

  @inline(never) func optionalText(_ name: String) -> String? { item[name]?.text }
  @inline(never) func optionalBytes(_ name: String) -> [UInt8]? { item[name]?.bytes }
  @inline(never) private func optionalUnsigned(_ name: String) -> UInt64? { item[name]?.unsigned }
  @inline(never) private func optionalBool(_ name: String) -> Bool? { item[name]?.bool }
  @inline(never) private func optionalArray(_ name: String) -> [CBORItem]? { item[name]?.array }

  func text(_ name: String) throws(KeyStateError) -> String {
    guard let value = optionalText(name) else { throw malformed(name) }
    return value
  }
  func bytes(_ name: String) throws(KeyStateError) -> [UInt8] {
    guard let value = optionalBytes(name) else { throw malformed(name) }
    return value
  }
  func unsigned(_ name: String) throws(KeyStateError) -> UInt64 {
    guard let value = optionalUnsigned(name) else { throw malformed(name) }
    return value
  }
  func bool(_ name: String) throws(KeyStateError) -> Bool {
    guard let value = optionalBool(name) else { throw malformed(name) }
    return value
  }
  func array(_ name: String) throws(KeyStateError) -> [CBORItem] {
    guard let value = optionalArray(name) else { throw malformed(name) }
    return value
  }
  /// A number of at most 255.
  func small(_ name: String) throws(KeyStateError) -> Int {
    guard let value = UInt8(exactly: try unsigned(name)) else { throw malformed(name) }
    return Int(value)
  }
}
