// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Verifies attestation statements (WebAuthn level 3 section 8) and where their certificates lead.
public struct AttestationVerifier: Sendable {
  /// The roots that are trusted, for the model at hand.
  public var roots: [Certificate]
  /// When certificates must be valid, in seconds since 1970; nil leaves their dates unchecked.
  public var time: Int64?

  /// With these roots.
  public init(roots: [Certificate] = [], time: Int64? = nil) {
    self.roots = roots
    self.time = time
  }

  /// What the statement in `object` proves. Never throws: whatever is wrong is in the report.
  public func report(_ object: AttestationObject, clientDataHash: [UInt8]) -> AttestationReport {
    let statement = Statement(object: object, clientDataHash: clientDataHash)
    let (finding, format): (Finding, String) =
      switch object.format {
      case "none": (statement.none(), object.format)
      case "packed": (statement.packed(), object.format)
      case "fido-u2f": (statement.fidoU2F(), object.format)
      case "apple": (statement.apple(), object.format)
      case "android-key": (statement.androidKey(), object.format)
      case "tpm": (statement.tpm(), object.format)
      default: (Finding(.unknown, [.formatUnknown(object.format)]), object.format)
      }
    return AttestationReport(
      format: format, kind: finding.kind, problems: finding.problems, certificates: finding.certificates,
      trust: trust(finding.certificates))
  }

  private func trust(_ chain: [Certificate]) -> AttestationReport.Trust {
    guard !chain.isEmpty else { return .notApplicable }
    guard !roots.isEmpty else { return .notChecked }
    do { try CertificatePath.verify(chain, roots: roots, at: time) } catch { return .untrusted(error) }
    return .trusted
  }
}

/// What one format's check found.
struct Finding {
  var kind: AttestationReport.Kind
  var problems: [AttestationProblem]
  var certificates: [Certificate] = []

  init(_ kind: AttestationReport.Kind, _ problems: [AttestationProblem] = [], _ certificates: [Certificate] = []) {
    self.kind = kind
    self.problems = problems
    self.certificates = certificates
  }
}

/// A statement with what it is about.
struct Statement {
  let object: AttestationObject
  let clientDataHash: [UInt8]

  var item: CBORItem { object.statement }
  /// What most formats sign.
  var signedBytes: [UInt8] { object.authenticatorDataBytes + clientDataHash }
  var attested: AuthenticatorData.AttestedCredentialData? { object.authenticatorData.attestedCredentialData }

  func none() -> Finding { Finding(.none, item.map?.isEmpty == true ? [] : [.noneNotEmpty]) }

  /// A member that must be bytes.
  func bytes(_ name: String) throws(AttestationProblem) -> [UInt8] {
    guard let bytes = item[name]?.bytes else { throw .member(name) }
    return bytes
  }

  /// The member `alg`.
  func algorithm() throws(AttestationProblem) -> COSEAlgorithm {
    guard let number = item["alg"]?.int else { throw .member("alg") }
    return COSEAlgorithm(rawValue: number)
  }

  /// The member `x5c`: at least one certificate, at most ten.
  func certificates() throws(AttestationProblem) -> [Certificate] {
    guard let list = item["x5c"]?.array, (1...10).contains(list.count) else { throw .member("x5c") }
    var found: [Certificate] = []
    for element in list {
      guard let der = element.bytes else { throw .member("x5c") }
      do { found.append(try Certificate(derRepresentation: der)) } catch { throw .certificate(error) }
    }
    return found
  }

  /// The credential's key.
  func credentialKey() throws(AttestationProblem) -> CredentialPublicKey {
    guard let attested else { throw .member("authData") }
    do { return try CredentialPublicKey(cose: attested.publicKeyItem) } catch { throw .publicKey(error) }
  }

  /// Checks a certificate's signature.
  func check(
    _ certificate: Certificate, _ algorithm: COSEAlgorithm, _ signature: [UInt8], over message: [UInt8]
  ) -> [AttestationProblem] {
    guard let scheme = algorithm.certificateScheme else { return [.algorithmUnknown(algorithm)] }
    return certificate.isValidSignature(signature, for: message, scheme) ? [] : [.signatureDoesNotMatch]
  }

  /// The AAGUID extension id-fido-gen-ce-aaguid, where there is one (section 8.2.1).
  func checkAAGUID(_ certificate: Certificate) -> [AttestationProblem] {
    guard let found = certificate.extension("1.3.6.1.4.1.45724.1.1.4") else { return [] }
    var problems: [AttestationProblem] = []
    if found.isCritical { problems.append(.certificateRule("aaguidExtensionCritical")) }
    guard let inner = DERItem(found.value), inner.isUniversal(4), inner.contents.count == 16 else {
      return problems + [.certificateRule("aaguidExtension")]
    }
    if inner.contents != attested?.aaguid { problems.append(.aaguidMismatch) }
    return problems
  }

  /// Whether the certificate holds the credential's key.
  func checkKey(_ certificate: Certificate, _ key: CredentialPublicKey) -> [AttestationProblem] {
    let isSame =
      switch key {
      case .es256(let key): certificate.holds(key)
      case .es384(let key): certificate.holds(key)
      case .es512(let key): certificate.holds(key)
      case .ed25519(let key): certificate.holds(key)
      case .rs256(let n, let e): certificate.holdsRSA(modulus: n, exponent: e)
      case .ed448, .mlDSA, .other: false
      }
    return isSame ? [] : [.keyMismatch]
  }
}

extension COSEAlgorithm {
  /// How a certificate's key signs under this algorithm; nil when it is not verified here.
  var certificateScheme: Certificate.SignatureScheme? {
    switch rawValue {
    case -7: .es256
    case -35: .es384
    case -36: .es512
    case -8: .edDSA
    case -257: .rs256
    case -65535: .rs1
    default: nil
    }
  }
}
