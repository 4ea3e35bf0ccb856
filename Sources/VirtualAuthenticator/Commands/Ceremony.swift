// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// What makeCredential and getAssertion have in common: who has been verified, and who is there.
struct Ceremony {
  let rpId: String
  let clientDataHash: [UInt8]
  let pinUvAuthParam: [UInt8]?
  let pinUvAuthProtocol: Int?
  var wantsUv = false
  var wantsUp = true
  var wantsRk = false
  /// The "uv" bit of the response.
  var userVerified = false
  /// The "up" bit of the response.
  var userPresent = false
  /// Built-in verification collected a touch as well.
  var verifiedByTouch = false
}

extension KeyCore {
  /// Step 1 of sections 6.1.2 and 6.2.2: an empty pinUvAuthParam asks for a touch and nothing else. And step 2: the
  /// protocol must be there and known.
  func checkProtocol(_ c: Ceremony) throws(CTAPStatus) {
    guard let param = c.pinUvAuthParam else { return }
    if param.isEmpty {
      if profile.quirks.contains(.emptyPinAuthNeedsProtocol), c.pinUvAuthProtocol == nil { throw .missingParameter }
      try collectTouch(rpId: c.rpId, timeout: touchTimeoutStatus)
      guard facts.pinIsSet else { throw .pinNotSet }
      throw profile.quirks.contains(.emptyPinAuthInvalid) ? .pinAuthInvalid : .pinInvalid
    }
    _ = try pinProtocol(c.pinUvAuthProtocol)
  }

  /// The protocol a platform chose.
  /// - Throws: MISSING_PARAMETER without one, INVALID_PARAMETER for one this key does not have.
  func pinProtocol(_ number: Int?) throws(CTAPStatus) -> PINProtocol {
    let number = try number.needed()
    guard let found = protocols.first(where: { $0.number == number }) else { throw .invalidParameter }
    return found
  }

  /// The options map: `uv`, `up` and `rk` as present, unknown ones ignored.
  func options(_ parameters: CommandParameters, _ key: Int64) throws(CTAPStatus) -> [String: Bool] {
    var result: [String: Bool] = [:]
    for entry in try parameters.member(key)?.map ?? [] {
      guard let name = entry.key.text, let value = entry.value.bool else { throw .cborUnexpectedType }
      result[name] = value
      if !["uv", "up", "rk"].contains(name), profile.quirks.contains(.refusesUnknownOption) { throw .limitExceeded }
    }
    return result
  }

  /// Step 5 of section 6.1.2 and step 4 of section 6.2.2, the option `uv`.
  func readUvOption(_ c: inout Ceremony, _ options: [String: Bool]) throws(CTAPStatus) {
    if options["uv"] != nil, c.pinUvAuthParam != nil, profile.quirks.contains(.refusesUvWithToken) {
      throw .invalidOption
    }
    if options["uv"] == false, !profile.supports("uv"), profile.quirks.contains(.refusesUvFalse) {
      throw .unsupportedOption
    }
    guard c.pinUvAuthParam == nil, options["uv"] == true else { return }
    guard uvIsEnabled else { throw .invalidOption }
    c.wantsUv = true
  }

  /// What to say when verification is needed and was not offered.
  var verificationNeeded: CTAPStatus { pinServesCeremonies ? .puatRequired : .operationDenied }

  /// The rule of alwaysUv: step 6 of section 6.1.2, step 5 of section 6.2.2.
  func enforceAlwaysUv(_ c: inout Ceremony) throws(CTAPStatus) {
    guard isProtected else { throw verificationNeeded }
    guard c.pinUvAuthParam == nil, !c.wantsUv else { return }
    guard uvIsEnabled else { throw verificationNeeded }
    c.wantsUv = true
  }

  /// Step 11 of section 6.1.2, step 6 of section 6.2.2.
  func verifyUser(_ c: inout Ceremony, permission: PINTokenState.Permissions) throws(CTAPStatus) {
    if let param = c.pinUvAuthParam {
      try verifyToken(
        param, protocol: try pinProtocol(c.pinUvAuthProtocol), message: c.clientDataHash, permission: permission)
      if profile.followsCTAP21 {
        guard token.userVerified else { throw .pinAuthInvalid }
        guard token.rpId == nil || token.rpId == c.rpId else { throw .pinAuthInvalid }
        token.rpId = c.rpId
      }
      c.userVerified = true
      return
    }
    guard c.wantsUv else { return }
    switch try performBuiltInUv(internalRetry: true, rpId: c.rpId) {
    case .success:
      c.userVerified = true
      c.verifiedByTouch = true
    case .timedOut: throw .userActionTimeout
    case .failed: throw facts.uvRetries == 0 ? .pinBlocked : .operationDenied
    }
  }

  /// verify() of the token, and its permission.
  ///
  /// A key without PIN and fingerprints has no token in use, so it refuses: the standard would let it go on unverified,
  /// but a platform that sends a proof of the PIN must not get an answer without.
  /// - Throws: PIN_AUTH_INVALID.
  func verifyToken(
    _ param: [UInt8], protocol pin: PINProtocol, message: [UInt8], permission: PINTokenState.Permissions
  ) throws(CTAPStatus) {
    if pin.number == 2, profile.quirks.contains(.protocol2Fails) { throw .pinAuthInvalid }
    guard token.protocolInUse == pin.number, pin.verifyWithToken(param, of: message) else { throw .pinAuthInvalid }
    token.markUsed()
    // Before CTAP 2.1 a token could do everything.
    guard !profile.followsCTAP21 || token.permissions.isSuperset(of: permission) else { throw .pinAuthInvalid }
  }

  /// Step 14 of section 6.1.2, step 9 of section 6.2.2.
  func collectPresence(_ c: inout Ceremony) throws(CTAPStatus) {
    if c.verifiedByTouch {
      c.userPresent = true
    } else if c.wantsUp {
      if c.pinUvAuthParam == nil || !token.userPresent {
        try collectTouch(rpId: c.rpId, timeout: touchTimeoutStatus)
      }
      c.userPresent = true
    }
    guard c.userPresent, profile.followsCTAP21 else { return }
    token.clearAfterTouch()
  }
}
