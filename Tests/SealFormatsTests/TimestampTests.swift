// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

@Suite(.arithmetic) struct TimestampTests {
  /// Made by `openssl ts` with a P-384 certificate of its own and SHA-512, over SHA-256 of "sealkey timestamp".
  private static let token = """
    MIIEPTADAgEAMIIENAYJKoZIhvcNAQcCoIIEJTCCBCECAQMxDzANBglghkgBZQMEAgMFADCBoAYLKoZIhvcNAQkQAQSggZAEgY0w
    gYoCAQEGAyoDBDAxMA0GCWCGSAFlAwQCAQUABCB2+fu0grnwbBH5UduiRuUTdcuYlpRJem7r0iYuwYyH7QIBAxgPMjAyNjExMzAw
    NzA5MzhaMAMCAQEBAf8CCA96Rg4D+KnwoCekJTAjMSEwHwYDVQQDDBhUZXN0IFRpbWVzdGFtcCBBdXRob3JpdHmgggHgMIIB3DCC
    AWKgAwIBAgIUK4gYz3IocQD+ulHmNMui7vaR4GIwCgYIKoZIzj0EAwIwIzEhMB8GA1UEAwwYVGVzdCBUaW1lc3RhbXAgQXV0aG9y
    aXR5MB4XDTI2MTEzMDA3MDY1OFoXDTM2MTEyNzA3MDY1OFowIzEhMB8GA1UEAwwYVGVzdCBUaW1lc3RhbXAgQXV0aG9yaXR5MHYw
    EAYHKoZIzj0CAQYFK4EEACIDYgAEUWW0Aj9AY8kLtLf1f8flQf98zbTLIgEQyeZ3i7lds7cDqtf7vsaac9YXw3V4ElcTe76sgN7X
    taEPNaBsMbuP13t19whnqTp/YCOXU3AG2jq5DuyKrTVRE1FzOWhZNvZao1cwVTAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIH
    gDAWBgNVHSUBAf8EDDAKBggrBgEFBQcDCDAdBgNVHQ4EFgQU+vtgG+pGKQOq7/W51Dmj5/Hkgl4wCgYIKoZIzj0EAwIDaAAwZQIw
    WZbBVvpuQ6a3hoCaCidimQvbSXbOYJ9iNPv5RwZ2B0jcdX266RImSncRPhPiUaSJAjEAxPRnNtJLGDXxCEDszrBDbAG+9R+WeMyY
    WjJfTK4qSC7zORhUVBB6tQOH2VVckpCsMYIBgjCCAX4CAQEwOzAjMSEwHwYDVQQDDBhUZXN0IFRpbWVzdGFtcCBBdXRob3JpdHkC
    FCuIGM9yKHEA/rpR5jTLou72keBiMA0GCWCGSAFlAwQCAwUAoIG4MBoGCSqGSIb3DQEJAzENBgsqhkiG9w0BCRABBDAcBgkqhkiG
    9w0BCQUxDxcNMjYxMTMwMDcwOTM4WjArBgsqhkiG9w0BCRACDDEcMBowGDAWBBTHEXpoNtuVubZvzt5vm3PlJnff0DBPBgkqhkiG
    9w0BCQQxQgRA+JFV6H7KRexjaz1leit9CCZ/3bgFpbAea9P9C1uuk2Tz5Rik7SZRHDNZ5MT7mXn2VhGeAY+KLZVMW9yO0HXQWTAK
    BggqhkjOPQQDBARmMGQCMEtaIawfVCXZ7M7UWAI1poNjt79V/pArphljiKq624ZuhbEzJceTgA4zG8ygNEyWMAIwEuh0dJSKXi5l
    x2Gqhqk6sxsnLBOOyxsF0EBtVnNB2Po/pgEBmLkI8Ujf4hT9kN14
    """
  private static let certificateHash = bytes(hex: "30bb610def2ec0bf0bd5e7e7946eea18b659fc009b03ba698a56c3c0e5e57a54")
  private static let time: Int64 = 1796022578
  private let digest = SHA256.hash(Array("sealkey timestamp".utf8))

  private func real() throws -> [UInt8] {
    try #require(Base64.decode(Self.token.filter { !$0.isWhitespace }))
  }

  private func fails(
    _ token: [UInt8], _ expected: String?, digest: [UInt8]? = nil, pins: Set<[UInt8]> = [certificateHash],
    demandsPin: Bool = true
  ) {
    let error = #expect(throws: TimestampError.self) {
      _ = try TimestampToken(verifying: token, digest: digest ?? self.digest, pins: pins, demandsPin: demandsPin)
    }
    if let expected { #expect(error?.name == expected) }
  }

  @Test func aTokenOfOpenSSL() throws {
    let token = try real()
    let good = try TimestampToken(verifying: token, digest: digest, pins: [Self.certificateHash])
    #expect(good.time == Self.time && good.certificateHash == Self.certificateHash && good.isPinned)
    fails(token, "timestampCertificateNotPinned", pins: TimestampToken.defaultPins)
    #expect(
      try !TimestampToken(verifying: token, digest: digest, pins: [], demandsPin: false).isPinned)
    fails(token, "timestampOfAnotherDigest", digest: SHA256.hash([]))
    fails(token + [0], "timestampMalformed")
    fails([UInt8](repeating: 0, count: 65_537), "timestampTooLarge")
    for end in token.indices { fails(Array(token[..<end]), "timestampMalformed") }
  }

  /// Every byte of the token, changed in each of two ways: nothing that is left is believed, but for what nobody signed.
  @Test func everyChangedByte() throws {
    let token = try real()
    var believed = 0
    for index in token.indices {
      for mask: UInt8 in [0x01, 0x80] {
        var changed = token
        changed[index] ^= mask
        let read = try? TimestampToken(verifying: changed, digest: digest, pins: [Self.certificateHash])
        if let read {
          // Unsigned: the status, the version numbers, the digest list, the signer's name. Never the time.
          #expect(read.time == Self.time)
          believed += 1
        }
      }
    }
    #expect(believed < 200)
  }

  @Test func tokensOfEveryShape() throws {
    let key = try P256.Signing.PrivateKey()
    var builder = TokenBuilder(key: key, digest: digest)
    let pins: Set<[UInt8]> = [SHA256.hash(builder.certificate)]
    let good = try TimestampToken(verifying: builder.token(), digest: digest, pins: pins)
    #expect(good.time == 1_800_000_000)
    func expectFailure(_ name: String, _ change: (inout TokenBuilder) -> Void) throws {
      builder = TokenBuilder(key: key, digest: digest)
      change(&builder)
      fails(try builder.token(), name, pins: pins)
    }
    builder.status = 1
    #expect(try TimestampToken(verifying: builder.token(), digest: digest, pins: pins).time == 1_800_000_000)
    try expectFailure("timestampNotGranted") { $0.status = 2 }
    try expectFailure("timestampMalformed") { $0.infoVersion = 2 }
    try expectFailure("timestampMalformed") { $0.imprintAlgorithm = OID.sha512 }
    try expectFailure("timestampMalformed") { $0.contentOID = OID.signedData }
    try expectFailure("timestampMalformed") { $0.time = "20270115080000" }
    try expectFailure("timestampMalformed") { $0.time = "20270229080000Z" }
    try expectFailure("timestampMalformed") { $0.time = "20270115080000.Z" }
    try expectFailure("timestampMalformed") { $0.signerCount = 2 }
    try expectFailure("timestampMalformed") { $0.signerCount = 0 }
    try expectFailure("timestampMalformed") { $0.hasCertificate = false }
    try expectFailure("timestampMalformed") { $0.digestAlgorithm = [0x2b] }
    try expectFailure("timestampMalformed") { $0.signatureAlgorithm = [0x2b] }
    try expectFailure("timestampMalformed") { $0.extraResponseParts = [[0x05, 0x00]] }
    try expectFailure("timestampAttributesDoNotFit") { $0.attributeCopies = 2 }
    try expectFailure("timestampAttributesDoNotFit") { $0.attributeCopies = 0 }
    try expectFailure("timestampAttributesDoNotFit") { $0.attributeDigest = SHA256.hash([]) }
    try expectFailure("timestampAttributesDoNotFit") { $0.attributeContentType = OID.signedData }
    try expectFailure("timestampSignatureDoesNotMatch") { $0.signsOtherTag = true }
    try expectFailure("timestampMalformed") { $0.extraAttributes = 63 }
    builder = TokenBuilder(key: key, digest: digest)
    // The key's own kind as signature algorithm: the hash is then the digest's.
    builder.signatureAlgorithm = OID.ecPublicKey
    builder.digestAlgorithm = OID.sha256
    #expect(try TimestampToken(verifying: builder.token(), digest: digest, pins: pins).isPinned)
    builder.time = "20270115080000.123Z"
    #expect(try TimestampToken(verifying: builder.token(), digest: digest, pins: pins).time == 1_800_000_000)
  }

  @Test(
    arguments: [
      ("19700101000000Z", 0), ("20000229235959Z", 951_868_799), ("20010101000000Z", 978_307_200),
      ("21000301000000Z", 4_107_542_400), ("99991231235959.5Z", 253_402_300_799), ("19691231235959Z", -1),
    ] as [(String, Int64)])
  func times(text: String, seconds: Int64) { #expect(GeneralizedTime.seconds(Array(text.utf8)) == seconds) }

  @Test(arguments: [
    "", "Z", "20270115080000+0100", "20271315080000Z", "20270015080000Z", "20270132080000Z", "20270115240000Z",
    "20270115086000Z", "20270115080060Z", "21000229000000Z", "00000101000000Z", "2027011508000aZ",
    "20270115080000.123456789012345678Z", "20270115080000,5Z",
  ])
  func badTimes(text: String) { #expect(GeneralizedTime.seconds(Array(text.utf8)) == nil) }

  @Test func lengthsOfDER() {
    for bad: [UInt8] in [
      [], [0x30], [0x30, 0x80, 0, 0], [0x30, 0x81, 0x01, 0], [0x30, 0x82, 0x00, 0x80], [0x30, 0x85, 1, 0, 0, 0, 0],
      [0x30, 0x84, 0xff, 0xff, 0xff, 0xff], [0x30, 0x01], [0x30, 0x00, 0x00], [0x1f, 0x81, 0x01, 0x00],
    ] { #expect(DERNode(bad[...]) == nil) }
    #expect(DERNode([0x30, 0x00])?.children?.count == 0)
    #expect(DERNode([0x30, 0x03, 0x02, 0x01])?.children == nil)
    #expect(DERNode([0x04, 0x00])?.children == nil)
    let full = TokenBuilder.element(0x30, [UInt8](repeatElement([0x05, 0x00] as [UInt8], count: 64).joined()))
    #expect(DERNode(full[...])?.children?.count == 64)
    let over = TokenBuilder.element(0x30, [UInt8](repeatElement([0x05, 0x00] as [UInt8], count: 65).joined()))
    #expect(DERNode(over[...])?.children == nil)
    #expect(DERNode([0x02, 0x02, 0x00, 0x01])?.smallInteger == nil)
    #expect(DERNode([0x02, 0x01, 0x80])?.smallInteger == nil)
  }
}

/// Makes a token as an authority would, with any one thing wrong.
struct TokenBuilder: ~Copyable {
  let key: P256.Signing.PublicKey
  private let sign: ([UInt8]) throws -> [UInt8]
  let digest: [UInt8]
  var status: UInt8 = 0
  var infoVersion: UInt8 = 1
  var imprintAlgorithm = OID.sha256
  var contentOID = OID.tstInfo
  var time = "20270115080000Z"
  var signerCount = 1
  var hasCertificate = true
  var digestAlgorithm = OID.sha512
  var signatureAlgorithm = OID.ecdsaSHA256
  var extraResponseParts: [[UInt8]] = []
  var attributeCopies = 1
  var attributeDigest: [UInt8]?
  var attributeContentType = OID.tstInfo
  var signsOtherTag = false
  var extraAttributes = 0

  init(key: borrowing P256.Signing.PrivateKey, digest: [UInt8]) {
    self.key = key.publicKey
    self.digest = digest
    let scalar = try? key.rawRepresentation().exposed()
    sign = { message in
      try P256.Signing.PrivateKey(rawRepresentation: SecretBytes(scalar ?? [])).signature(for: message)
    }
  }

  static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let length: [UInt8] =
      content.count < 0x80
      ? [UInt8(content.count)]
      : content.count < 0x100
        ? [0x81, UInt8(content.count)] : [0x82, UInt8(content.count >> 8), UInt8(content.count & 0xff)]
    return [tag] + length + content
  }

  private static func sequence(_ parts: [[UInt8]]) -> [UInt8] { element(0x30, Array(parts.joined())) }
  private static func oid(_ content: [UInt8]) -> [UInt8] { element(0x06, content) }

  /// Only as much of a certificate as a verifier by pin reads.
  var certificate: [UInt8] {
    let algorithm = Self.sequence([Self.oid(OID.ecPublicKey), Self.oid(OID.p256)])
    let info = Self.sequence([algorithm, Self.element(0x03, [0] + key.x963Representation)])
    let empty = Self.sequence([])
    let body = Self.sequence([
      Self.element(0xa0, [0x02, 0x01, 0x02]), [0x02, 0x01, 0x01], empty, empty, empty, empty, info,
    ])
    return Self.sequence([body, empty, Self.element(0x03, [0])])
  }

  func token() throws -> [UInt8] {
    let imprint = Self.sequence([
      Self.sequence([Self.oid(imprintAlgorithm), [0x05, 0x00]]), Self.element(0x04, digest),
    ])
    let info = Self.sequence([
      [0x02, 0x01, infoVersion], Self.oid([0x2a, 0x03]), imprint, [0x02, 0x01, 0x07],
      Self.element(0x18, Array(time.utf8)),
    ])
    func attribute(_ oid: [UInt8], _ value: [UInt8]) -> [UInt8] {
      Self.sequence([Self.oid(oid), Self.element(0x31, value)])
    }
    var attributes: [[UInt8]] = []
    for _ in 0..<attributeCopies {
      attributes.append(attribute(OID.contentType, Self.oid(attributeContentType)))
      attributes.append(attribute(OID.messageDigest, Self.element(0x04, attributeDigest ?? hash(info))))
    }
    for _ in 0..<extraAttributes { attributes.append(attribute([0x2a, 0x04], [0x05, 0x00])) }
    let body = Array(attributes.joined())
    let signature = try sign(Self.element(signsOtherTag ? 0xa0 : 0x31, body))
    let signer = Self.sequence([
      [0x02, 0x01, 0x01], Self.sequence([]), Self.sequence([Self.oid(digestAlgorithm)]), Self.element(0xa0, body),
      Self.sequence([Self.oid(signatureAlgorithm)]), Self.element(0x04, signature),
    ])
    var parts = [[0x02, 0x01, 0x03], Self.element(0x31, Self.sequence([Self.oid(digestAlgorithm)]))]
    parts.append(Self.sequence([Self.oid(contentOID), Self.element(0xa0, Self.element(0x04, info))]))
    if hasCertificate { parts.append(Self.element(0xa0, certificate)) }
    parts.append(Self.element(0x31, Array(repeatElement(signer, count: signerCount).joined())))
    let content = Self.sequence([Self.oid(OID.signedData), Self.element(0xa0, Self.sequence(parts))])
    return Self.sequence([Self.sequence([[0x02, 0x01, status]]), content] + extraResponseParts)
  }

  private func hash(_ info: [UInt8]) -> [UInt8] {
    digestAlgorithm == OID.sha512 ? SHA512.hash(info) : SHA256.hash(info)
  }
}
