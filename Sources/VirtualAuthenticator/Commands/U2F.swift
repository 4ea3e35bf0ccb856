// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore

/// CTAP1, also called U2F (U2F raw message formats 1.2; CTAP 2.1 section 10).
extension KeyCore {
  func handleU2F(_ bytes: [UInt8]) -> (ResponseAPDU, CommandLog.Entry) {
    let apdu = try? CommandAPDU(parsing: bytes)
    let response = apdu.map { u2f($0) } ?? ResponseAPDU(status: .wrongLength)
    let entry = CommandLog.Entry(
      kind: .u2f(instruction: apdu?.ins ?? 0), subcommand: nil, request: bytes, statusWord: response.status)
    return (response, entry)
  }

  private func u2f(_ apdu: CommandAPDU) -> ResponseAPDU {
    guard profile.speaksU2F else { return ResponseAPDU(status: .instructionNotSupported) }
    guard apdu.cla == 0 else { return ResponseAPDU(status: .classNotSupported) }
    switch apdu.ins {
    case 0x03:
      guard apdu.data.isEmpty else { return ResponseAPDU(status: .wrongLength) }
      return ResponseAPDU(data: Array("U2F_V2".utf8), status: .success)
    case 0x01, 0x02:
      // Section 7.2.4: with alwaysUv there is no U2F.
      if alwaysUv { return ResponseAPDU(status: .commandNotAllowed) }
      do { return try apdu.ins == 1 ? u2fRegister(apdu) : u2fAuthenticate(apdu) } catch {
        return ResponseAPDU(status: .unknownError)
      }
    default: return ResponseAPDU(status: .instructionNotSupported)
    }
  }

  /// A touch for this request, or not yet. The same request again belongs to the same wait.
  private func u2fTouched(_ apdu: CommandAPDU) -> Bool {
    let id = [apdu.ins] + apdu.data
    let now = clock.now()
    if let waiting = u2fTouch, waiting.apdu == id, now - waiting.since <= timing.touchTimeout {
      u2fTouch = (now, id)
    } else {
      u2fTouch = (now, id)
      touch.end()
      touch.begin(PresenceRequest(kind: .touch, command: nil, rpId: nil))
    }
    guard let decision = touch.decision() else { return false }
    touch.end()
    u2fTouch = nil
    return decision == .given
  }

  private func u2fRegister(_ apdu: CommandAPDU) throws -> ResponseAPDU {
    guard apdu.data.count == 64 else { return ResponseAPDU(status: .wrongLength) }
    guard u2fTouched(apdu) else { return ResponseAPDU(status: .conditionsNotSatisfied) }
    let challenge = Array(apdu.data[..<32])
    let application = Array(apdu.data[32...])
    // The id's length travels in one byte.
    let made = try CredentialHandle.create(
      .es256, rpIdHash: application, protection: .optional, traits: [],
      length: min(profile.credentialIdLength, 255), under: state.secret)
    guard let point = made.key.u2fPublicKey() else { return ResponseAPDU(status: .unknownError) }
    let signature = try attestation.signature(for: [0x00] + application + challenge + made.id + point)
    return ResponseAPDU(
      data: [0x05] + point + [UInt8(made.id.count)] + made.id + attestation.certificate + signature, status: .success)
  }

  private func u2fAuthenticate(_ apdu: CommandAPDU) throws -> ResponseAPDU {
    guard apdu.data.count >= 65, apdu.data.count == 65 + Int(apdu.data[64]) else {
      return ResponseAPDU(status: .wrongLength)
    }
    guard [0x03, 0x07, 0x08].contains(apdu.p1) else { return ResponseAPDU(status: .wrongParameters) }
    let challenge = Array(apdu.data[..<32])
    let application = Array(apdu.data[32..<64])
    // A credential that wants verification is not U2F's (section 12.1).
    guard let found = credential(Array(apdu.data[65...]), rpIdHash: application), found.protection != .required,
      found.algorithm == .es256
    else {
      if apdu.p1 == 0x07, profile.quirks.contains(.u2fCheckOnlyAlwaysYes) {
        return ResponseAPDU(status: .conditionsNotSatisfied)
      }
      return ResponseAPDU(status: profile.quirks.contains(.u2fForeignHandleWrongLength) ? .wrongLength : .wrongData)
    }
    if apdu.p1 == 0x07 { return ResponseAPDU(status: .conditionsNotSatisfied) }
    let present = apdu.p1 == 0x03
    if present, !u2fTouched(apdu) { return ResponseAPDU(status: .conditionsNotSatisfied) }
    let count = try nextSignatureCount()
    let facts = [present ? 0x01 : 0x00] + (0..<4).map { UInt8(count >> (24 - 8 * UInt32($0)) & 0xFF) }
    let signature = try found.key.signature(for: application + facts + challenge)
    return ResponseAPDU(data: facts + signature, status: .success)
  }
}
