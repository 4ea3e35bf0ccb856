// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

extension ModelProfile {
  /// Models with one fault each: every failure that the matrix knows, and every quirk in the data that a key can show.
  /// The virtual key that has one behaves in all else as the usual one.
  public static let faulty: [ModelProfile] =
    quirky.map { name, quirk in virtual.varied(name) { $0.quirks = [quirk] } } + [
      virtual.varied("filled-none") { $0.attestation = .filledNone },
      virtual.varied("broken-certificate") { $0.attestation = .brokenCertificate },
      virtual.varied("calls-right-pin-wrong") {
        $0.quirks = [.callsRightPINWrong]
        // So that the first to need the PIN is a ceremony.
        $0.info.options["credMgmt"] = nil
        $0.info.options["credentialMgmtPreview"] = nil
      },
      virtual.varied("no-counter") { $0.counter = .zero },
      virtual.varied("falling-counter") { $0.counter = .falling },
      virtual.varied("long-id") {
        $0.credentialIdLength = 1023
        $0.info.maxCredentialIdLength = 1023
      },
      // WebAuthn level 3 section 6.5.1 ends at 1,023.
      virtual.varied("overlong-id") {
        $0.credentialIdLength = 1024
        $0.info.maxCredentialIdLength = 1024
      },
    ]

  private static let quirky: [(String, Quirk)] = [
    ("ignores-algorithm", .ignoresAlgorithm), ("other-curve", .otherCurve), ("short-x", .shortX), ("long-y", .longY),
    ("leading-zero-x", .leadingZeroX), ("text-cose", .textCOSE), ("padded-signature", .paddedSignature),
    ("signature-tail", .signatureTail), ("third-integer", .thirdInteger), ("short-signature", .shortSignature),
    ("foreign-signature", .foreignSignature), ("unannounced-bytes", .unannouncedBytes),
    ("unasked-extension", .unaskedExtension), ("backed-up-without-eligibility", .backedUpWithoutEligibility),
    ("backup-eligibility-changes", .backupEligibilityChanges), ("asserts-for-app-id", .assertsForAppID),
    ("no-up-flag", .noUserPresenceFlag), ("no-uv-flag", .noUserVerificationFlag),
    ("no-secret", .noSecret), ("forgetful-secret", .forgetfulSecret),
    ("single-secret", .singleCredRandom), ("deaf-to-cancel", .ignoresCancel), ("protocol2-fails", .protocol2Fails),
  ]
}
