// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// One change of something good, and the names of all problems that it must lead to, the first first; none when it is
/// accepted.
struct NamedChange<Parts>: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let names: [String]
  let change: @Sendable (inout Parts) -> Void

  init(_ what: String, _ names: String..., change: @escaping @Sendable (inout Parts) -> Void) {
    testDescription = what
    self.names = names
    self.change = change
  }
}

/// The parts of a registration, good until one of them is changed.
struct TestRegistration: Sendable {
  static let rpID = "sealmessenger.com"
  static let origin = "https://sealmessenger.com"

  var type = "webauthn.create"
  var challenge = [UInt8](repeating: 7, count: 32)
  /// The client data as it is sent; nil builds it from the members above.
  var clientDataJSON: [UInt8]?
  var reportedCredentialID: [UInt8]? = [UInt8](repeating: 9, count: 16)

  var rpIdHash = SHA256.hash(Array(rpID.utf8))
  var flags: UInt8 = 0x41
  var signCount: UInt32 = 1
  var aaguid = [UInt8](repeating: 0xaa, count: 16)
  var credentialID = [UInt8](repeating: 9, count: 16)
  /// The length as it is written; nil is the truth.
  var credentialIDLength: Int?
  /// The COSE key's members.
  var key: [(CBORValue, CBORValue)]
  /// The COSE key as it is written; nil is ``key``.
  var keyBytes: [UInt8]?
  /// What follows the key.
  var afterKey: [UInt8] = []
  /// The authenticator data as it is sent; nil builds it.
  var authenticatorDataOverride: [UInt8]?

  /// Members of the attestation object, in place of the usual three.
  var members: [(CBORValue, CBORValue)]?
  /// What follows the attestation object.
  var afterObject: [UInt8] = []

  let x: [UInt8]
  let y: [UInt8]

  init(publicKey: P256.Signing.PublicKey) {
    x = Array(publicKey.rawRepresentation.prefix(32))
    y = Array(publicKey.rawRepresentation.suffix(32))
    key = [(.int(1), .int(2)), (.int(3), .int(-7)), (.int(-1), .int(1)), (.int(-2), .bytes(x)), (.int(-3), .bytes(y))]
  }

  /// A registration of a key that is the same in every run.
  init() { self.init(publicKey: Self.fixedKey) }

  /// The generator of P-256: a valid point that needs no private key.
  static let fixedKey: P256.Signing.PublicKey = {
    let x = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    let y = "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
    do { return try P256.Signing.PublicKey(rawRepresentation: bytes(hex: x + y)) } catch { fatalError("\(error)") }
  }()

  mutating func setKey(_ label: Int, _ value: CBORValue?) {
    key.removeAll { if case .int(label) = Label($0.0) { true } else { false } }
    if let value { key.append((.int(label), value)) }
  }

  private enum Label {
    case int(Int), other
    init(_ value: CBORValue) {
      switch value {
      case .unsigned(let n): self = .int(Int(n))
      case .negative(let n): self = .int(-1 - Int(n))
      default: self = .other
      }
    }
  }

  var authenticatorData: [UInt8] {
    if let authenticatorDataOverride { return authenticatorDataOverride }
    let length = credentialIDLength ?? credentialID.count
    var out = rpIdHash + [flags] + withUnsafeBytes(of: signCount.bigEndian, Array.init)
    if flags & 0x40 != 0 {
      out += aaguid + [UInt8(length >> 8), UInt8(length & 255)] + credentialID
      out += keyBytes ?? CBORValue.encode(.map(key))
    }
    return out + afterKey
  }

  var attestationObject: [UInt8] {
    CBORValue.encode(
      .map(
        members ?? [
          (.text("fmt"), .text("none")), (.text("attStmt"), .map([])), (.text("authData"), .bytes(authenticatorData)),
        ])) + afterObject
  }

  var clientData: [UInt8] {
    clientDataJSON
      ?? Array(
        "{\"type\":\"\(type)\",\"challenge\":\"\(Base64.encode(challenge, .url))\",\"origin\":\"\(Self.origin)\",\"crossOrigin\":false}"
          .utf8)
  }
}

/// The parts of an assertion, good until one of them is changed. Signed when it is asked for.
struct TestAssertion: ~Copyable {
  let privateKey: P256.Signing.PrivateKey
  var parts = Parts()

  /// What is signed, and what is done to it afterwards.
  struct Parts: Sendable {
    var type = "webauthn.get"
    var challenge = [UInt8](repeating: 7, count: 32)
    var clientDataJSON: [UInt8]?
    var rpIdHash = SHA256.hash(Array(TestRegistration.rpID.utf8))
    var flags: UInt8 = 0x05
    var signCount: UInt32 = 8
    var afterCounter: [UInt8] = []
    var authenticatorDataOverride: [UInt8]?
    /// Applied to what goes out after signing.
    var changeData: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    var changeClientData: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    var changeSignature: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    var authenticatorData: [UInt8] {
      authenticatorDataOverride
        ?? rpIdHash + [flags] + withUnsafeBytes(of: signCount.bigEndian, Array.init) + afterCounter
    }

    var clientData: [UInt8] {
      clientDataJSON
        ?? Array(
          "{\"type\":\"\(type)\",\"challenge\":\"\(Base64.encode(challenge, .url))\",\"origin\":\"\(TestRegistration.origin)\",\"crossOrigin\":false}"
            .utf8)
    }
  }

  init() throws { privateKey = try P256.Signing.PrivateKey() }

  /// The assertion as it goes out.
  borrowing func answer() throws -> (authenticatorData: [UInt8], clientDataJSON: [UInt8], signature: [UInt8]) {
    let data = parts.authenticatorData
    let json = parts.clientData
    let signature = try privateKey.signature(for: data + SHA256.hash(json))
    return (parts.changeData(data), parts.changeClientData(json), parts.changeSignature(signature))
  }
}
