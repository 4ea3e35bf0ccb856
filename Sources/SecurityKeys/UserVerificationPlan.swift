// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// How this key verifies the person for this act: FORMATS.md's table "When is the PIN asked?".
enum UserVerificationPlan: Hashable {
  /// Touch only; UV will be 0.
  case none
  /// The PIN.
  case pin
  /// The key's own reader first; the PIN when the key says so.
  case builtIn

  enum Act { case register, assert, prf }

  /// The row of the table. `info` nil is a U2F key.
  static func plan(
    _ info: AuthenticatorInfo?, _ act: Act, _ requirement: UserVerificationRequirement
  ) throws(SecurityKeyError) -> UserVerificationPlan {
    guard let info else {
      if act == .prf { throw .prfUnsupported }
      if requirement == .required { throw .fido2Needed }
      return .none
    }
    let hasPIN = info.option("clientPin") == true
    let hasReader = info.option("uv") == true
    let always = info.option("alwaysUv") == true
    let verify: UserVerificationPlan = hasReader ? .builtIn : .pin
    guard hasPIN || hasReader else {
      // A key holds one secret for use with verification and another for use without: PRF takes only the first, unless
      // the caller unlocks something that was made without.
      if always || requirement == .required || (act == .prf && requirement != .discouraged) { throw .uvNotConfigured }
      return .none
    }
    guard requirement == .discouraged, !always else { return verify }
    // Without makeCredUvNotRqd a key with a PIN wants it for a new credential, whatever was asked.
    if act == .register, info.option("makeCredUvNotRqd") != true { return verify }
    return .none
  }
}
