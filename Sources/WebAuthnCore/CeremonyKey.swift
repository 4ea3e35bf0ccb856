// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// A thing that can make a credential and get an assertion: a key in a USB port, a phone's answer, a recording.
///
/// The ceremonies ask for this and never see a device. The client side of WebAuthn (building clientDataJSON from
/// the challenge and the origin) belongs to the conforming type, because a phone builds its own.
public protocol CeremonyKey: Sendable {
  /// What this key can do, read without touching it.
  func capabilities() async throws -> KeyCapabilities
  /// Makes a credential (WebAuthn level 3 section 5.1.3; CTAP 2.1 section 6.1).
  func makeCredential(_ request: RegistrationRequest) async throws -> RegistrationResponse
  /// Gets an assertion (WebAuthn level 3 section 5.1.4; CTAP 2.1 section 6.2).
  func getAssertion(_ request: AssertionRequest) async throws -> AssertionResponse
}

/// What a key can do for Seal, before any touch.
public struct KeyCapabilities: Sendable, Hashable {
  /// hmac-secret is offered, so a key for somebody else can be made.
  public var supportsPRF: Bool
  /// A PIN is set or built-in verification is enrolled.
  public var canVerifyUser: Bool
  /// The key takes ES256.
  public var supportsES256: Bool
  /// A virtual key, or a recording of one.
  public var isSimulated: Bool
  /// What to call it.
  public var name: String

  /// All facts at once.
  public init(supportsPRF: Bool, canVerifyUser: Bool, supportsES256: Bool, isSimulated: Bool, name: String) {
    self.supportsPRF = supportsPRF
    self.canVerifyUser = canVerifyUser
    self.supportsES256 = supportsES256
    self.isSimulated = isSimulated
    self.name = name
  }
}

/// How much user verification is wanted (WebAuthn level 3 section 5.8.6).
public enum UserVerificationRequirement: String, Sendable, Hashable {
  /// The ceremony fails without it.
  case required
  /// Verify whenever the key can. Seal's choice for every request.
  case preferred
  /// Only where the key insists.
  case discouraged
}

/// One entry of an allowList or excludeList. Only `type` and `id` ever go to a key.
public struct CredentialDescriptor: Sendable, Hashable {
  /// The credential ID, 1 to 1,023 bytes.
  public var id: [UInt8]
  /// A descriptor of this ID.
  public init(id: [UInt8]) { self.id = id }
}

/// A request to make a credential.
public struct RegistrationRequest: Sendable {
  /// The relying party ID.
  public var rpID: String
  /// The relying party's name as shown to a person.
  public var rpName: String
  /// The origin written into clientDataJSON.
  public var origin: String
  /// The challenge, 32 bytes in Seal.
  public var challenge: [UInt8]
  /// The user handle, 1 to 64 bytes.
  public var userID: [UInt8]
  /// user.name.
  public var userName: String
  /// user.displayName.
  public var userDisplayName: String
  /// Credentials that must not be on this key already.
  public var excludeList: [CredentialDescriptor]
  /// Discoverable (`rk`) or not. Seal's key tier is not.
  public var isDiscoverable: Bool
  /// How much user verification is wanted.
  public var userVerification: UserVerificationRequirement
  /// Enable hmac-secret, and fail with `prfUnsupported` when the key does not.
  public var enablesPRF: Bool

  /// A request as Seal makes it for a security key (FORMATS.md 2); change members for anything else.
  public init(
    rpID: String, rpName: String, origin: String, challenge: [UInt8], userID: [UInt8], userName: String,
    userDisplayName: String, excludeList: [CredentialDescriptor] = [], isDiscoverable: Bool = false,
    userVerification: UserVerificationRequirement = .preferred, enablesPRF: Bool = false
  ) {
    self.rpID = rpID
    self.rpName = rpName
    self.origin = origin
    self.challenge = challenge
    self.userID = userID
    self.userName = userName
    self.userDisplayName = userDisplayName
    self.excludeList = excludeList
    self.isDiscoverable = isDiscoverable
    self.userVerification = userVerification
    self.enablesPRF = enablesPRF
  }
}

/// A made credential, exactly as it came; nothing in it has been verified.
public struct RegistrationResponse: Sendable {
  /// The credential ID the client reports.
  public var credentialID: [UInt8]
  /// The attestation object, WebAuthn's CBOR map of fmt, attStmt and authData.
  public var attestationObject: [UInt8]
  /// The exact bytes that were hashed.
  public var clientDataJSON: [UInt8]
  /// What made it.
  public var evidence: KeyEvidence

  /// All parts at once.
  public init(credentialID: [UInt8], attestationObject: [UInt8], clientDataJSON: [UInt8], evidence: KeyEvidence) {
    self.credentialID = credentialID
    self.attestationObject = attestationObject
    self.clientDataJSON = clientDataJSON
    self.evidence = evidence
  }
}

/// A request for an assertion.
public struct AssertionRequest: Sendable {
  /// The relying party ID.
  public var rpID: String
  /// The origin written into clientDataJSON.
  public var origin: String
  /// The challenge, 32 bytes in Seal.
  public var challenge: [UInt8]
  /// The credentials any of which will do; empty asks for a discoverable one.
  public var allowList: [CredentialDescriptor]
  /// How much user verification is wanted.
  public var userVerification: UserVerificationRequirement
  /// hmac-secret salts to evaluate, when PRF output is wanted.
  public var prfSalts: PRFSalts?

  /// A request as Seal makes it; change members for anything else.
  public init(
    rpID: String, origin: String, challenge: [UInt8], allowList: [CredentialDescriptor],
    userVerification: UserVerificationRequirement = .preferred, prfSalts: PRFSalts? = nil
  ) {
    self.rpID = rpID
    self.origin = origin
    self.challenge = challenge
    self.allowList = allowList
    self.userVerification = userVerification
    self.prfSalts = prfSalts
  }
}

/// hmac-secret salts as they go to the key (CTAP 2.1 section 12.5), 32 bytes each.
public struct PRFSalts: Sendable, Hashable {
  /// salt1.
  public var first: [UInt8]
  /// salt2, when two are evaluated in one touch.
  public var second: [UInt8]?
  /// Salts that are used as they are.
  public init(first: [UInt8], second: [UInt8]? = nil) {
    self.first = first
    self.second = second
  }
}

/// An assertion, exactly as it came; nothing in it has been verified.
public struct AssertionResponse: Sendable {
  /// The credential ID the client reports: unsigned.
  public var credentialID: [UInt8]
  /// The exact bytes that were hashed.
  public var clientDataJSON: [UInt8]
  /// authData as the key signed it.
  public var authenticatorData: [UInt8]
  /// The signature; DER for ECDSA.
  public var signature: [UInt8]
  /// The user handle, when the key gave one.
  public var userHandle: [UInt8]?
  /// PRF output, when it was asked for and given.
  public var prf: PRFOutput?
  /// What made it.
  public var evidence: KeyEvidence

  /// All parts at once.
  public init(
    credentialID: [UInt8], clientDataJSON: [UInt8], authenticatorData: [UInt8], signature: [UInt8],
    userHandle: [UInt8]? = nil, prf: PRFOutput? = nil, evidence: KeyEvidence
  ) {
    self.credentialID = credentialID
    self.clientDataJSON = clientDataJSON
    self.authenticatorData = authenticatorData
    self.signature = signature
    self.userHandle = userHandle
    self.prf = prf
    self.evidence = evidence
  }
}

/// PRF output: 32 secret bytes for each salt. Wiped when the last holder lets go.
public final class PRFOutput: Sendable {
  /// For salt1.
  public let first: SecretBytes
  /// For salt2.
  public let second: SecretBytes?
  /// Takes ownership of both.
  public init(first: consuming SecretBytes, second: consuming SecretBytes?) {
    self.first = first
    self.second = second
  }
}

/// Facts about what answered, for evidence beside an artefact. Public values only.
public struct KeyEvidence: Sendable, Hashable {
  /// True when a virtual key, or anything that imitates one, answered.
  public var isSimulated: Bool
  /// What to call it.
  public var name: String
  /// `hidraw`, `pcsc`, `udp`, `virtual` or `import`.
  public var transport: String
  /// The AAGUID from getInfo, 16 bytes; nil for U2F and for imported answers.
  public var aaguid: [UInt8]?
  /// firmwareVersion from getInfo.
  public var firmwareVersion: UInt64?
  /// The raw getInfo reply after the status byte.
  public var getInfo: [UInt8]?

  /// All facts at once.
  public init(
    isSimulated: Bool, name: String, transport: String, aaguid: [UInt8]? = nil, firmwareVersion: UInt64? = nil,
    getInfo: [UInt8]? = nil
  ) {
    self.isSimulated = isSimulated
    self.name = name
    self.transport = transport
    self.aaguid = aaguid
    self.firmwareVersion = firmwareVersion
    self.getInfo = getInfo
  }
}
