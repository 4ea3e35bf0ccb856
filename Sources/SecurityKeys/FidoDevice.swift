// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CFido2
import CTAPWire
import CryptoCore
import WebAuthnCore

/// What a key answered: its map, and the bytes it was read from (evidence is bytes, never a re-encoding).
struct CTAPReply {
  let map: CBORItem
  let bytes: [UInt8]

  subscript(key: Int64) -> CBORItem? { map[key] }
}

/// A FIDO2 key through libfido2: the touch ceremonies. Lives on the key's own thread.
final class FidoDevice {
  private let bridge: FidoBridge
  let link: KeyLink
  let handle: OpaquePointer

  /// Shows libfido2 a key that has only `pinProtocol`, which is how a protocol is chosen.
  init(link: KeyLink, info: AuthenticatorInfo, pinProtocol: Int?) throws(SecurityKeyError) {
    let bridge = FidoBridge(link: link, shownInfo: info.sanitised(pinProtocol: pinProtocol))
    handle = try bridge.openDevice()
    self.bridge = bridge
    self.link = link
  }

  deinit {
    fido_dev_close(handle)
    var freed: OpaquePointer? = handle
    fido_dev_free(&freed)
  }

  /// authenticatorMakeCredential (CTAP 2.1 section 6.1). Gives the raw reply map.
  func makeCredential(
    _ request: RegistrationRequest, clientDataHash: [UInt8], pin: CheckedPIN?, builtInVerification: Bool
  ) throws(SecurityKeyError) -> CTAPReply {
    guard let credential = fido_cred_new() else { throw .library(code: FIDO_ERR_INTERNAL) }
    defer {
      var freed: OpaquePointer? = credential
      fido_cred_free(&freed)
    }
    // Exactly one algorithm: most keys refuse a list with one they do not know (QUIRKS Q1).
    try check(fido_cred_set_type(credential, COSE_ES256))
    try check(fido_cred_set_clientdata_hash(credential, clientDataHash, clientDataHash.count))
    try check(fido_cred_set_rp(credential, request.rpID, request.rpName))
    try check(
      fido_cred_set_user(
        credential, request.userID, request.userID.count, request.userName, request.userDisplayName, nil))
    for excluded in request.excludeList { try check(fido_cred_exclude(credential, excluded.id, excluded.id.count)) }
    if request.enablesPRF { try check(fido_cred_set_extensions(credential, FIDO_EXT_HMAC_SECRET)) }
    if request.isDiscoverable { try check(fido_cred_set_rk(credential, FIDO_OPT_TRUE)) }
    if builtInVerification { try check(fido_cred_set_uv(credential, FIDO_OPT_TRUE)) }
    link.begin()
    let code = withPIN(pin) { fido_dev_make_cred(handle, credential, $0) }
    return try outcome(.makeCredential, code)
  }

  /// authenticatorGetAssertion (CTAP 2.1 section 6.2). Gives the raw reply map, and the secrets when salts were given.
  func getAssertion(
    _ request: AssertionRequest, clientDataHash: [UInt8], pin: CheckedPIN?, builtInVerification: Bool
  ) throws(SecurityKeyError) -> (reply: CTAPReply, prf: PRFOutput?) {
    guard let assertion = fido_assert_new() else { throw .library(code: FIDO_ERR_INTERNAL) }
    defer {
      var freed: OpaquePointer? = assertion
      fido_assert_free(&freed)
    }
    try check(fido_assert_set_clientdata_hash(assertion, clientDataHash, clientDataHash.count))
    try check(fido_assert_set_rp(assertion, request.rpID))
    for allowed in request.allowList { try check(fido_assert_allow_cred(assertion, allowed.id, allowed.id.count)) }
    if let salts = request.prfSalts {
      let bytes = salts.first + (salts.second ?? [])
      try check(fido_assert_set_extensions(assertion, FIDO_EXT_HMAC_SECRET))
      try check(fido_assert_set_hmac_salt(assertion, bytes, bytes.count))
    }
    if builtInVerification { try check(fido_assert_set_uv(assertion, FIDO_OPT_TRUE)) }
    link.begin()
    let code = withPIN(pin) { fido_dev_get_assert(handle, assertion, $0) }
    let reply = try outcome(.getAssertion, code)
    guard let salts = request.prfSalts else { return (reply, nil) }
    // libfido2 decrypts, so its own parse must have succeeded too.
    guard code == FIDO_OK, fido_assert_count(assertion) > 0,
      let secret = fido_assert_hmac_secret_ptr(assertion, 0)
    else { throw .prfMissing }
    let count = fido_assert_hmac_secret_len(assertion, 0)
    guard count == (salts.second == nil ? 32 : 64) else { throw .prfMissing }
    let first = SecretBytes(copying: UnsafeRawBufferPointer(start: secret, count: 32))
    guard salts.second != nil else { return (reply, PRFOutput(first: first, second: nil)) }
    let second = SecretBytes(copying: UnsafeRawBufferPointer(start: secret + 32, count: 32))
    return (reply, PRFOutput(first: first, second: second))
  }

  /// Sets or changes the PIN (CTAP 2.1 section 6.5.5).
  func setPIN(_ new: CheckedPIN, old: CheckedPIN?) throws(SecurityKeyError) {
    link.begin()
    let code = new.withCString { new in withPIN(old) { fido_dev_set_pin(handle, new, $0) } }
    try succeed(code)
  }

  /// The raw reply, when the key said yes: its word wins over libfido2's parsing.
  private func outcome(_ command: CTAPCommand, _ code: Int32) throws(SecurityKeyError) -> CTAPReply {
    guard let reply = link.lastReply[command.rawValue], reply.first == 0 else {
      try succeed(code)
      throw .badAnswer("no answer to \(command.name)")
    }
    do {
      let bytes = Array(reply.dropFirst())
      let item = try CBORDecoder.decodeAll(bytes)
      guard item.map != nil else { throw SecurityKeyError.badAnswer("\(command.name): not a map") }
      return CTAPReply(map: item, bytes: bytes)
    } catch let error as CBORError { throw .badAnswer("\(command.name): \(error.message)") } catch {
      throw .badAnswer("\(command.name): not a map")
    }
  }

  /// Turns a libfido2 code into what really happened: our own stop first, then the key's status, then the code.
  func succeed(_ code: Int32) throws(SecurityKeyError) {
    guard code != FIDO_OK else { return }
    if let failure = link.failure { throw failure }
    for reply in link.lastReply.values {
      if let status = reply.first, status != 0 { throw .of(CTAPStatus(rawValue: status)) }
    }
    throw code > 0 && code <= 0xFF ? .of(CTAPStatus(rawValue: UInt8(code))) : .library(code: code)
  }

  func check(_ code: Int32) throws(SecurityKeyError) {
    guard code == FIDO_OK else { throw .library(code: code) }
  }

  func withPIN<R>(_ pin: CheckedPIN?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
    pin.map { $0.withCString(body) } ?? body(nil)
  }
}
