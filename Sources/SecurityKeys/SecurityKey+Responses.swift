// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// Raw CTAP replies into WebAuthn's answers, by our own parser.
extension SecurityKey {
  static func response(
    _ reply: CTAPReply, _ plan: UserVerificationPlan, _ clientData: ClientData, _ request: RegistrationRequest,
    _ facts: KeyFacts
  ) throws(SecurityKeyError) -> RegistrationResponse {
    guard let authData = reply[2]?.bytes,
      let object = AttestationObject.build(makeCredentialReply: reply.map, in: reply.bytes)
    else {
      throw .badAnswer("makeCredential: a member is missing")
    }
    let data: AuthenticatorData
    do { data = try AuthenticatorData(parsing: authData) } catch {
      throw .badAnswer("makeCredential: \(error.message)")
    }
    guard let attested = data.attestedCredentialData else { throw .badAnswer("makeCredential: no credential") }
    if plan != .none, !data.flags.contains(.userVerified) { throw .uvMissing }
    if request.enablesPRF, data.extensions?["hmac-secret"]?.bool != true { throw .prfUnsupported }
    return RegistrationResponse(
      credentialID: attested.credentialID, attestationObject: object, clientDataJSON: clientData.json,
      evidence: facts.evidence)
  }

  static func response(
    _ reply: CTAPReply, _ prf: PRFOutput?, _ plan: UserVerificationPlan, _ clientData: ClientData,
    _ request: AssertionRequest, _ facts: KeyFacts
  ) throws(SecurityKeyError) -> AssertionResponse {
    guard let authData = reply[2]?.bytes, let signature = reply[3]?.bytes else {
      throw .badAnswer("getAssertion: a member is missing")
    }
    // A key may leave the credential out when it was asked for only one (QUIRKS Q63).
    guard let id = reply[1]?["id"]?.bytes ?? (request.allowList.count == 1 ? request.allowList.first?.id : nil) else {
      throw .badAnswer("getAssertion: no credential named")
    }
    if !request.allowList.isEmpty, !request.allowList.contains(where: { $0.id == id }) {
      throw .badAnswer("getAssertion: a credential that was not asked")
    }
    guard authData.count >= 37 else { throw .badAnswer("getAssertion: authenticator data too short") }
    if plan != .none, !AuthenticatorFlags(rawValue: authData[32]).contains(.userVerified) { throw .uvMissing }
    return AssertionResponse(
      credentialID: id, clientDataJSON: clientData.json, authenticatorData: authData, signature: signature,
      userHandle: reply[4]?["id"]?.bytes, prf: prf, evidence: facts.evidence)
  }
}

/// A key together with whoever is asked for its PIN: what the ceremonies use.
public struct KeySession: CeremonyKey {
  private let key: SecurityKey
  /// Who is asked for the PIN, at most once an act.
  public let pin: PINProvider?

  /// `pin` is asked at most once an act.
  public init(_ key: SecurityKey, pin: PINProvider? = nil) {
    self.key = key
    self.pin = pin
  }

  public func capabilities() async throws -> KeyCapabilities { try await key.open().capabilities }
  public func makeCredential(_ request: RegistrationRequest) async throws -> RegistrationResponse {
    try await key.makeCredential(request, pin: pin)
  }
  public func getAssertion(_ request: AssertionRequest) async throws -> AssertionResponse {
    try await key.getAssertion(request, pin: pin)
  }
}
