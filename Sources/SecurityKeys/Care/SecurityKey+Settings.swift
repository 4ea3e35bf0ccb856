// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CFido2
import CTAPWire
import CryptoCore

/// authenticatorConfig (CTAP 2.1 section 6.11). Each act asks for the PIN, once, where one is set.
extension SecurityKey {
  /// Turns "always verify the person" on or off. Does nothing when it is as wanted.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func setAlwaysUv(_ on: Bool, pin: PINProvider?) async throws {
    try await configuring(pin) { device, info, pin in
      guard let now = info.option("alwaysUv") else {
        throw SecurityKeyError.notOffered("a switch for verifying the person always")
      }
      guard now != on else { return }
      try device.succeed(device.withPIN(pin) { fido_dev_toggle_always_uv(device.handle, $0) })
    }
  }

  /// Raises the minimum PIN length, in code points; it can never be lowered again but by a reset.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func setMinimumPINLength(_ length: Int, pin: PINProvider?) async throws {
    try await configuring(pin) { device, info, pin in
      guard info.option("setMinPINLength") == true else {
        throw SecurityKeyError.notOffered("a minimum PIN length that can be set")
      }
      let now = info.minPINLength ?? 4
      guard (now...63).contains(length) else { throw SecurityKeyError.minimumCannotShrink(from: now) }
      guard length != now else { return }
      try device.succeed(device.withPIN(pin) { fido_dev_set_pin_minlen(device.handle, length, $0) })
    }
  }

  /// Demands a new PIN before anything else is done with the key.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func requirePINChange(pin: PINProvider?) async throws {
    try await configuring(pin) { device, info, pin in
      guard info.option("setMinPINLength") == true else { throw SecurityKeyError.notOffered("a forced PIN change") }
      guard info.option("clientPin") == true else { throw SecurityKeyError.pinNotSet }
      try device.succeed(device.withPIN(pin) { fido_dev_force_pin_change(device.handle, $0) })
    }
  }

  private func configuring(
    _ pin: PINProvider?, _ body: (FidoDevice, AuthenticatorInfo, CheckedPIN?) throws -> Void
  ) async throws {
    try await act { [self] in
      let session = try connect()
      guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
      guard info.option("authnrCfg") == true else { throw SecurityKeyError.notOffered("settings") }
      // What the key says of itself may change with it, also when only the answer was lost.
      forget()
      defer { forget() }
      if info.option("clientPin") == true {
        try await withPIN(session, pin) { device, pin in
          device.link.begin()
          try body(device, info, pin)
        }
      } else {
        let device = try fido(session)
        device.link.begin()
        try body(device, info, nil)
      }
    }
  }
}
