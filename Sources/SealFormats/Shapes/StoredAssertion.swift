// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A WebAuthn assertion as Seal keeps it: four members, all padded base64.
public struct StoredAssertion: SealShape, Hashable {
  public static let shapeName = "stored assertion"

  /// The credential ID the client reported. It is an unsigned neighbour of the signature: a wrong one does not make
  /// a good assertion bad.
  public var credentialID: [UInt8]
  /// The exact bytes the client hashed.
  public var clientDataJSON: [UInt8]
  /// authData as the key signed it, at least 37 bytes when it is good.
  public var authenticatorData: [UInt8]
  /// ECDSA P-256, DER.
  public var signature: [UInt8]

  /// All members at once.
  public init(credentialID: [UInt8], clientDataJSON: [UInt8], authenticatorData: [UInt8], signature: [UInt8]) {
    self.credentialID = credentialID
    self.clientDataJSON = clientDataJSON
    self.authenticatorData = authenticatorData
    self.signature = signature
  }

  /// What a key answered. User handle and extension outputs are not kept.
  public init(_ response: AssertionResponse) {
    self.init(
      credentialID: response.credentialID, clientDataJSON: response.clientDataJSON,
      authenticatorData: response.authenticatorData, signature: response.signature)
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    credentialID = try m.base64("credentialID")
    clientDataJSON = try m.base64("clientDataJSON")
    authenticatorData = try m.base64("authenticatorData")
    signature = try m.base64("signature")
  }

  public var json: JSONValue {
    .object([
      ("credentialID", .base64(credentialID)), ("clientDataJSON", .base64(clientDataJSON)),
      ("authenticatorData", .base64(authenticatorData)), ("signature", .base64(signature)),
    ])
  }

  /// Reads the capsule's own form: hexadecimal, and base64 for the client data.
  public init(capsuleJSON: JSONValue) throws(FormatError) {
    let m = try MemberReader(capsuleJSON, Self.shapeName)
    credentialID = try m.hex("credentialIDHex")
    clientDataJSON = try m.base64("clientDataJSONBase64")
    authenticatorData = try m.hex("authenticatorDataHex")
    signature = try m.hex("signatureHex")
  }

  /// The capsule's own form.
  public var capsuleJSON: JSONValue {
    .object([
      ("authenticatorDataHex", .hex(authenticatorData)), ("clientDataJSONBase64", .base64(clientDataJSON)),
      ("credentialIDHex", .hex(credentialID)), ("signatureHex", .hex(signature)),
    ])
  }
}
