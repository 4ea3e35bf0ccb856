// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CFido2
import CryptoCore
import Glibc

/// What the libraries can do that were found when this program started.
public enum LibraryCheck {
  /// A function that came with a release of libfido2: what is there tells the release.
  static let marks: [(release: String, function: String)] = [
    ("1.17", "fido_dev_get_puat"), ("1.16", "fido_cred_set_entattest"), ("1.15", "fido_cred_x5c_list_count"),
    ("1.14", "fido_assert_authdata_raw_ptr"), ("1.13", "fido_assert_empty_allow_list"),
  ]

  /// The newest release whose functions are all there.
  static func release(_ has: (String) -> Bool) -> String { marks.first { has($0.function) }?.release ?? "1.12" }

  /// libfido2, libcrypto and ML-KEM.
  static func findings(
    hasFunction: (String) -> Bool = { dlsym(nil, $0) != nil }, hasMLKEM: Bool = MLKEM768.isAvailable
  ) -> [Finding] {
    let release = release(hasFunction)
    var findings = [
      release == "1.12" || release == "1.13" || release == "1.14"
        ? Finding(
          .note, "libfido2", "libfido2 \(release) is here. What it lacks or does wrong is done by sealkey itself.")
        : Finding(.good, "libfido2", "libfido2 \(release) or later is here.")
    ]
    findings.append(
      hasMLKEM
        ? Finding(
          .good, "mlkem",
          "This computer's OpenSSL has ML-KEM-768: shares are wrapped for a time with quantum computers.")
        : Finding(
          .note, "mlkemMissing",
          "This computer's OpenSSL has no ML-KEM-768 (it came with 3.5): a device made here has only X25519, and "
            + "shares for it are not wrapped for a time with quantum computers.",
          next: "Use Debian 13 or later for a device that is to be endorsed."))
    return findings
  }
}
