// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Format `tpm` (WebAuthn level 3 section 8.3; structures of TPM 2.0 part 2).
extension Statement {
  func tpm() -> Finding {
    do {
      guard item["ver"]?.text == "2.0" else { return Finding(.basic, [.member("ver")]) }
      let algorithm = try algorithm()
      let signature = try bytes("sig")
      let information = try bytes("certInfo")
      let area = try bytes("pubArea")
      let chain = try certificates()
      let key = try credentialKey()
      let problems =
        Self.areaProblems(area, key) + informationProblems(information, area, algorithm)
        + check(chain[0], algorithm, signature, over: information) + Self.certificateProblems(chain[0])
        + checkAAGUID(chain[0])
      return Finding(.basic, problems, chain)
    } catch { return Finding(.basic, [error]) }
  }

  /// Whether TPMT_PUBLIC describes the credential's key.
  static func areaProblems(_ area: [UInt8], _ key: CredentialPublicKey) -> [AttestationProblem] {
    var reader = TPMReader(area)
    do {
      let type = try reader.number(2, "type")
      _ = try reader.number(2, "nameAlg")
      _ = try reader.take(4, "objectAttributes")
      _ = try reader.sized("authPolicy")
      // Algorithm 0x0010 is TPM_ALG_NULL; any other brings its details along.
      if try reader.number(2, "symmetric") != 0x0010 { _ = try reader.take(4, "symmetric") }
      if try reader.number(2, "scheme") != 0x0010 { _ = try reader.take(2, "scheme") }
      let isSame: Bool
      switch type {
      case 0x0001:
        _ = try reader.take(2, "keyBits")
        let exponent = try reader.number(4, "exponent")
        let modulus = try reader.sized("unique")
        guard case .rs256(let n, let e) = key else { return [.keyMismatch] }
        isSame =
          modulus.elementsEqual(n.drop { $0 == 0 })
          && e.reduce(0) { $0 << 8 | UInt64($1) } == (exponent == 0 ? 65537 : exponent)
      case 0x0023:
        let curve = try reader.number(2, "curveID")
        _ = try reader.number(2, "kdf")
        let x = try reader.sized("unique.x")
        let y = try reader.sized("unique.y")
        isSame = isSamePoint(key, curve, x, y)
      default: return [.tpm("type")]
      }
      guard reader.isAtEnd else { return [.tpm("pubAreaTrailingBytes")] }
      return isSame ? [] : [.keyMismatch]
    } catch { return [error] }
  }

  private static func isSamePoint(_ key: CredentialPublicKey, _ curve: UInt64, _ x: [UInt8], _ y: [UInt8]) -> Bool {
    let (expected, raw): (UInt64, [UInt8])
    switch key {
    case .es256(let key): (expected, raw) = (0x0003, key.rawRepresentation)
    case .es384(let key): (expected, raw) = (0x0004, key.rawRepresentation)
    case .es512(let key): (expected, raw) = (0x0005, key.rawRepresentation)
    default: return false
    }
    // A TPM may leave leading zeros out.
    func padded(_ coordinate: [UInt8]) -> [UInt8] {
      [UInt8](repeating: 0, count: max(0, raw.count / 2 - coordinate.count)) + coordinate
    }
    return curve == expected && padded(x) + padded(y) == raw
  }

  /// Whether TPMS_ATTEST certifies `area` for this registration.
  private func informationProblems(
    _ information: [UInt8], _ area: [UInt8], _ algorithm: COSEAlgorithm
  ) -> [AttestationProblem] {
    var reader = TPMReader(information)
    var problems: [AttestationProblem] = []
    do {
      if try reader.number(4, "magic") != 0xff54_4347 { problems.append(.tpm("magic")) }
      if try reader.number(2, "type") != 0x8017 { return problems + [.tpm("type")] }
      _ = try reader.sized("qualifiedSigner")
      let extra = try reader.sized("extraData")
      if let expected = Self.hash(signedBytes, for: algorithm) {
        if extra != expected { problems.append(.nonceMismatch) }
      } else {
        problems.append(.algorithmUnknown(algorithm))
      }
      _ = try reader.take(17, "clockInfo")
      _ = try reader.take(8, "firmwareVersion")
      let name = try reader.sized("name")
      _ = try reader.sized("qualifiedName")
      if !reader.isAtEnd { problems.append(.tpm("certInfoTrailingBytes")) }
      if !Self.isName(name, of: area) { problems.append(.tpm("name")) }
      return problems
    } catch { return problems + [error] }
  }

  /// The hash that goes with a signature algorithm.
  private static func hash(_ message: [UInt8], for algorithm: COSEAlgorithm) -> [UInt8]? {
    switch algorithm.rawValue {
    case -7, -257: SHA256.hash(message)
    case -35: SHA384.hash(message)
    case -36: SHA512.hash(message)
    case -65535: SHA1.hash(message)
    default: nil
    }
  }

  /// A TPM name: the number of a hash, then that hash of the public area, whose nameAlg is the same.
  private static func isName(_ name: [UInt8], of area: [UInt8]) -> Bool {
    guard name.count > 2, area.count >= 4, name[..<2] == area[2..<4] else { return false }
    let digest: [UInt8]
    switch UInt16(name[0]) << 8 | UInt16(name[1]) {
    case 0x0004: digest = SHA1.hash(area)
    case 0x000b: digest = SHA256.hash(area)
    case 0x000c: digest = SHA384.hash(area)
    case 0x000d: digest = SHA512.hash(area)
    default: return false
    }
    return Array(name.dropFirst(2)) == digest
  }

  /// Whether alternative names hold the TPM's manufacturer, model and version, 2.23.133.2.1 to 2.23.133.2.3, in a
  /// directory name (TCG EK Credential Profile 2.0 section 3.2.9).
  private static func namesTPM(_ der: [UInt8]) -> Bool {
    let directories = (DERItem(der)?.children ?? []).filter { $0.isContext(4) }
    let attributes = directories.flatMap { $0.children ?? [] }.flatMap { $0.children ?? [] }
      .flatMap { $0.children ?? [] }.compactMap { $0.children?.first }
    return [UInt8](1...3).allSatisfy { last in
      attributes.contains { $0.isUniversal(6) && $0.contents == [0x67, 0x81, 0x05, 0x02, last] }
    }
  }

  /// Section 8.3.1: what a TPM attestation certificate must look like.
  private static func certificateProblems(_ certificate: Certificate) -> [AttestationProblem] {
    var broken: [String] = []
    if certificate.version != 3 { broken.append("version") }
    if !certificate.subject.isEmpty { broken.append("subject") }
    let names = certificate.extension("2.5.29.17")
    if names?.isCritical != true || !namesTPM(names?.value ?? []) { broken.append("subjectAltName") }
    // extendedKeyUsage holds tcg-kp-AIKCertificate, 2.23.133.8.3.
    let usages = certificate.extension("2.5.29.37").flatMap { DERItem($0.value)?.children } ?? []
    if !usages.contains(where: { $0.isUniversal(6) && $0.contents == [0x67, 0x81, 0x05, 0x08, 0x03] }) {
      broken.append("extendedKeyUsage")
    }
    if certificate.isAuthority { broken.append("basicConstraints") }
    return broken.map { .certificateRule($0) }
  }
}

/// Reads TPM structures: big-endian numbers, and bytes behind a 16-bit size.
private struct TPMReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func take(_ count: Int, _ what: String) throws(AttestationProblem) -> ArraySlice<UInt8> {
    guard count <= bytes.count - position else { throw .tpm(what) }
    defer { position += count }
    return bytes[position..<(position + count)]
  }

  mutating func number(_ count: Int, _ what: String) throws(AttestationProblem) -> UInt64 {
    try take(count, what).reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func sized(_ what: String) throws(AttestationProblem) -> [UInt8] {
    Array(try take(Int(try number(2, what)), what))
  }
}
