// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// The lines that Seal writes to its log, subsystem `io.github.jasonepage.Seal`, category `webauthn`, for the same
/// bytes: what a tester finds on a phone can be compared word for word. Lengths, numbers and flags only.
public enum SealTelemetry {
  /// The line of a registration; nil where Seal fails before it logs anything.
  public static func register(attestationObject: [UInt8]) -> String? {
    guard let top = try? CBORDecoder.decode(attestationObject, profile: .seal) else { return nil }
    let format = top["fmt"]?.text ?? "?"
    guard let data = top["authData"]?.bytes else { return "register: no authData (fmt=\(format))" }
    let flags = flags(of: data)
    guard data.count > 37, flags.contains(.attestedCredentialData) else {
      return "register: AT flag unset (fmt=\(format) flags=\(flags.summary))"
    }
    guard data.count >= 55 else { return nil }
    let length = Int(data[53]) << 8 | Int(data[54])
    guard (1...1023).contains(length), length < data.count - 55,
      let key = try? CBORDecoder.decode(data, at: 55 + length, profile: .seal)
    else { return nil }
    let x = key[-2]?.bytes?.count ?? -1
    let y = key[-3]?.bytes?.count ?? -1
    return "register: fmt=\(format) \(algorithmName(key[3]?.int)) \(curveName(key[-1]?.int)) flags=\(flags.summary)"
      + " credIdLen=\(length) xLen=\(x) yLen=\(y)"
  }

  /// The line of an assertion under `publicKey`. The challenge is compared elsewhere in Seal, and logs nothing.
  public static func verify(
    authenticatorData: [UInt8], clientDataJSON: [UInt8], signature: [UInt8], publicKey: P256.Signing.PublicKey,
    rpID: String
  ) -> String {
    let flags = flags(of: authenticatorData).summary
    guard (try? ECDSASignature(derRepresentation: signature, byteCount: 32)) != nil else {
      return "verify: signature did not parse as DER ECDSA (sigLen=\(signature.count) flags=\(flags))"
    }
    guard publicKey.isValidSignature(signature, for: authenticatorData + SHA256.hash(clientDataJSON)) else {
      return "verify: signature parsed but did NOT match the directory public key"
        + " (authDataLen=\(authenticatorData.count) flags=\(flags))"
    }
    let violations = violations(authenticatorData, clientDataJSON, rpID)
    guard violations.isEmpty else {
      return "verify: signature OK but CONTEXT VIOLATION [\(violations.joined(separator: "; "))] enforcing=true"
    }
    return "verify: OK (flags=\(flags))"
  }

  /// What the line of a registration calls an algorithm.
  public static func algorithmName(_ algorithm: Int64?) -> String {
    switch algorithm {
    case -7: "ES256(P-256)"
    case -8: "EdDSA(Ed25519)"
    case -257: "RS256"
    case .some(let number): "alg(\(number))"
    case nil: "alg(absent)"
    }
  }

  /// What the line of a registration calls a curve.
  public static func curveName(_ curve: Int64?) -> String {
    switch curve {
    case 1: "P-256"
    case 6: "Ed25519"
    case .some(let number): "crv(\(number))"
    case nil: "crv(absent)"
    }
  }

  private static func flags(of data: [UInt8]) -> AuthenticatorFlags {
    AuthenticatorFlags(rawValue: data.count > 32 ? data[32] : 0)
  }

  private static func violations(_ data: [UInt8], _ json: [UInt8], _ rpID: String) -> [String] {
    guard data.count >= 37 else { return ["authenticatorData too short (\(data.count) bytes)"] }
    var found: [String] = []
    if Array(data.prefix(32)) != SHA256.hash(Array(rpID.utf8)) { found.append("rpIdHash is not SHA256 of \(rpID)") }
    if data[32] & 0x01 == 0 { found.append("User Present flag unset") }
    switch try? JSONReader.parse(json) {
    case .some(let value) where value.object != nil:
      switch value["type"]?.string {
      case "webauthn.get": break
      case .some(let other): found.append("clientData.type is \(other), not webauthn.get")
      case nil: found.append("clientData.type missing")
      }
    default: found.append("clientDataJSON did not parse as JSON")
    }
    return found
  }
}
