// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// What becomes of good data on a key with one of the quirks in the data. Without them everything passes as it is.
extension KeyCore {
  private func has(_ quirk: Quirk) -> Bool { profile.quirks.contains(quirk) }

  /// The algorithm of a new credential.
  func presented(_ algorithm: COSEAlgorithm) -> COSEAlgorithm {
    if has(.ignoresAlgorithm) || has(.textCOSE) { return .edDSA }
    return has(.otherCurve) ? .es384 : algorithm
  }

  /// Makes credentials until one is such that its quirk shows: one in 256 begins with a zero.
  func presentable(
    _ make: () throws(CryptoError) -> OpenCredential
  ) throws(CryptoError) -> OpenCredential {
    var made = try make()
    guard has(.shortX) || has(.leadingZeroX) else { return made }
    while made.key.u2fPublicKey()?.dropFirst().first != 0 { made = try make() }
    return made
  }

  /// The credential's public key, as it is written.
  func presentedCOSE(_ credential: OpenCredential) -> [UInt8] {
    let good = CBORValue.encode(credential.key.cose())
    guard let item = try? CBORDecoder.decodeAll(good), let x = item[-2]?.bytes else { return good }
    let y = item[-3]?.bytes ?? []
    func point(_ curve: Int, _ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
      CBORValue.encode(
        .intMap([(1, .int(2)), (3, .int(-7)), (-1, .int(curve)), (-2, .bytes(x)), (-3, .bytes(y))]))
    }
    if has(.otherCurve) { return point(2, x, y) }
    if has(.shortX), x.first == 0 { return point(1, Array(x.dropFirst()), y) }
    if has(.longY) { return point(1, x, [0] + y) }
    if has(.textCOSE) {
      let odd = CBORValue.encode(
        .intMap([(1, .text("OKP")), (3, .int(-8)), (-1, .text("Ed25519")), (-2, .bytes(x))]))
      return [0xA3] + odd.dropFirst()
    }
    return good
  }

  /// The flags, as they are written.
  func present(_ flags: inout AuthenticatorFlags) {
    if has(.noUserVerificationFlag) { flags.remove(.userVerified) }
    guard !flags.contains(.attestedCredentialData) else { return }
    if has(.noUserPresenceFlag) { flags.remove(.userPresent) }
    if has(.backedUpWithoutEligibility) { flags.insert(.backupState) }
    if has(.backupEligibilityChanges) { flags.insert(.backupEligible) }
  }

  /// What follows authenticator data that has no extensions.
  var unannouncedBytes: [UInt8] { has(.unannouncedBytes) ? [0xA0] : [] }

  /// Whom an assertion is for.
  func presentedHash(ofRPID rpId: String) -> [UInt8] {
    SHA256.hash(Array((has(.assertsForAppID) ? "https://\(rpId)/app-id.json" : rpId).utf8))
  }

  /// The signature of an assertion, as it is written.
  /// - Throws: OTHER when libcrypto fails.
  func presentedSignature(by credential: OpenCredential, for message: [UInt8]) throws(CTAPStatus) -> [UInt8] {
    do {
      if has(.foreignSignature) { return try P256.Signing.PrivateKey().signature(for: message) }
      var good = try credential.key.signature(for: message)
      // About one in a hundred.
      while has(.shortSignature), good.count >= 70 { good = try credential.key.signature(for: message) }
      guard good.count > 4 else { return good }
      if has(.paddedSignature) { return [0x30, good[1] + 1, 0x02, good[3] + 1, 0x00] + good.dropFirst(4) }
      if has(.signatureTail) { return good + [0x00] }
      if has(.thirdInteger) { return [0x30, good[1] + 3] + good.dropFirst(2) + [0x02, 0x01, 0x01] }
      return good
    } catch { throw .other }
  }

  /// The attestation's certificate, with an OCTET STRING where the public key's BIT STRING belongs.
  var brokenCertificate: [UInt8] {
    var der = attestation.certificate
    // The BIT STRING of a P-256 point: 66 bytes, none of its bits unused, not compressed.
    let head: [UInt8] = [0x03, 0x42, 0x00, 0x04]
    if let at = der.indices.first(where: { der[$0...].starts(with: head) }) { der[at] = 0x04 }
    return der
  }
}
