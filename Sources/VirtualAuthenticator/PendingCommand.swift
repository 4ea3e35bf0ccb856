// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore

/// A command whose next parts other commands ask for (CTAP 2.1 section 6, stateful commands).
enum PendingCommand {
  case none
  /// getAssertion, for getNextAssertion.
  case assertion(PendingAssertion)
  /// enumerateRPsBegin: the relying parties that are left.
  case relyingParties([String])
  /// enumerateCredentialsBegin: the ids that are left.
  case credentials([[UInt8]])
  /// enrollBegin: a fingerprint that is not finished.
  case enrolment(id: [UInt8], remaining: Int)

  /// Whether the command may belong to this one; any other makes the key forget it.
  func continues(with command: CTAPCommand) -> Bool {
    switch self {
    case .none: true
    case .assertion: command == .getNextAssertion
    case .relyingParties, .credentials:
      command == .credentialManagement || command == .credentialManagementPreview
    case .enrolment: command == .bioEnrollment || command == .bioEnrollmentPreview
    }
  }
}

/// What getNextAssertion needs to know of its getAssertion.
final class PendingAssertion {
  let rpId: String
  let clientDataHash: [UInt8]
  let userPresent: Bool
  let userVerified: Bool
  let extensions: AssertionExtensions
  /// The credentials that are left, the next one first.
  var remaining: [StoredCredential]

  init(
    rpId: String, clientDataHash: [UInt8], userPresent: Bool, userVerified: Bool, extensions: AssertionExtensions,
    remaining: [StoredCredential]
  ) {
    self.rpId = rpId
    self.clientDataHash = clientDataHash
    self.userPresent = userPresent
    self.userVerified = userVerified
    self.extensions = extensions
    self.remaining = remaining
  }
}
