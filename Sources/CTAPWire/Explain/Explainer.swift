// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// Tells what bytes are, and explains them. A pure function: no file, no key, no network.
public enum Explainer {
  /// The explanation, or nil when the bytes are nothing it knows.
  public static func explain(_ bytes: [UInt8]) -> Explanation? {
    guard let first = bytes.first else { return nil }
    if first == UInt8(ascii: "{") { return clientData(bytes) }
    if let item = try? CBORDecoder.decodeAll(bytes), item.map != nil { return cbor(item, bytes, base: 0) }
    // A CTAP reply: status 0, then its map.
    if first == 0, bytes.count > 1, let item = try? CBORDecoder.decode(bytes, at: 1), item.map != nil,
      item.range.upperBound == bytes.count
    {
      return cbor(item, bytes, base: 0)
    }
    if isSignature(bytes) { return signature(bytes) }
    if isAttestationObject(bytes) { return attestationObject(bytes) }
    if isAuthenticatorData(bytes) { return authenticatorData(bytes) }
    return nil
  }

  /// A DER sequence that begins with an integer, no longer than P-521 makes them.
  private static func isSignature(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 3, bytes.count <= 141, bytes[0] == 0x30 else { return false }
    return bytes[1] == 0x81 ? bytes.count > 3 && bytes[3] == 0x02 : bytes[2] == 0x02
  }

  /// A map whose first member is one of an attestation object's: its rest may be damaged.
  private static func isAttestationObject(_ bytes: [UInt8]) -> Bool {
    guard let first = bytes.first, first & 0xE0 == 0xA0 else { return false }
    return ["fmt", "attStmt", "authData"].contains { name in
      bytes.dropFirst().starts(with: [0x60 | UInt8(name.utf8.count)] + Array(name.utf8))
    }
  }

  /// Any bytes could be called authenticator data with something wrong. They are it when they are nothing else, or when they
  /// are Seal's, or when a public key stands where it says, whatever follows then.
  private static func isAuthenticatorData(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 37 else { return false }
    if bytes.starts(with: sealHash) { return true }
    if let text = String(validating: bytes, as: UTF8.self), text.unicodeScalars.allSatisfy({ $0.isReadable }) {
      return false
    }
    do { _ = try AuthenticatorData(parsing: bytes) } catch {
      let flags = AuthenticatorFlags(rawValue: bytes[32])
      guard flags.contains(.attestedCredentialData), bytes.count >= 55 else { return false }
      let end = 55 + (Int(bytes[53]) << 8 | Int(bytes[54]))
      guard end < bytes.count, let key = try? CBORDecoder.decode(bytes, at: end) else { return false }
      return key[1]?.int != nil && key[3] != nil
    }
    return true
  }

  private static func cbor(_ item: CBORItem, _ bytes: [UInt8], base: Int) -> Explanation? {
    if item["authData"] != nil || item["fmt"] != nil { return attestationObject(bytes) }
    if item[1]?.text != nil, item[2]?.bytes != nil { return makeCredential(item, bytes) }
    if item[1]?.array != nil, item[3]?.bytes?.count == 16 { return getInfo(item, bytes) }
    if item[2]?.bytes != nil, item[3]?.bytes != nil { return getAssertion(item) }
    if item[1]?.int != nil, item[3]?.int != nil || item[-1] != nil { return coseKey(item) }
    return generic(item)
  }

  private static func attestationObject(_ bytes: [UInt8]) -> Explanation {
    var explanation = Explanation("attestation object")
    do {
      let seal = try SealRegistration(attestationObject: bytes)
      explanation.publicKey = seal.publicKey.rawRepresentation
    } catch { explanation.fault = error }
    guard let item = try? CBORDecoder.decode(bytes) else { return explanation }
    if let format = item["fmt"] { explanation.add("fmt", text(format), at: format.range, "attestation format") }
    if let statement = item["attStmt"] { describe(statement, "attStmt", &explanation) }
    if let data = item["authData"], let inner = data.bytes {
      describe(inner, at: data.range.upperBound - inner.count, &explanation)
    }
    if item.range.upperBound < bytes.count {
      explanation.add(
        "trailing bytes", Hex.encode(bytes[item.range.upperBound...]), at: item.range.upperBound..<bytes.count,
        "bytes that do not belong here")
    }
    return explanation
  }

  private static func makeCredential(_ item: CBORItem, _ bytes: [UInt8]) -> Explanation {
    var explanation = Explanation("makeCredential reply")
    if let format = item[1] { explanation.add("fmt", text(format), at: format.range, "attestation format") }
    if let data = item[2], let inner = data.bytes {
      describe(inner, at: data.range.upperBound - inner.count, &explanation)
      let object = AttestationObject.build(makeCredentialReply: item, in: bytes) ?? []
      do { explanation.publicKey = try SealRegistration(attestationObject: object).publicKey.rawRepresentation } catch {
        explanation.fault = error
      }
    }
    if let statement = item[3] { describe(statement, "attStmt", &explanation) }
    return explanation
  }

  private static func getAssertion(_ item: CBORItem) -> Explanation {
    var explanation = Explanation("getAssertion reply")
    if let credential = item[1] { describe(credential, "credential", &explanation) }
    if let data = item[2], let inner = data.bytes {
      describe(inner, at: data.range.upperBound - inner.count, &explanation)
    }
    if let signature = item[3] {
      explanation.add(
        "signature", Hex.encode(signature.bytes ?? []), at: signature.range, "over authData and clientDataHash")
    }
    if let user = item[4] { describe(user, "user", &explanation) }
    if let count = item[5] { explanation.add("numberOfCredentials", text(count), at: count.range) }
    return explanation
  }

  private static func authenticatorData(_ bytes: [UInt8]) -> Explanation {
    var explanation = Explanation("authenticator data")
    describe(bytes, at: 0, &explanation)
    return explanation
  }

  private static func coseKey(_ item: CBORItem) -> Explanation {
    var explanation = Explanation("COSE key")
    describeKey(item, 0, &explanation)
    do {
      if case .es256(let key) = try CredentialPublicKey(cose: item) { explanation.publicKey = key.rawRepresentation }
    } catch { explanation.fault = error }
    return explanation
  }

  private static func signature(_ bytes: [UInt8]) -> Explanation {
    var explanation = Explanation("ECDSA signature")
    let size = bytes.count <= 72 ? 32 : bytes.count <= 104 ? 48 : 66
    do {
      let signature = try ECDSASignature(derRepresentation: bytes, byteCount: size)
      let start = bytes[1] == 0x81 ? 3 : 2
      let rEnd = start + 2 + Int(bytes[start + 1])
      explanation.add("r", Hex.encode(signature.r), at: start..<rEnd, "big-endian, padded to \(size) bytes")
      explanation.add("s", Hex.encode(signature.s), at: rEnd..<bytes.count, "big-endian, padded to \(size) bytes")
    } catch { explanation.fault = error }
    return explanation
  }

  private static func clientData(_ bytes: [UInt8]) -> Explanation? {
    var explanation = Explanation("client data")
    guard let json = try? JSONReader.parse(bytes) else {
      // With something wrong, it is client data when it has the members of it.
      guard let text = String(validating: bytes, as: UTF8.self), text.contains("\"challenge\""),
        text.contains("\"type\"")
      else { return nil }
      do { _ = try ClientData(parsing: bytes) } catch { explanation.fault = error }
      return explanation
    }
    guard json["challenge"] != nil, json["type"] != nil else { return nil }
    do { _ = try ClientData(parsing: bytes) } catch { explanation.fault = error }
    let meanings = [
      "type": "webauthn.create is a registration, webauthn.get a tap",
      "challenge": "what the key signed, in base64url", "origin": "where the ceremony ran",
      "crossOrigin": "whether it ran inside another site's page",
    ]
    for member in json.object ?? [] {
      explanation.add(
        printable(member.name), printable(String(decoding: bytes[member.value.range], as: UTF8.self)),
        at: member.value.range,
        meanings[member.name] ?? "")
    }
    if let challenge = json["challenge"]?.string, let raw = Base64.decode(challenge, .url) {
      explanation.add("challenge bytes", Hex.encode(raw), "\(raw.count) bytes")
    }
    explanation.add("clientDataHash", Hex.encode(SHA256.hash(bytes)), "SHA-256 of these bytes: what the key is shown")
    return explanation
  }

  private static func generic(_ item: CBORItem) -> Explanation {
    var explanation = Explanation("CBOR map")
    describe(item, "", &explanation)
    return explanation
  }
}

extension Unicode.Scalar {
  /// Part of a text as people write it.
  fileprivate var isReadable: Bool { value >= 0x20 && value != 0x7F || [0x09, 0x0A, 0x0D].contains(value) }
}
