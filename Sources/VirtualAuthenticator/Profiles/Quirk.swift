// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// A way in which real keys depart from the standard, as a switch on a virtual one. The numbers are those of the
/// collection of quirks that this project keeps (Q1, Q2, ...), where there is one.
public enum Quirk: String, Sendable, Hashable, CaseIterable {
  /// Q1: a pubKeyCredParams list with an algorithm the key does not know is refused whole.
  case refusesUnknownAlgorithm
  /// Q3: an option `uv` of false is refused with 0x2B by a key without built-in verification.
  case refusesUvFalse
  /// Q4: `uv` beside a pinUvAuthParam is refused with 0x2C.
  case refusesUvWithToken
  /// Q5: an unknown option is refused with 0x15.
  case refusesUnknownOption
  /// Q6: an unknown extension is refused with 0x2B.
  case refusesUnknownExtension
  /// Q7: the exclude list is matched whatever the rpId.
  case excludesAcrossRPs
  /// Q18: an empty pinUvAuthParam gives 0x33 when a PIN is set.
  case emptyPinAuthInvalid
  /// Q19: an empty pinUvAuthParam without a protocol gives 0x14 at once, without a touch.
  case emptyPinAuthNeedsProtocol
  /// Q23: the PIN that brings the retries to zero gives 0x31 instead of 0x32.
  case lastWrongPINIsInvalid
  /// Q24: three wrong PINs in a row do not block.
  case noSoftBlock
  /// Q24: two wrong PINs in a row block.
  case earlySoftBlock
  /// Q28: a descriptor with members beside `id` and `type` is refused with 0x12.
  case refusesDescriptorExtras
  /// Q31: the extension outputs in the authenticator data are not in canonical order.
  case unsortedExtensionOutputs
  /// Q35: PIN/UV auth protocol 2 is listed, but fails with 0x33.
  case protocol2Fails
  /// Q37: `hmac-secret` with a protocol member is refused with 0x16.
  case refusesHMACSecretProtocol
  /// Q43: hmac-secret gives the same secret with user verification and without.
  case singleCredRandom
  /// Q46: under alwaysUv, a silent probe answers as if there were no credential.
  case alwaysUvHidesCredentials
  /// Q51, Q52: a getAssertion without a match gives 0x22 instead of 0x2E.
  case noMatchIsInvalidCredential
  /// Q54: CANCEL is ignored.
  case ignoresCancel
  /// Q57: U2F answers 6700 to a key handle of another key.
  case u2fForeignHandleWrongLength
  /// Q57: U2F answers an HID error to a key handle longer than 128 bytes.
  case u2fLongHandleHIDError
  /// Q58: a U2F check-only says yes to every handle.
  case u2fCheckOnlyAlwaysYes
  /// Q60: the INIT reply promises CBOR, but CBOR is refused.
  case cborPromisedButRefused
  /// Q62: an allow list of several ids gives 0x2E although one matches.
  case listsOfSeveralNeverMatch
  /// Q63: `credential` is left out when the allow list has one entry.
  case omitsOnlyCredential
  /// Q65: getPINRetries wants a protocol.
  case retriesNeedProtocol
  /// INIT on the busy channel is answered with BUSY and does not end the wait.
  case initDoesNotAbort
  /// KEEPALIVE only when its status changes.
  case keepaliveOnChangeOnly
  /// Hostile: a getAssertion promises 2^31 credentials, and getNextAssertion never ends.
  case endlessAssertions
  /// Hostile: a touch wait never ends, whatever the deadline; keepalives go on.
  case endlessKeepalives

  // In the data: what a verifier meets after the ceremony has worked.

  /// The algorithm asked for is ignored: credentials are Ed25519 ones (D14).
  case ignoresAlgorithm
  /// Credentials are on P-384, under the name of ES256.
  case otherCurve
  /// D3: a leading zero of x is left out: 31 bytes.
  case shortX
  /// A zero stands before y: 33 bytes.
  case longY
  /// D4: x begins with a zero byte.
  case leadingZeroX
  /// D5: Ed25519 under text where numbers belong, in a map that says it holds one pair less.
  case textCOSE
  /// D1: a needless zero before r.
  case paddedSignature
  /// D1b: a byte after the signature.
  case signatureTail
  /// D1b: a third number in the signature.
  case thirdInteger
  /// D2, D12: r or s is shorter than 32 bytes.
  case shortSignature
  /// Assertions are signed with another key.
  case foreignSignature
  /// D6: bytes that no flag announces follow the authenticator data.
  case unannouncedBytes
  /// D7: an extension that nobody asked for, after the public key.
  case unaskedExtension
  /// D11: assertions say that they are backed up, without being eligible for it.
  case backedUpWithoutEligibility
  /// D11: assertions say that they may be backed up, the registration did not.
  case backupEligibilityChanges
  /// D15: assertions are for an AppID of U2F, not for the relying party.
  case assertsForAppID
  /// Assertions do not say that somebody was there.
  case noUserPresenceFlag
  /// No answer says that the person was verified.
  case noUserVerificationFlag
  /// A PIN, right or wrong, is called wrong, and not counted.
  case callsRightPINWrong
  /// hmac-secret is promised, and no secret comes.
  case noSecret
  /// hmac-secret gives another secret each time.
  case forgetfulSecret
}
