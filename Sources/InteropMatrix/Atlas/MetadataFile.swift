// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// A file of the FIDO Metadata Service: the signed BLOB (Metadata Service 3.0 section 3.1.7), or its decoded payload.
public struct MetadataFile: Sendable {
  /// The payload, as JSON.
  public let payload: [UInt8]
  /// Who signed it, for a person; nil for a decoded payload, which nobody vouches for.
  public let signer: String?

  /// Whom a signed BLOB must lead to.
  public struct Trust: Sendable {
    /// The roots.
    public var roots: [Certificate]
    /// The DNS name that the signing certificate must have; nil for any.
    public var host: String?
    /// These roots and this name.
    public init(roots: [Certificate], host: String?) {
      self.roots = roots
      self.host = host
    }
    /// The FIDO Alliance's own.
    public static var fido: Trust { Trust(roots: MetadataRoot.builtIn, host: MetadataRoot.host) }
  }

  /// Reads a file, and checks the signature and the certificates of a BLOB.
  /// - Parameter time: when the certificates must hold, in seconds since 1970; nil leaves their dates unchecked.
  /// - Throws: ``AtlasError``.
  public init(_ bytes: [UInt8], trust: Trust = .fido, at time: Int64?) throws(AtlasError) {
    // A BLOB is a JWS in its compact form (RFC 7515 section 7.1); its header is an object, in base64url.
    guard bytes.starts(with: "eyJ".utf8) else {
      (payload, signer) = (bytes, nil)
      return
    }
    guard bytes.count <= 64 << 20 else { throw .malformedBLOB("it is larger than 64 MiB") }
    let end = bytes.lastIndex { !Self.isSpace($0) } ?? 0
    let parts = bytes[...end].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw .malformedBLOB("it has \(parts.count) parts, not three") }
    guard let header = Self.decoded(parts[0]), let body = Self.decoded(parts[1]), let signature = Self.decoded(parts[2])
    else { throw .malformedBLOB("a part is not base64url") }
    guard let json = try? JSONReader.parse(header), let name = json["alg"]?.string else {
      throw .malformedBLOB("its header has no alg")
    }
    // Anything that must be understood and is not known here.
    guard json["crit"] == nil else { throw .malformedBLOB("its header has a member that is critical") }
    let chain = try Self.chain(json)
    do { try CertificatePath.verify(chain, roots: trust.roots, at: time) } catch { throw .untrusted(error) }
    if let host = trust.host, !Self.names(of: chain[0]).contains(host) { throw .otherSigner(Self.names(of: chain[0])) }
    guard let isGood = Self.verify(signature, over: Array(bytes[..<parts[1].endIndex]), chain[0], name) else {
      throw .algorithmUnknown(name.printable)
    }
    guard isGood else { throw .signatureDoesNotMatch }
    (payload, signer) = (body, chain[0].subject.text.printable)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  private static func decoded(_ part: ArraySlice<UInt8>) -> [UInt8]? {
    Base64.decode(String(decoding: part, as: UTF8.self), .url)
  }

  /// The header's certificates, the signing one first (RFC 7515 section 4.1.6).
  private static func chain(_ header: JSONValue) throws(AtlasError) -> [Certificate] {
    guard header["x5u"] == nil else { throw .malformedBLOB("its certificates are somewhere else (x5u)") }
    guard let list = header["x5c"]?.array, (1...10).contains(list.count) else {
      throw .malformedBLOB("its header has no x5c")
    }
    var chain: [Certificate] = []
    for item in list {
      guard let der = item.string.flatMap({ Base64.decode($0) }),
        let certificate = try? Certificate(derRepresentation: der)
      else { throw .malformedBLOB("a certificate cannot be read") }
      chain.append(certificate)
    }
    return chain
  }

  /// Checks a JWS signature (RFC 7518 section 3.1); nil for an algorithm that is not known.
  private static func verify(
    _ signature: [UInt8], over message: [UInt8], _ certificate: Certificate, _ algorithm: String
  ) -> Bool? {
    /// ECDSA signatures are r and s there, without DER.
    func ecdsa(_ count: Int, _ scheme: Certificate.SignatureScheme) -> Bool {
      guard signature.count == count, let pair = ECDSASignature(rawRepresentation: signature) else { return false }
      return certificate.isValidSignature(pair.derRepresentation, for: message, scheme)
    }
    switch algorithm {
    case "RS256": return certificate.isValidSignature(signature, for: message, .rs256)
    case "ES256": return ecdsa(64, .es256)
    case "ES384": return ecdsa(96, .es384)
    case "ES512": return ecdsa(132, .es512)
    default: return nil
    }
  }

  /// The DNS names that a certificate is for (RFC 5280 section 4.2.1.6).
  private static func names(of certificate: Certificate) -> [String] {
    let items = certificate.extension("2.5.29.17").flatMap { DERItem($0.value)?.children } ?? []
    return items.filter { $0.isContext(2) }.map { String(decoding: $0.contents, as: UTF8.self).printable }
  }
}
