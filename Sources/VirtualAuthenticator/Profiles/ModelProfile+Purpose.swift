// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

extension ModelProfile {
  /// What a built-in model is there for.
  public struct Purpose: Sendable, Hashable {
    /// What it is or does, without a full stop.
    public let shows: String
    /// What must be there before it shows that; nil for nothing.
    public let needs: String?
  }

  /// What the built-in model of this name is there for.
  public var purpose: Purpose { Self.purposes[name] ?? Purpose(shows: "a model without a description", needs: nil) }

  private static let pin = "a PIN (sealkey pin set)"

  private static let purposes: [String: Purpose] = [
    "virtual": p("the usual key: CTAP 2.1 and U2F, everything on"),
    "final": p("CTAP 2.1 without the older preview commands"),
    "u2f": p("an older key that speaks U2F only"),
    "ctap20": p("CTAP 2.0: PIN protocol 1, and no permissions"),
    "always-uv": p("verifies the person at every use", pin),
    "small": p("the tightest limits: one short ID in a list, requests of 510 bytes"),
    "medium": p("the limits of a widespread model: eight IDs in a list, requests of 1200 bytes"),
    "no-hmac-secret": p("has no hmac-secret, so it can be no key for somebody else"),
    "protocol1": p("PIN protocol 1 only"),
    "protocol2": p("PIN protocol 2 only"),
    "bio": p("has a fingerprint sensor", "a PIN and a finger (sealkey fingerprints add)"),
    "enterprise": p("offers enterprise attestation, which is off"),
    "non-canonical": p("says what it is in an order and with members that strict readers refuse"),
    "self-attestation": p("attests with the credential's own key"),
    "unknown-attestation": p("attests in a format that nobody knows"),
    "no-rk": p("cannot store passkeys"),
    "ignores-algorithm": p("makes an EdDSA credential where ES256 was asked for"),
    "other-curve": p("makes a credential on another curve"),
    "short-x": p("drops a byte of the public key's x"),
    "long-y": p("puts a zero before the public key's y"),
    "leading-zero-x": p("has a public key whose x begins with a zero"),
    "text-cose": p("writes text into the public key where numbers belong"),
    "padded-signature": p("pads the numbers in its signatures"),
    "signature-tail": p("adds bytes after its signatures"),
    "third-integer": p("puts a third number into its signatures"),
    "short-signature": p("makes signatures that are shorter than most"),
    "foreign-signature": p("signs with another key than the credential's"),
    "unannounced-bytes": p("adds bytes to the authenticator data that no flag announces"),
    "unasked-extension": p("answers an extension that nobody asked for"),
    "backed-up-without-eligibility": p("says that it is backed up and cannot be"),
    "backup-eligibility-changes": p("says at one time that it can be backed up, and at another that it cannot"),
    "asserts-for-app-id": p("answers a tap for another relying party"),
    "no-up-flag": p("answers as if nobody had touched it"),
    "no-uv-flag": p("takes the PIN and does not say that it verified the person", pin),
    "no-secret": p("promises a secret and gives none"),
    "forgetful-secret": p("gives another secret each time"),
    "single-secret": p("gives the same secret with verification and without", pin),
    "deaf-to-cancel": p("goes on waiting for a touch although it is told to stop"),
    "protocol2-fails": p("lists PIN protocol 2 and fails with it", pin),
    "filled-none": p("attests 'none' and adds a statement all the same"),
    "broken-certificate": p("attests with a certificate that nobody can read"),
    "calls-right-pin-wrong": p("calls the right PIN wrong", pin),
    "no-counter": p("has no signature counter"),
    "falling-counter": p("counts its signatures downwards"),
    "long-id": p("makes credential IDs of 1023 bytes, the most that WebAuthn allows"),
    "overlong-id": p("makes credential IDs of 1024 bytes, one more than WebAuthn allows"),
  ]

  private static func p(_ shows: String, _ needs: String? = nil) -> Purpose { Purpose(shows: shows, needs: needs) }
}
