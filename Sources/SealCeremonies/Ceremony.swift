// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// The acts of people with their keys. Each builds what is signed from typed fields, asks the key, and verifies its own
/// result before it hands anything out.
public struct Ceremony: Sendable {
  let key: any CeremonyKey
  /// UV preferred, as Seal asks for everywhere; discouraged when the person said so.
  let userVerification: UserVerificationRequirement

  /// Acts with `key`.
  public init(key: any CeremonyKey, userVerification: UserVerificationRequirement = .preferred) {
    self.key = key
    self.userVerification = userVerification
  }

  /// A root credential that was just made and verified.
  public struct Registered: Sendable {
    /// The record that stands for the person.
    public var record: DirectoryRecord
    /// What the key and the client said.
    public let response: RegistrationResponse
    /// What was asked.
    public let challenge: [UInt8]
    /// What Seal's log line says of a registration.
    public let telemetry: RegistrationTelemetry

    /// Whether the key says that the credential can give secrets.
    var hasPRF: Bool {
      guard let object = try? AttestationObject(parsing: response.attestationObject),
        let data = try? AuthenticatorData(parsing: object.authenticatorDataBytes)
      else { return false }
      return data.extensions?["hmac-secret"]?.bool == true
    }
  }

  /// Registers: makes a root credential for `name` (FORMATS.md 2). One touch.
  ///
  /// - Parameter enablesPRF: the credential must be able to give secrets; `prfUnsupported` when it is not.
  /// - Throws: ``CeremonyError``, or what the key throws.
  public func register(
    name: String, excludeList: [CredentialDescriptor] = [], enablesPRF: Bool = false
  ) async throws -> Registered {
    try Self.checkName(name)
    let capabilities = try await key.capabilities()
    guard capabilities.supportsES256 else { throw CeremonyError.unsupportedKey(name: capabilities.name) }
    let challenge = Random.bytes(32)
    let response = try await key.makeCredential(
      RegistrationRequest(
        rpID: Seal.relyingPartyID, rpName: Seal.relyingPartyName, origin: Seal.origin, challenge: challenge,
        userID: Random.bytes(16), userName: name, userDisplayName: name, excludeList: excludeList,
        userVerification: userVerification, enablesPRF: enablesPRF))
    let registered = try Self.verify(
      response, challenge: challenge, name: name,
      requiresUserVerification: capabilities.canVerifyUser && userVerification != .discouraged)
    // A key can promise hmac-secret and then not enable it.
    if enablesPRF, !registered.hasPRF { throw CeremonyError.prfUnsupported(name: capabilities.name) }
    return registered
  }

  /// A name that Seal, a key and a terminal can take.
  static func checkName(_ name: String) throws(CeremonyError) {
    guard (1...64).contains(name.utf8.count), !name.allSatisfy(\.isWhitespace),
      !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { throw .badName }
  }

  /// Checks a registration as Seal and as WebAuthn do, and makes the record.
  static func verify(
    _ response: RegistrationResponse, challenge: [UInt8], name: String, tier: Tier = .verified,
    requiresUserVerification: Bool
  ) throws -> Registered {
    let verified: RegistrationVerifier.Verified
    do {
      verified = try RegistrationVerifier(
        rpID: Seal.relyingPartyID, challenge: challenge, origins: [Seal.origin],
        requiresUserVerification: requiresUserVerification
      ).verify(
        attestationObject: response.attestationObject, clientDataJSON: response.clientDataJSON,
        credentialID: response.credentialID)
    } catch { throw CeremonyError.verificationFailed(error.problems) }
    let seal: SealRegistration
    do { seal = try SealRegistration(attestationObject: response.attestationObject) } catch {
      throw CeremonyError.unreadableBySeal(error)
    }
    // The root hash comes from the client's ID; RegistrationVerifier has compared it with the key's own.
    let record = DirectoryRecord(
      identity: RootIdentity(
        credentialID: response.credentialID, publicKey: seal.publicKey.rawRepresentation, tier: tier,
        displayName: name))
    return Registered(
      record: record, response: response, challenge: challenge,
      telemetry: RegistrationTelemetry(verified))
  }

  /// Has the root of `record` sign `statement`, and verifies the answer. One touch.
  /// - Throws: ``CeremonyError``, or what the key throws.
  public func sign(_ statement: Statement, as record: DirectoryRecord) async throws -> Signed {
    guard let credentialID = record.credentialID else { throw CeremonyError.missingCredentialID }
    do {
      return try await sign(statement, credentialID: credentialID, under: try rootKey(record))
    } catch let error as any NamedError where error.name == "notOnThisKey" {
      throw CeremonyError.notTheirKey(name: record.displayName)
    }
  }

  /// Has one credential sign `statement`, and verifies the answer under its key. One touch.
  func sign(
    _ statement: Statement, credentialID: [UInt8], under publicKey: P256.Signing.PublicKey
  ) async throws -> Signed {
    let response = try await ask(
      challenge: try statement.commitment().digest, credentialID: credentialID, under: publicKey,
      userVerification: userVerification)
    return Signed(statement: statement, assertion: StoredAssertion(response), evidence: response.evidence)
  }

  /// Asks one credential, and verifies the answer under its key. One touch.
  func ask(
    challenge: [UInt8], credentialID: [UInt8], under publicKey: P256.Signing.PublicKey,
    userVerification: UserVerificationRequirement, salts: PRFSalts? = nil
  ) async throws -> AssertionResponse {
    let response = try await key.getAssertion(
      AssertionRequest(
        rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: challenge,
        allowList: [CredentialDescriptor(id: credentialID)], userVerification: userVerification, prfSalts: salts))
    guard response.credentialID == credentialID else { throw CeremonyError.unexpectedCredential }
    try Self.check(
      response, challenge: challenge, under: publicKey, requiresUserVerification: userVerification == .required)
    return response
  }

  /// Checks an answer as Seal and as WebAuthn do.
  ///
  /// - Parameter backupEligible: the BE flag at registration, where it is known: it never changes.
  static func check(
    _ response: AssertionResponse, challenge: [UInt8], under publicKey: P256.Signing.PublicKey,
    requiresUserVerification: Bool = false, backupEligible: Bool? = nil
  ) throws(CeremonyError) {
    let problems = AssertionVerifier(
      rpID: Seal.relyingPartyID, challenge: challenge, origins: [Seal.origin],
      requiresUserVerification: requiresUserVerification, backupEligibleAtRegistration: backupEligible
    ).problems(
      authenticatorData: response.authenticatorData, clientDataJSON: response.clientDataJSON,
      signature: response.signature, publicKey: .es256(publicKey))
    guard problems.allSatisfy(\.isWarning) else { throw .verificationFailed(problems) }
  }

  /// The root's key.
  func rootKey(_ record: DirectoryRecord) throws(CeremonyError) -> P256.Signing.PublicKey {
    do { return try P256.Signing.PublicKey(rawRepresentation: record.publicKey) } catch { throw .badRootKey }
  }

  /// A statement that a root has just signed, verified.
  public struct Signed: Sendable {
    /// What was signed.
    public let statement: Statement
    /// The tap.
    public let assertion: StoredAssertion
    /// What answered.
    public let evidence: KeyEvidence
  }

  /// Endorses a device: `devicePublicKey` (65 bytes) speaks for the person and may be wrapped to with `kemBundle` (32 or
  /// 1,220 bytes). One touch.
  /// - Throws: ``CeremonyError``, or what the key throws.
  public func endorse(
    devicePublicKey: [UInt8], kemBundle: [UInt8], as record: DirectoryRecord, at time: SealDate
  ) async throws -> (endorsement: DeviceEndorsement, signed: Signed) {
    try Self.checkNotRevoked(devicePublicKey, of: record)
    let signed = try await sign(.endorse(devicePublicKey: devicePublicKey, kemBundle: kemBundle), as: record)
    let endorsement = DeviceEndorsement(
      devicePublicKey: devicePublicKey, kemBundlePublicKeys: kemBundle, assertion: signed.assertion, createdAt: time)
    return (endorsement, signed)
  }

  /// A revocation is for good: no touch makes the device speak again.
  /// - Throws: ``CeremonyError/deviceStaysRevoked``, ``CeremonyError/badRootKey``.
  public static func checkNotRevoked(_ devicePublicKey: [UInt8], of record: DirectoryRecord) throws(CeremonyError) {
    let revoked: Set<[UInt8]>
    do { revoked = try AuthoritySet(record: record).revoked } catch { throw .badRootKey }
    if revoked.contains(devicePublicKey) { throw .deviceStaysRevoked }
  }

  /// A release tap from typed fields. One touch.
  /// - Throws: ``CeremonyError``, or what the key throws.
  public func tap(
    estateID: String, epoch: UInt64, claimID: String, recordHeadDigest: [UInt8], as record: DirectoryRecord
  ) async throws -> Signed {
    try await sign(
      .releaseAuthorize(estateID: estateID, epoch: epoch, claimID: claimID, recordHeadDigest: recordHeadDigest),
      as: record)
  }
}

/// What Seal's own log line says of a registration, never a secret.
public struct RegistrationTelemetry: Sendable, Hashable {
  /// The line as ``SealTelemetry`` writes it: `register: fmt=... flags=... credIdLen=... xLen=... yLen=...`
  public let line: String

  init(_ verified: RegistrationVerifier.Verified) {
    // What was verified can be read, so there is a line.
    line = SealTelemetry.register(attestationObject: verified.attestationObject.raw) ?? "register: none"
  }
}
