// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// authenticatorBioEnrollment (CTAP 2.1 section 6.7), also under its preview command byte. The sensor is simulated: each
/// touch is a good sample.
extension KeyCore {
  func bioEnrollment(_ p: CommandParameters) throws(CTAPStatus) -> [UInt8] {
    if try p.bool(6) == true { return CBORValue.encode(.intMap([(1, .int(1))])) }
    guard let modality = try p.number(1) else { throw .missingParameter }
    guard modality == 1 else { throw .invalidParameter }
    let parameters = try p.member(3)
    let subcommand = try p.number(2).needed()
    switch subcommand {
    case 0x01:
      try authoriseBio(p, subcommand)
      guard facts.fingerprints.count < profile.fingerprintCapacity else { throw .fingerprintDatabaseFull }
      return try sample(id: freshIdentifier(2), remaining: profile.fingerprintSamples, isFirst: true)
    case 0x02:
      let id = try parameters.needed().optional(1) { $0.bytes }.needed()
      try authoriseBio(p, subcommand)
      guard case .enrolment(id, let remaining) = try resume() else { throw .invalidOption }
      return try sample(id: id, remaining: remaining, isFirst: false)
    case 0x03:
      dropPending()
      return []
    case 0x04:
      try authoriseBio(p, subcommand)
      guard !facts.fingerprints.isEmpty else { throw .invalidOption }
      let list = facts.fingerprints.map { f -> CBORValue in
        .intMap([(1, .bytes(f.id)), (2, f.name.map { .text($0) })])
      }
      return CBORValue.encode(.intMap([(7, .array(list))]))
    case 0x05:
      let parameters = try parameters.needed()
      let id = try parameters.optional(1) { $0.bytes }.needed()
      let name = try parameters.optional(2) { $0.text }.needed()
      try authoriseBio(p, subcommand)
      guard let index = facts.fingerprints.firstIndex(where: { $0.id == id }) else { throw .invalidOption }
      guard name.utf8.count <= Self.longestFingerprintName else { throw .invalidLength }
      facts.fingerprints[index].name = name
      try save()
      return []
    case 0x06:
      let id = try parameters.needed().optional(1) { $0.bytes }.needed()
      try authoriseBio(p, subcommand)
      guard let index = facts.fingerprints.firstIndex(where: { $0.id == id }) else { throw .invalidOption }
      facts.fingerprints.remove(at: index)
      try save()
      return []
    case 0x07:
      // Kind 1: touch, not swipe.
      return CBORValue.encode(
        .intMap([(2, .int(1)), (3, .int(profile.fingerprintSamples)), (8, .int(Self.longestFingerprintName))]))
    default: throw .invalidSubcommand
    }
  }

  private static let longestFingerprintName = 32

  private func authoriseBio(_ p: CommandParameters, _ subcommand: Int) throws(CTAPStatus) {
    guard let param = try p.bytes(5) else { throw .puatRequired }
    let pin = try pinProtocol(try p.number(4))
    let signed = [0x01, UInt8(truncatingIfNeeded: subcommand)] + (try p.member(3).map(p.raw) ?? [])
    try verifyToken(param, protocol: pin, message: signed, permission: .bioEnrollment)
    // The permission be takes no rpId (table of section 6.5.5.7).
  }

  /// Takes one sample and says how many are left; a sample that did not come counts as none.
  private func sample(id: [UInt8], remaining: Int, isFirst: Bool) throws(CTAPStatus) -> [UInt8] {
    var left = remaining
    var feedback = 0x00
    switch ask(.touch, rpId: nil) {
    case .given: left -= 1
    // CTAP2_ENROLL_FEEDBACK_NO_USER_ACTIVITY.
    case .timedOut, .refused: feedback = 0x0D
    case .cancelled, .abandoned:
      dropPending()
      throw .keepaliveCancel
    }
    if left <= 0 {
      facts.fingerprints.append(StoredFingerprint(id: id))
      try save()
      dropPending()
    } else {
      remember(.enrolment(id: id, remaining: left))
    }
    return CBORValue.encode(
      .intMap([(4, isFirst ? .bytes(id) : nil), (5, .int(feedback)), (6, .int(max(0, left)))]))
  }
}
