// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What a name in a record points to: the sheet's failure patterns, and what is known of real keys.
public enum FailurePattern {
  /// One sentence or two; nil for a name that needs none.
  public static func explanation(of name: String, transport: String = "") -> String? {
    let stem = name.prefix { $0 != "(" }
    if stem == "pinInvalid", transport == "pcsc" { return overNFC }
    return table[String(stem)]
  }

  private static let overNFC =
    "Over NFC a right PIN taken for wrong points to the key's UV policy (alwaysUv), not to the parser; retest over USB."

  private static let table: [String: String] = [
    "unsupportedAlgorithm":
      "The key ignored the ES256 pin: exclude the model, or broaden what Seal asks for and verifies.",
    "unsupportedCurve": "The key made a credential on another curve: exclude the model, or broaden what Seal takes.",
    "coordinateLength":
      "A coordinate is not 32 bytes long. Seal pads or trims it, so it works there; a strict reader refuses it.",
    "malformedAuthData":
      "The lengths in the authenticator data do not fit: a credential ID longer than WebAuthn allows, or bytes cut off.",
    "badAnswer": "This program's own, stricter reader did not take the answer; the cell says what Seal makes of it.",
    "oversizedCoordinate": "A coordinate is longer than 32 bytes even without leading zeros: no P-256 key.",
    "missingCoordinates": "The credential's public key is incomplete.",
    "badPublicKey": "The numbers are no point on the curve.",
    "coseKeyWrongType": "The COSE key has text where numbers belong; the client may have rewritten it on the way.",
    "signatureNotMinimalDER":
      "The signature has needless leading zeros, so it did not parse: an encoding quirk. Capture its length and the model.",
    "signatureNotDER": "The signature did not parse as DER: an encoding quirk. Capture its length and the model.",
    "signatureTrailingBytes": "Bytes follow the signature, so it did not parse: an encoding quirk. Capture its length.",
    "signatureExtraInteger": "The signature holds a third number, so it did not parse: an encoding quirk.",
    "signatureOutOfRange": "A number in the signature is out of range.",
    "signatureDoesNotMatch":
      "The signature is well formed and not this credential's: a wrong credential answered, or the directory's key is another.",
    "authenticatorDataTrailingBytes":
      "Bytes follow the authenticator data that no flag announces. Seal ignores them; a strict reader refuses them.",
    "rpIdHashMismatch": "The answer is for another relying party.",
    "userNotPresent": "The key answered without a touch.",
    "userNotVerified":
      "The key has a PIN and did not verify the person: noted, not refused, because Seal only prefers it.",
    "uvMissing": "The key has a PIN and did not verify the person: noted, not refused, because Seal only prefers it.",
    "backupStateWithoutEligibility": "BS is set and BE is not, which WebAuthn forbids.",
    "backupEligibilityChanged": "BE is not what it was at registration.",
    "signCountNotIncreased":
      "The counter did not rise: a restarted counter, or a copied key. Seal does not look at it.",
    "attestationNotEmpty":
      "The format is none and yet there is a statement. The credential's own signatures still count.",
    "certificateMalformed":
      "A certificate of the attestation cannot be read: only the model is not proven, the key's signatures still count.",
    "prfUnsupported": "The key has no hmac-secret: nothing was published. Use another key for somebody else.",
    "prfMissing": "No secret came back: check that a PIN is set (some keys tie the secret to it), then the system.",
    "wrongKey": "The secret is another one than at enrolment: a reset key, or PIN state that changed.",
    "pinInvalid": "The PIN was wrong. The run has stopped: no PIN is tried twice.",
    "pinAuthInvalid": "The key refused the PIN's proof: with protocol 2 listed, some firmware fails with it.",
    "pinBlocked": "No PIN tries are left.",
    "pinAuthBlocked": "The key wants to be unplugged before it takes a PIN again.",
    "pinRepeated": "The PIN that the key had refused was given again, so it was not sent.",
    "pinTriesLow": "So few PIN tries are left that nothing was tried.",
    "puatRequired": "The key wants its PIN for this.",
    "unsupportedAlgorithmStatus": "The key does not make ES256 credentials.",
    "requestTooLarge": "The request does not fit what the key takes.",
    "credentialIDLength": "The credential ID has an impossible length.",
    "timedOut": "Nobody touched in time, or the key never asked.",
    "unplugged": "The key went away in the middle; the run goes on where it stopped when it is started again.",
    "notOnThisKey": "The key does not know the credential that it made.",
    "fido2Needed": "The key speaks only U2F.",
    "uvNotConfigured": "The key has no PIN and no fingerprint, and this needs one.",
    "challengeMismatch": "The answer is for another challenge.",
    "requestMismatch": "The request is not what this step asks, so its answer shows nothing of it.",
    "verificationNotShown":
      "The key was to verify the person, and its answer does not say that it did (flag UV): note it.",
    "otherPINProtocol": "The answer came over another PIN protocol than the one this step is about.",
    "cancelIgnored": "The key did not answer when it was told to stop: it may blink on until its own time is over.",
    "answerMismatch": "The answer is not what the key's own bytes say.",
    "answerRepeated": "The very signature stands at an earlier try: one answer counts once.",
    "skipNotTrue": "The reason why the step was not done does not follow from what the key said.",
    "clientDataMismatch": "The bytes that were hashed are not those of this run.",
  ]
}
