// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// A verified RFC 3161 token: the digest existed no later than ``time``.
///
/// The rules are those of Seal's app: strict DER, one SignerInfo, ECDSA only, and a certificate that is pinned by the
/// SHA-256 of its DER. Chain, validity and extended key usage are not looked at: a pin says it all.
public struct TimestampToken: Sendable, Hashable {
  /// The largest token in bytes.
  public static let maximumSize = 65_536
  /// FreeTSA's P-384 certificate, in service since 2026-03-16: SHA-256 of its DER.
  public static let defaultPins: Set<[UInt8]> = [
    Hex.decode("8bfb0305bb64e2571ca507552ef3245cb1c2fee8728e0ff8689225081ea13467") ?? []
  ]

  /// genTime in seconds since 1970, its fraction dropped.
  public let time: Int64
  /// SHA-256 of the certificate that signed it, 32 bytes.
  public let certificateHash: [UInt8]
  /// Whether that certificate is pinned. Without a pin the token proves only that it is consistent with itself.
  public let isPinned: Bool

  /// Checks a whole TimeStampResp over a 32-byte digest, which is the imprint as it is.
  ///
  /// - Parameter demandsPin: refuse a token whose certificate is not pinned; otherwise it is checked against the
  ///   certificates that it carries, and ``isPinned`` is false.
  /// - Throws: ``TimestampError``.
  public init(
    verifying token: [UInt8], digest: [UInt8], pins: Set<[UInt8]> = Self.defaultPins, demandsPin: Bool = true
  ) throws(TimestampError) {
    let parsed = try ParsedToken(token)
    let info = try TSTInfo(parsed.content)
    guard info.imprint == digest else { throw .otherDigest }
    try parsed.signer.checkAttributes(content: parsed.content)
    let pinned = parsed.certificates.filter { pins.contains(SHA256.hash(Array($0.whole))) }
    guard !pinned.isEmpty || !demandsPin else { throw .certificateNotPinned }
    let candidates = pinned.isEmpty ? parsed.certificates : pinned
    guard let signer = candidates.first(where: { parsed.signer.isSigned(by: $0) }) else {
      throw .signatureDoesNotMatch
    }
    time = info.time
    certificateHash = SHA256.hash(Array(signer.whole))
    isPinned = !pinned.isEmpty
  }
}

/// A TimeStampResp taken apart: status, ContentInfo, SignedData (RFC 3161 section 2.4.2, RFC 5652 section 5).
private struct ParsedToken {
  let content: [UInt8]
  let certificates: [DERNode]
  let signer: SignerInfo

  init(_ token: [UInt8]) throws(TimestampError) {
    guard token.count <= TimestampToken.maximumSize else { throw .tooLarge(count: token.count) }
    guard let response = DERNode(token[...])?.children(tag: 0x30), response.count == 2,
      let status = response[0].children(tag: 0x30)?.first?.smallInteger
    else { throw .malformed(what: "it is not a response of a status and a token") }
    guard status <= 1 else { throw .notGranted(status: status) }
    guard let outer = response[1].children(tag: 0x30), outer.count == 2, outer[0].content(tag: 0x06) == OID.signedData,
      let wrapper = outer[1].children(tag: 0xa0), wrapper.count == 1, let signed = wrapper[0].children(tag: 0x30),
      signed.count >= 5, signed[0].smallInteger != nil, signed[1].tag == 0x31
    else { throw .malformed(what: "it holds no signed data") }
    guard let inner = signed[2].children(tag: 0x30), inner.count == 2, inner[0].content(tag: 0x06) == OID.tstInfo,
      let octets = inner[1].children(tag: 0xa0), octets.count == 1, let content = octets[0].content(tag: 0x04)
    else { throw .malformed(what: "it does not hold a timestamp") }
    guard let certificates = signed[3].children(tag: 0xa0), !certificates.isEmpty else {
      throw .malformed(what: "it holds no certificate")
    }
    var rest = signed[4...]
    if rest.first?.tag == 0xa1 { rest = rest.dropFirst() }
    guard rest.count == 1, let signers = rest.first?.children(tag: 0x31), signers.count == 1 else {
      throw .malformed(what: "it has not exactly one signer")
    }
    self.content = content
    self.certificates = certificates
    signer = try SignerInfo(signers[0])
  }
}

/// The one SignerInfo (RFC 5652 section 5.3).
private struct SignerInfo {
  private enum Hash { case sha256, sha384, sha512 }

  private let attributes: DERNode
  private let digestAlgorithm: Hash
  private let signatureHash: Hash
  private let signature: [UInt8]

  init(_ node: DERNode) throws(TimestampError) {
    guard let parts = node.children(tag: 0x30), (6...7).contains(parts.count), parts[0].smallInteger != nil,
      let digestOID = parts[2].children(tag: 0x30)?.first?.content(tag: 0x06), let digest = Self.digest(digestOID),
      parts[3].tag == 0xa0, let signatureOID = parts[4].children(tag: 0x30)?.first?.content(tag: 0x06),
      let signature = parts[5].content(tag: 0x04), parts.count == 6 || parts[6].tag == 0xa1
    else { throw .malformed(what: "its signer does not read") }
    attributes = parts[3]
    digestAlgorithm = digest
    self.signature = signature
    switch signatureOID {
    case OID.ecdsaSHA256: signatureHash = .sha256
    case OID.ecdsaSHA384: signatureHash = .sha384
    case OID.ecdsaSHA512: signatureHash = .sha512
    // Some authorities name the key's own kind; the hash is then the digest's.
    case OID.ecPublicKey: signatureHash = digest
    default: throw .malformed(what: "its signature is not ECDSA")
    }
  }

  private static func digest(_ oid: [UInt8]) -> Hash? {
    switch oid {
    case OID.sha256: .sha256
    case OID.sha384: .sha384
    case OID.sha512: .sha512
    default: nil
    }
  }

  /// contentType and messageDigest must be there once each, and be right.
  func checkAttributes(content: [UInt8]) throws(TimestampError) {
    var types: [[UInt8]] = []
    var digests: [[UInt8]] = []
    guard let all = attributes.children else { throw .malformed(what: "its signed attributes do not read") }
    for attribute in all {
      guard let parts = attribute.children(tag: 0x30), parts.count == 2, let oid = parts[0].content(tag: 0x06),
        let values = parts[1].children(tag: 0x31)
      else { throw .malformed(what: "a signed attribute does not read") }
      guard oid == OID.contentType || oid == OID.messageDigest else { continue }
      guard values.count == 1 else { throw .attributesDoNotFit }
      if oid == OID.contentType {
        types.append(values[0].content(tag: 0x06) ?? [])
      } else {
        digests.append(values[0].content(tag: 0x04) ?? [])
      }
    }
    let digest =
      switch digestAlgorithm {
      case .sha256: SHA256.hash(content)
      case .sha384: SHA384.hash(content)
      case .sha512: SHA512.hash(content)
      }
    guard types == [OID.tstInfo], digests == [digest] else { throw .attributesDoNotFit }
  }

  /// Whether the certificate's key signed the attributes, which are signed as the SET that they are.
  func isSigned(by certificate: DERNode) -> Bool {
    let message = [0x31] + attributes.whole.dropFirst()
    guard let key = ECKey(certificate: certificate) else { return false }
    switch key.curve {
    case OID.p256:
      guard let key = try? P256.Signing.PublicKey(x963Representation: key.point) else { return false }
      return verify { key.isValidSignature(signature, for: message, hashedWith: $0) }
    case OID.p384:
      guard let key = try? P384.Signing.PublicKey(x963Representation: key.point) else { return false }
      return verify { key.isValidSignature(signature, for: message, hashedWith: $0) }
    case OID.p521:
      guard let key = try? P521.Signing.PublicKey(x963Representation: key.point) else { return false }
      return verify { key.isValidSignature(signature, for: message, hashedWith: $0) }
    default: return false
    }
  }

  private func verify(_ body: (any DigestAlgorithm.Type) -> Bool) -> Bool {
    switch signatureHash {
    case .sha256: body(DigestAlgorithms.SHA256.self)
    case .sha384: body(DigestAlgorithms.SHA384.self)
    case .sha512: body(DigestAlgorithms.SHA512.self)
    }
  }
}

/// The elliptic-curve key of a certificate (RFC 5280 section 4.1, RFC 5480).
private struct ECKey {
  let curve: [UInt8]
  let point: [UInt8]

  init?(certificate: DERNode) {
    guard var fields = certificate.children(tag: 0x30)?.first?.children(tag: 0x30) else { return nil }
    if fields.first?.tag == 0xa0 { fields.removeFirst() }
    // serialNumber, signature, issuer, validity, subject, then the key.
    guard fields.count >= 6, let info = fields[5].children(tag: 0x30), info.count == 2,
      let algorithm = info[0].children(tag: 0x30), algorithm.count == 2,
      algorithm[0].content(tag: 0x06) == OID.ecPublicKey, let curve = algorithm[1].content(tag: 0x06),
      let bits = info[1].content(tag: 0x03), bits.first == 0
    else { return nil }
    self.curve = curve
    point = Array(bits.dropFirst())
  }
}

/// What was signed: whose digest, and when (RFC 3161 section 2.4.2).
private struct TSTInfo {
  let imprint: [UInt8]
  let time: Int64

  init(_ content: [UInt8]) throws(TimestampError) {
    guard let fields = DERNode(content[...])?.children(tag: 0x30), fields.count >= 5, fields[0].smallInteger == 1,
      fields[1].tag == 0x06, let imprint = fields[2].children(tag: 0x30), imprint.count == 2,
      imprint[0].children(tag: 0x30)?.first?.content(tag: 0x06) == OID.sha256,
      let digest = imprint[1].content(tag: 0x04), fields[3].tag == 0x02, let text = fields[4].content(tag: 0x18)
    else { throw .malformed(what: "its timestamp does not read") }
    guard let time = GeneralizedTime.seconds(text) else { throw .malformed(what: "its time does not read") }
    self.imprint = digest
    self.time = time
  }
}

/// `YYYYMMDDhhmmss[.f]Z`, a date that exists, at most 32 characters; the fraction is dropped.
enum GeneralizedTime {
  static func seconds(_ text: [UInt8]) -> Int64? {
    guard (15...32).contains(text.count), text.last == UInt8(ascii: "Z") else { return nil }
    let body = text.dropLast()
    guard body.prefix(14).allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    let fraction = body.dropFirst(14)
    if !fraction.isEmpty {
      guard fraction.first == UInt8(ascii: "."), fraction.count >= 2,
        fraction.dropFirst().allSatisfy({ (0x30...0x39).contains($0) })
      else { return nil }
    }
    func number(_ from: Int, _ count: Int) -> Int64 {
      body[from..<(from + count)].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
    let (year, month, day) = (number(0, 4), number(4, 2), number(6, 2))
    let (hour, minute, second) = (number(8, 2), number(10, 2), number(12, 2))
    guard year >= 1, (1...12).contains(month), (1...days(month, year)).contains(day), hour < 24, minute < 60,
      second < 60
    else { return nil }
    return days(since1970: year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
  }

  private static func days(_ month: Int64, _ year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970-01-01 in the Gregorian calendar, counted from a year that begins in March.
  static func days(since1970 year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let marchMonth = (month + 9) % 12
    let leapDays = shifted / 4 - shifted / 100 + shifted / 400
    return shifted * 365 + leapDays + (marchMonth * 153 + 2) / 5 + day - 1 - 719_468
  }
}
