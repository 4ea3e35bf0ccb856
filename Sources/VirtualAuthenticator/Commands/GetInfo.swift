// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// authenticatorGetInfo (CTAP 2.1 section 6.4).
extension KeyCore {
  /// What the key says about itself in its present state.
  func currentInfo() -> AuthenticatorInfo {
    var info = profile.info
    func set(_ option: String, _ value: Bool) { if info.options[option] != nil { info.options[option] = value } }
    set("clientPin", facts.pinIsSet)
    set("uv", !facts.fingerprints.isEmpty)
    set("bioEnroll", !facts.fingerprints.isEmpty)
    set("userVerificationMgmtPreview", !facts.fingerprints.isEmpty)
    set("alwaysUv", facts.alwaysUv)
    set("ep", facts.enterpriseAttestation)
    if alwaysUv {
      // Section 7.2: U2F cannot verify anybody, so it is off.
      set("makeCredUvNotRqd", false)
      info.versions.removeAll { $0 == "U2F_V2" }
    }
    if info.minPINLength != nil { info.minPINLength = facts.minPINLength }
    if info.forcePINChange != nil { info.forcePINChange = facts.forcePINChange }
    if info.remainingDiscoverableCredentials != nil {
      info.remainingDiscoverableCredentials = max(0, profile.discoverableCapacity - facts.credentials.count)
    }
    return info
  }

  var alwaysUv: Bool { profile.supports("alwaysUv") && facts.alwaysUv }
  var uvIsEnabled: Bool { profile.supports("uv") && !facts.fingerprints.isEmpty }
  /// "Protected by some form of user verification".
  var isProtected: Bool { facts.pinIsSet || uvIsEnabled }
  /// A PIN can give the permissions mc and ga.
  var pinServesCeremonies: Bool {
    profile.supports("clientPin") && profile.info.options["noMcGaPermissionsWithClientPin"] != true
  }

  func encodedInfo() -> [UInt8] {
    let canonical = currentInfo().encoded()
    guard profile.shufflesInfo, let map = try? CBORDecoder.decodeAll(canonical), let entries = map.map else {
      return canonical
    }
    // Members backwards, options too: nothing a strict reader takes, and nothing a lenient one minds.
    func shuffled(_ entries: [CBORItem.Entry]) -> [UInt8] {
      let head: [UInt8] = entries.count < 24 ? [0xA0 | UInt8(entries.count)] : [0xB8, UInt8(clamping: entries.count)]
      return head
        + entries.reversed().flatMap { entry -> [UInt8] in
          CBORValue.encode(entry.key.rewritten)
            + (entry.key.int == 4 ? shuffled(entry.value.map ?? []) : CBORValue.encode(entry.value.rewritten))
        }
    }
    return shuffled(entries)
  }
}
