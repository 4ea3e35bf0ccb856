// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// authenticatorConfig (CTAP 2.1 section 6.11).
extension KeyCore {
  func config(_ p: CommandParameters) throws(CTAPStatus) -> [UInt8] {
    let subcommand = try p.number(1).needed()
    let parameters = try p.member(2)
    switch subcommand {
    case 0x01 where profile.supports("ep"):
      try authoriseConfig(p, subcommand)
      facts.enterpriseAttestation = true
      try save()
    case 0x02 where profile.supports("alwaysUv"):
      // A key that nobody can verify to must not lock its owner out: turning alwaysUv off is free then.
      if isProtected || !alwaysUv { try authoriseConfig(p, subcommand) }
      facts.alwaysUv.toggle()
      try save()
    case 0x03 where profile.info.option("setMinPINLength") == true:
      try authoriseConfig(p, subcommand)
      try setMinPINLength(parameters)
    default: throw .invalidParameter
    }
    return []
  }

  /// Steps 4 and 5: a protected key, or one with alwaysUv, wants the permission acfg.
  private func authoriseConfig(_ p: CommandParameters, _ subcommand: Int) throws(CTAPStatus) {
    guard isProtected || alwaysUv else { return }
    guard let param = try p.bytes(4) else { throw .puatRequired }
    let pin = try pinProtocol(try p.number(3))
    let signed =
      [UInt8](repeating: 0xFF, count: 32) + [CTAPCommand.config.rawValue, UInt8(truncatingIfNeeded: subcommand)]
      + (try p.member(2).map(p.raw) ?? [])
    try verifyToken(param, protocol: pin, message: signed, permission: .authenticatorConfig)
  }

  /// Section 6.11.4.
  private func setMinPINLength(_ parameters: CBORItem?) throws(CTAPStatus) {
    let length = try parameters?.number(1) ?? facts.minPINLength
    var rpIds: [String]?
    if let list = try parameters?.optional(2, { $0.array }) {
      rpIds = []
      for item in list {
        guard let rpId = item.text else { throw .cborUnexpectedType }
        rpIds?.append(rpId)
      }
    }
    let force = try parameters?.optional(3) { $0.bool } ?? false
    guard length >= facts.minPINLength else { throw .pinPolicyViolation }
    guard length <= 63 else { throw .invalidParameter }
    if force, !facts.pinIsSet { throw .pinNotSet }
    if let rpIds {
      guard rpIds.count <= (profile.info.maxRPIDsForSetMinPINLength ?? 0) else { throw .keyStoreFull }
      facts.minPINLengthRPIDs = rpIds
    }
    if force || (facts.pinIsSet && facts.pinCodePoints < length) { facts.forcePINChange = true }
    facts.minPINLength = length
    try save()
    if facts.forcePINChange {
      for pin in protocols { pin.resetToken() }
      token.stop()
    }
  }
}
