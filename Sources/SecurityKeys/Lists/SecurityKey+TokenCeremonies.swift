// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// Ceremonies with the token that a search was made with: one verification of the person for both. libfido2 would get a
/// token of its own, which means a second finger on the reader.
extension SecurityKey {
  /// An assertion by `id`. Nil when the token has had its day: a key may take it for one command only
  /// (QUIRKS Q43), and a card may want a new tap.
  func assert(
    _ request: AssertionRequest, _ ceremony: ListCeremony, _ probe: Probe, _ agreement: PINAgreement,
    _ token: PINToken, _ id: CredentialDescriptor
  ) throws -> (AssertionResponse)? {
    var narrowed = request
    narrowed.allowList = [id]
    var salted: CBORValue?
    if let salts = request.prfSalts {
      let encrypted = try agreement.encrypt(SecretBytes(salts.first + (salts.second ?? [])))
      salted = .textMap([
        (
          "hmac-secret",
          .intMap([
            (1, agreement.publicKey), (2, .bytes(encrypted)), (3, .bytes(agreement.authenticate(encrypted))),
            // Protocol 1 has no number here (QUIRKS Q36, Q37).
            (4, agreement.version == .one ? nil : .int(agreement.version.rawValue)),
          ])
        )
      ])
    }
    let hash = ceremony.clientData.hash
    let bytes = ListRequest.getAssertion(
      rpID: request.rpID, clientDataHash: hash, allowList: [id], extensions: salted,
      authentication: (token.authenticate(hash), token.version))
    guard let reply = try answer(bytes, probe) else { return nil }
    let prf = try request.prfSalts.map { try secrets(reply, agreement, isPair: $0.second != nil) }
    return try Self.response(reply, prf, ceremony.plan, ceremony.clientData, narrowed, ceremony.session.facts)
  }

  /// A registration without an exclude list. Nil when the token has had its day: a key may take it for one command only
  /// (QUIRKS Q43), and a card may want a new tap.
  func register(
    _ request: RegistrationRequest, _ ceremony: ListCeremony, _ probe: Probe, _ token: PINToken
  ) throws -> RegistrationResponse? {
    let hash = ceremony.clientData.hash
    let bytes = ListRequest.makeCredential(
      request, clientDataHash: hash, excludeList: [], authentication: (token.authenticate(hash), token.version))
    guard let reply = try answer(bytes, probe) else { return nil }
    return try Self.response(reply, ceremony.plan, ceremony.clientData, request, ceremony.session.facts)
  }

  private func answer(_ bytes: [UInt8], _ probe: Probe) throws -> CTAPReply? {
    probe.link.begin()
    do {
      return try watchingTouch(probe.link) {
        guard let reply = try probe.send(bytes), reply.map.map != nil else {
          throw SecurityKeyError.badAnswer("not a map")
        }
        return reply
      }
    } catch let error as SecurityKeyError
      where error == .status(.pinAuthInvalid) || probe.link.wantsNewTap(after: error)
    {
      return nil
    }
  }

  /// hmac-secret's output (CTAP 2.1 section 12.5), decrypted.
  private func secrets(_ reply: CTAPReply, _ agreement: PINAgreement, isPair: Bool) throws -> PRFOutput {
    guard let authData = reply[2]?.bytes, let data = try? AuthenticatorData(parsing: authData),
      let encrypted = data.extensions?["hmac-secret"]?.bytes
    else { throw SecurityKeyError.prfMissing }
    let both = try agreement.decrypt(encrypted)
    guard both.count == (isPair ? 64 : 32) else { throw SecurityKeyError.prfMissing }
    if isPair { return PRFOutput(first: both.slice(0..<32), second: both.slice(32..<64)) }
    return PRFOutput(first: both.slice(0..<32), second: nil)
  }
}
