// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// The PIN of a key (CTAP 2.1 section 6.5).
extension SecurityKey {
  /// Sets the first PIN. Nothing is sent for a PIN that the key would refuse for its length.
  /// - Throws: ``SecurityKeyError/pinTooShort(minimum:)``, ``SecurityKeyError/pinUnusable``,
  ///   ``SecurityKeyError/pinPolicyViolation``, ``SecurityKeyError/pinAlreadySet``.
  public func setPIN(_ pin: consuming SecretBytes) async throws {
    let new = try await checked(pin)
    try await act { [self] in
      let session = try connect()
      guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
      switch info.option("clientPin") {
      case false: break
      case true: throw SecurityKeyError.pinAlreadySet
      default: throw SecurityKeyError.pinUnsupported
      }
      try fido(session).setPIN(new, old: nil)
      refusedPINs.forget(mark(info))
      forget()
    }
  }

  /// Changes the PIN. The old one is asked for with `old`, once, and a wrong one costs a try.
  /// - Throws: as ``setPIN(_:)``, and ``SecurityKeyError/pinInvalid(triesLeft:)`` and its kin.
  public func changePIN(to pin: consuming SecretBytes, old provider: @escaping PINProvider) async throws {
    let new = try await checked(pin)
    try await act { [self] in
      let session = try connect()
      guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
      guard info.option("clientPin") == true else { throw SecurityKeyError.pinNotSet }
      try await withPIN(session, provider, changesPIN: true) { device, old in try device.setPIN(new, old: old) }
      refusedPINs.forget(mark(info))
      forget()
    }
  }

  /// The PIN as libfido2 wants it, its length checked against this key's minimum.
  private func checked(_ pin: consuming SecretBytes) async throws -> CheckedPIN {
    let minimum = try await open().info?.minPINLength
    return try CheckedPIN(pin, minimumLength: minimum ?? 4)
  }
}
