// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// authenticatorClientPIN (CTAP 2.1 section 6.5.5).
extension KeyCore {
  func clientPIN(_ p: CommandParameters) throws(CTAPStatus) -> [UInt8] {
    let number = try p.number(1)
    let hasPIN = profile.supports("clientPin")
    switch try p.number(2).needed() {
    case 0x01 where hasPIN:
      if profile.quirks.contains(.retriesNeedProtocol) { _ = try pinProtocol(number) }
      return CBORValue.encode(
        .intMap([(3, .int(facts.pinRetries)), (4, softBlocked ? .bool(true) : nil)]))
    case 0x02: return CBORValue.encode(.intMap([(1, try pinProtocol(number).publicKey)]))
    case 0x03 where hasPIN: try setPIN(p, number)
    case 0x04 where hasPIN: try changePIN(p, number)
    case 0x05 where hasPIN:
      // Section 6.5.5.7.1: the old way knows neither.
      _ = try pinProtocol(number)
      guard p.map[9] == nil, p.map[0x0A] == nil else { throw .invalidParameter }
      return try tokenByPIN(p, number, permissions: [.makeCredential, .getAssertion], rpId: nil, superseded: true)
    case 0x06 where profile.supports("uv") && profile.followsCTAP21: return try tokenByUv(p, number)
    case 0x07 where profile.supports("uv"): return CBORValue.encode(.intMap([(5, .int(facts.uvRetries))]))
    case 0x09 where hasPIN && profile.followsCTAP21:
      let (permissions, rpId) = try requestedPermissions(p, byPIN: true)
      return try tokenByPIN(p, number, permissions: permissions, rpId: rpId, superseded: false)
    default: throw .invalidSubcommand
    }
    return []
  }

  /// Three wrong PINs in a row: only taking the power away helps.
  private var softBlocked: Bool {
    if profile.quirks.contains(.noSoftBlock) { return false }
    return wrongPINsInARow >= (profile.quirks.contains(.earlySoftBlock) ? 2 : 3)
  }

  /// Section 6.5.5.5.
  private func setPIN(_ p: CommandParameters, _ number: Int?) throws(CTAPStatus) {
    let keyAgreement = try p.member(3).needed()
    let param = try p.bytes(4).needed()
    let newPinEnc = try p.bytes(5).needed()
    let pin = try pinProtocol(number)
    guard !facts.pinIsSet else { throw .pinAuthInvalid }
    let secret = try pin.decapsulate(keyAgreement)
    guard pin.verify(param, of: newPinEnc, with: secret) else { throw .pinAuthInvalid }
    try remember(newPIN(pin.decrypt(newPinEnc, with: secret)))
  }

  /// Section 6.5.5.6.
  private func changePIN(_ p: CommandParameters, _ number: Int?) throws(CTAPStatus) {
    let keyAgreement = try p.member(3).needed()
    let param = try p.bytes(4).needed()
    let newPinEnc = try p.bytes(5).needed()
    let pinHashEnc = try p.bytes(6).needed()
    let pin = try pinProtocol(number)
    try checkBlocks()
    let secret = try pin.decapsulate(keyAgreement)
    guard pin.verify(param, of: newPinEnc + pinHashEnc, with: secret) else { throw .pinAuthInvalid }
    try checkPIN(pin, pinHashEnc, secret)
    let new = try newPIN(pin.decrypt(newPinEnc, with: secret))
    if facts.forcePINChange, new.hash.isEqual(to: state.pinHash) { throw .pinPolicyViolation }
    try remember(new)
    for pin in protocols { pin.resetToken() }
    token.stop()
  }

  /// Sections 6.5.5.7.1 and 6.5.5.7.2.
  private func tokenByPIN(
    _ p: CommandParameters, _ number: Int?, permissions: PINTokenState.Permissions, rpId: String?, superseded: Bool
  ) throws(CTAPStatus) -> [UInt8] {
    let keyAgreement = try p.member(3).needed()
    let pinHashEnc = try p.bytes(6).needed()
    let pin = try pinProtocol(number)
    try checkBlocks()
    let secret = try pin.decapsulate(keyAgreement)
    try checkPIN(pin, pinHashEnc, secret)
    if facts.forcePINChange { throw superseded ? .pinInvalid : .pinPolicyViolation }
    var granted = permissions
    // Step 14 of section 6.5.5.7.1.
    if superseded, !pinServesCeremonies { granted = [] }
    return try issueToken(pin, secret, granted, rpId: rpId, userIsPresent: false)
  }

  /// Section 6.5.5.7.3.
  private func tokenByUv(_ p: CommandParameters, _ number: Int?) throws(CTAPStatus) -> [UInt8] {
    let keyAgreement = try p.member(3).needed()
    let (permissions, rpId) = try requestedPermissions(p, byPIN: false)
    let pin = try pinProtocol(number)
    guard uvIsEnabled else { throw .notAllowed }
    let internalRetry = (profile.info.preferredPlatformUvAttempts ?? 1) <= 1
    guard facts.uvRetries > 0 else { throw .uvBlocked }
    switch try performBuiltInUv(internalRetry: internalRetry, rpId: rpId) {
    case .success: break
    case .timedOut: throw .userActionTimeout
    case .failed: throw facts.uvRetries == 0 ? .uvBlocked : .uvInvalid
    }
    let secret = try pin.decapsulate(keyAgreement)
    return try issueToken(pin, secret, permissions, rpId: rpId, userIsPresent: true)
  }

  private func issueToken(
    _ pin: PINProtocol, _ secret: borrowing SecretBytes, _ permissions: PINTokenState.Permissions, rpId: String?,
    userIsPresent: Bool
  ) throws(CTAPStatus) -> [UInt8] {
    for pin in protocols { pin.resetToken() }
    token.begin(protocol: pin.number, userIsPresent: userIsPresent, now: clock.now())
    token.permissions = permissions.intersection(.defined)
    token.rpId = rpId
    return CBORValue.encode(.intMap([(2, .bytes(try pin.encrypt(pin.token, with: secret)))]))
  }

  /// Steps 1 to 4 of sections 6.5.5.7.2 and 6.5.5.7.3.
  private func requestedPermissions(
    _ p: CommandParameters, byPIN: Bool
  ) throws(CTAPStatus) -> (PINTokenState.Permissions, String?) {
    let wanted = try p.number(9).needed()
    _ = try pinProtocol(try p.number(1))
    let rpId = try p.text(0x0A)
    guard wanted != 0 else { throw .invalidParameter }
    let permissions = PINTokenState.Permissions(rawValue: wanted)
    let options = profile.info.options
    let refused: [(PINTokenState.Permissions, Bool)] = [
      (.credentialManagement, options["credMgmt"] != true && options["credentialMgmtPreview"] != true),
      (.bioEnrollment, byPIN ? options["bioEnroll"] == nil : options["uvBioEnroll"] != true),
      (.largeBlobWrite, options["largeBlobs"] != true),
      (.authenticatorConfig, byPIN ? options["authnrCfg"] != true : options["uvAcfg"] != true),
      (.makeCredential, byPIN && !pinServesCeremonies),
      (.getAssertion, byPIN && !pinServesCeremonies),
    ]
    for (permission, isRefused) in refused where isRefused && permissions.contains(permission) {
      throw .unauthorizedPermission
    }
    // Table of section 6.5.5.7: the two for ceremonies need to know for whom.
    if !permissions.isDisjoint(with: [.makeCredential, .getAssertion]), rpId == nil { throw .missingParameter }
    return (permissions, rpId)
  }

  // MARK: - The PIN itself

  private func checkBlocks() throws(CTAPStatus) {
    guard facts.pinIsSet else { throw .pinNotSet }
    guard facts.pinRetries > 0 else { throw .pinBlocked }
    guard !softBlocked else { throw .pinAuthBlocked }
  }

  /// The try is counted, and kept, before the PIN is looked at: pulling the plug must not win a try.
  private func checkPIN(
    _ pin: PINProtocol, _ pinHashEnc: [UInt8], _ secret: borrowing SecretBytes
  ) throws(CTAPStatus) {
    if profile.quirks.contains(.callsRightPINWrong) { throw .pinInvalid }
    facts.pinRetries -= 1
    try save()
    var right = false
    if let hash = pin.decrypt(pinHashEnc, with: secret) { right = hash.isEqual(to: state.pinHash) }
    guard right else {
      wrongPINsInARow += 1
      do { try pin.regenerate() } catch { throw .other }
      if facts.pinRetries == 0, !profile.quirks.contains(.lastWrongPINIsInvalid) { throw .pinBlocked }
      throw softBlocked ? .pinAuthBlocked : .pinInvalid
    }
    wrongPINsInARow = 0
    facts.pinRetries = profile.pinRetries
    facts.uvRetries = profile.uvRetries
    try save()
  }

  private struct NewPIN: ~Copyable {
    let hash: SecretBytes
    let codePoints: Int
  }

  /// Steps 6 to 11 of section 6.5.5.5.
  private func newPIN(_ padded: consuming SecretBytes?) throws(CTAPStatus) -> NewPIN {
    guard let padded else { throw .pinAuthInvalid }
    guard padded.count == 64 else { throw .invalidParameter }
    let (length, codePoints) = padded.withUnsafeBytes { bytes -> (Int, Int?) in
      let length = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
      let text = UnsafeRawBufferPointer(rebasing: bytes[..<length])
      return (length, countCodePoints(text))
    }
    // 63 bytes at most: the last one of the padding is always zero.
    guard length <= 63, let codePoints, codePoints >= facts.minPINLength else { throw .pinPolicyViolation }
    var hash = SHA256.secretHash(padded.slice(0..<length))
    hash.truncate(to: 16)
    return NewPIN(hash: hash, codePoints: codePoints)
  }

  private func remember(_ new: consuming NewPIN) throws(CTAPStatus) {
    facts.pinCodePoints = new.codePoints
    state.pinHash = new.hash.clone()
    facts.pinIsSet = true
    facts.forcePINChange = false
    facts.pinRetries = profile.pinRetries
    try save()
  }

  /// Code points of UTF-8, without making a String of a secret; nil when it is not UTF-8.
  private func countCodePoints(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    var count = 0
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue: count += 1
      case .emptyInput: return count
      case .error: return nil
      }
    }
  }
}
