// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// The parts that several kinds share.
extension Explainer {
  /// Authenticator data that begins at `base` of the input. Explains as far as the bytes go.
  static func describe(_ data: [UInt8], at base: Int, _ out: inout Explanation) {
    func place(_ range: Range<Int>) -> Range<Int> { (range.lowerBound + base)..<(range.upperBound + base) }
    do { _ = try AuthenticatorData(parsing: data) } catch { if out.fault == nil { out.fault = error } }
    guard data.count >= 37 else { return }
    out.add("rpIdHash", Hex.encode(data[0..<32]), at: place(0..<32), relyingParty(Array(data[0..<32])))
    let flags = AuthenticatorFlags(rawValue: data[32])
    out.add("flags", "0x" + Hex.encode([data[32]]), at: place(32..<33), flags.summary)
    for (flag, name) in AuthenticatorFlags.named {
      out.add(name, flags.contains(flag) ? "1" : "0", at: place(32..<33), flagMeanings[name] ?? "")
    }
    let count = data[33..<37].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    out.add(
      "signCount", String(count), at: place(33..<37),
      count == 0 ? "0: this key may have no counter" : "the key's counter")
    var position = 37
    if flags.contains(.attestedCredentialData), data.count >= 55 {
      let aaguid = Array(data[37..<53])
      out.add(
        "aaguid", uuid(aaguid), at: place(37..<53),
        SimulatedKey.isSimulated(aaguid: aaguid) ? "the virtual key: simulated" : "the model")
      let length = Int(data[53]) << 8 | Int(data[54])
      out.add("credentialIdLength", String(length), at: place(53..<55))
      guard length <= data.count - 55 else { return }
      out.add("credentialId", Hex.encode(data[55..<(55 + length)]), at: place(55..<(55 + length)))
      guard let key = try? CBORDecoder.decode(data, at: 55 + length) else { return }
      describeKey(key, base, &out)
      position = key.range.upperBound
    }
    if flags.contains(.extensionData), let map = try? CBORDecoder.decode(data, at: position) {
      for entry in map.map ?? [] {
        out.add("extension \(text(entry.key))", text(entry.value), at: place(entry.value.range))
      }
      position = map.range.upperBound
    }
    if position < data.count {
      out.add(
        "trailing bytes", Hex.encode(data[position...]), at: place(position..<data.count), "no flag announces them")
    }
  }

  static func describeKey(_ key: CBORItem, _ base: Int, _ out: inout Explanation) {
    func place(_ range: Range<Int>) -> Range<Int> { (range.lowerBound + base)..<(range.upperBound + base) }
    let isRSA = key[1]?.int == 3
    let names: [Int64: String] = [
      1: "kty", 3: "alg", -1: isRSA ? "n" : "crv", -2: isRSA ? "e" : "x", -3: "y",
    ]
    for entry in key.map ?? [] {
      let label = entry.key.int
      let name = label.flatMap { names[$0] } ?? text(entry.key)
      var meaning = ""
      if label == 3, let alg = entry.value.int { meaning = COSEAlgorithm(rawValue: alg).description }
      if let coordinate = entry.value.bytes { meaning = "\(coordinate.count) bytes" }
      out.add("public key \(name)", text(entry.value), at: place(entry.value.range), meaning)
    }
  }

  /// A CBOR item, member by member.
  static func describe(_ item: CBORItem, _ name: String, _ out: inout Explanation) {
    guard let members = item.map, !members.isEmpty else {
      return out.add(name, text(item), at: item.range)
    }
    for entry in members {
      describe(entry.value, name.isEmpty ? text(entry.key) : "\(name).\(text(entry.key))", &out)
    }
  }

  /// getInfo, each member under the standard's name.
  static func getInfo(_ item: CBORItem, _ bytes: [UInt8]) -> Explanation {
    var out = Explanation("getInfo reply")
    for entry in item.map ?? [] {
      let number = entry.key.int ?? 0
      let name = getInfoNames[number] ?? "member \(text(entry.key))"
      if number == 3, let aaguid = entry.value.bytes {
        out.add(
          name, uuid(aaguid), at: entry.value.range,
          SimulatedKey.isSimulated(aaguid: aaguid) ? "the virtual key: simulated" : "the model")
      } else if number == 4, let options = entry.value.map {
        for option in options {
          out.add(
            "option \(text(option.key))", text(option.value), at: option.value.range,
            optionMeanings[text(option.key)] ?? "")
        }
      } else {
        out.add(name, text(entry.value), at: entry.value.range)
      }
    }
    return out
  }

  /// An item as short text.
  static func text(_ item: CBORItem) -> String {
    switch item.value {
    case .unsigned(let n): String(n)
    case .negative(let n): n < UInt64(Int64.max) ? String(-1 - Int64(n)) : "-1-\(n)"
    case .bytes(let b): Hex.encode(b)
    case .text(let t): printable(t)
    case .array(let a): "[" + a.map(text).joined(separator: ", ") + "]"
    case .map(let m): "{" + m.map { "\(text($0.key)): \(text($0.value))" }.joined(separator: ", ") + "}"
    case .tag(let n, let inner): "\(n)(\(text(inner)))"
    case .bool(let b): String(b)
    case .null: "null"
    case .undefined: "undefined"
    case .float(let d): String(d)
    case .simple(let n): "simple(\(n))"
    }
  }

  /// Text from outside must not steer a terminal: no controls, nothing invisible, nothing that turns the direction.
  static func printable(_ text: String) -> String { text.printable }

  private static func uuid(_ bytes: [UInt8]) -> String {
    guard bytes.count == 16 else { return Hex.encode(bytes) }
    let hex = Hex.encode(bytes)
    var out = ""
    for (i, c) in hex.enumerated() {
      if [8, 12, 16, 20].contains(i) { out += "-" }
      out.append(c)
    }
    return out
  }

  static let sealHash = SHA256.hash(Array("sealmessenger.com".utf8))

  private static func relyingParty(_ hash: [UInt8]) -> String {
    hash == sealHash ? "sealmessenger.com (Seal)" : "SHA-256 of a relying party ID"
  }

  private static let flagMeanings = [
    "UP": "the person touched the key", "UV": "the person was verified by PIN or fingerprint",
    "BE": "the credential may be backed up", "BS": "the credential is backed up", "AT": "a new credential follows",
    "ED": "extension data follows",
  ]

  private static let optionMeanings = [
    "rk": "can hold passkeys", "up": "asks for a touch", "uv": "true: a fingerprint or the like is enrolled",
    "clientPin": "true: a PIN is set; false: none is set", "alwaysUv": "true: verifies the person every time",
    "makeCredUvNotRqd": "true: registers without verification where allowed",
    "credMgmt": "its passkeys can be listed and removed", "pinUvAuthToken": "knows CTAP 2.1's PIN permissions",
  ]

  private static let getInfoNames: [Int64: String] = [
    1: "versions", 2: "extensions", 3: "aaguid", 4: "options", 5: "maxMsgSize", 6: "pinUvAuthProtocols",
    7: "maxCredentialCountInList", 8: "maxCredentialIdLength", 9: "transports", 10: "algorithms",
    11: "maxSerializedLargeBlobArray", 12: "forcePINChange", 13: "minPINLength", 14: "firmwareVersion",
    15: "maxCredBlobLength", 16: "maxRPIDsForSetMinPINLength", 17: "preferredPlatformUvAttempts", 18: "uvModality",
    19: "certifications", 20: "remainingDiscoverableCredentials", 21: "vendorPrototypeConfigCommands",
    22: "attestationFormats", 23: "uvCountSinceLastPinEntry", 24: "longTouchForReset", 25: "encIdentifier",
    26: "transportsForReset", 27: "pinComplexityPolicy", 28: "pinComplexityPolicyURL", 29: "maxPINLength",
  ]
}
