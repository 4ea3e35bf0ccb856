// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// The virtual key's attestation: a leaf certificate for each model, under one root that says it is virtual.
///
/// Both private keys are derived from fixed text, so anybody can make them: they prove nothing, which is the
/// point. An attestation under this root means "simulated", never "genuine".
public struct VirtualAttestation: Sendable {
  /// The certificate of the attestation key, DER.
  public let certificate: [UInt8]
  private let aaguid: [UInt8]

  /// The attestation of a model.
  /// - Throws: ``CryptoError`` when libcrypto fails.
  public init(aaguid: [UInt8]) throws(CryptoError) {
    self.aaguid = aaguid
    let root = try Self.key("root")
    let leaf = try Self.key("leaf " + Hex.encode(aaguid))
    certificate = try Self.leafCertificate(leaf.publicKey, issuedBy: root, aaguid: aaguid)
  }

  /// A DER signature by the attestation key.
  func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
    try Self.key("leaf " + Hex.encode(aaguid)).signature(for: message)
  }

  /// The self-signed root certificate, DER. Its key never changes; the signature on it does.
  /// - Throws: ``CryptoError`` when libcrypto fails.
  public static func rootCertificate() throws(CryptoError) -> [UInt8] {
    let root = try key("root")
    return try signed(
      by: root, subject: name(rootCommonName), publicKey: root.publicKey, serial: [1],
      extensions: [
        ext([2, 5, 29, 19], critical: true, DER.sequence(DER.yes, DER.integer([0]))),
        // keyCertSign
        ext([2, 5, 29, 15], critical: true, DER.bits([0x04], unused: 2)),
        ext([2, 5, 29, 14], DER.octets(keyIdentifier(root.publicKey))),
      ])
  }

  private static let rootCommonName = "Virtual attestation root"

  /// Derived from public text on purpose.
  private static func key(_ label: String) throws(CryptoError) -> P256.Signing.PrivateKey {
    let scalar = SecretBytes(SHA256.hash(Array("sealkey virtual attestation, public on purpose: \(label)".utf8)))
    return try P256.Signing.PrivateKey(rawRepresentation: scalar)
  }

  /// WebAuthn level 3 section 8.2.1.
  private static func leafCertificate(
    _ publicKey: P256.Signing.PublicKey, issuedBy root: borrowing P256.Signing.PrivateKey, aaguid: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    try signed(
      by: root, subject: name("Virtual key \(Hex.encode(aaguid))"), publicKey: publicKey,
      serial: [1] + SHA256.hash(aaguid).prefix(8),
      extensions: [
        ext([2, 5, 29, 19], critical: true, DER.sequence()),
        ext([2, 5, 29, 35], DER.sequence(DER.tlv(0x80, keyIdentifier(root.publicKey)))),
        // id-fido-gen-ce-aaguid
        ext([1, 3, 6, 1, 4, 1, 45724, 1, 1, 4], DER.octets(aaguid)),
      ])
  }

  private static func signed(
    by issuer: borrowing P256.Signing.PrivateKey, subject: [UInt8], publicKey: P256.Signing.PublicKey,
    serial: [UInt8], extensions: [[UInt8]]
  ) throws(CryptoError) -> [UInt8] {
    let ecdsaWithSHA256 = DER.sequence(DER.oid([1, 2, 840, 10045, 4, 3, 2]))
    let body = DER.sequence(
      DER.explicit(0, DER.integer([2])), DER.integer(serial), ecdsaWithSHA256, name(rootCommonName),
      DER.sequence(DER.utcTime("240101000000Z"), DER.generalizedTime("20991231235959Z")), subject,
      DER.sequence(
        DER.sequence(DER.oid([1, 2, 840, 10045, 2, 1]), DER.oid([1, 2, 840, 10045, 3, 1, 7])),
        DER.bits(publicKey.x963Representation)),
      DER.explicit(3, DER.sequence(extensions.flatMap { $0 })))
    return DER.sequence(body, ecdsaWithSHA256, DER.bits(try issuer.signature(for: body)))
  }

  private static func name(_ commonName: String) -> [UInt8] {
    func part(_ attribute: UInt, _ value: [UInt8]) -> [UInt8] {
      DER.set(DER.sequence(DER.oid([2, 5, 4, attribute]), value))
    }
    return DER.sequence(
      // AA: a code that ISO 3166 leaves to users, so no country's.
      part(6, DER.printable("AA")), part(10, DER.utf8(SimulatedKey.organization)),
      part(11, DER.utf8("Authenticator Attestation")), part(3, DER.utf8(commonName)))
  }

  private static func ext(_ oid: [UInt], critical: Bool = false, _ value: [UInt8]) -> [UInt8] {
    DER.sequence(DER.oid(oid), critical ? DER.yes : [], DER.octets(value))
  }

  /// Any stable identifier of the key will do (RFC 5280 section 4.2.1.2).
  private static func keyIdentifier(_ key: P256.Signing.PublicKey) -> [UInt8] {
    Array(SHA256.hash(key.x963Representation).prefix(20))
  }
}
