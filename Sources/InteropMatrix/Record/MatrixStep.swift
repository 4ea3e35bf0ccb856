// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// The steps of a run, in the order in which they are done.
public enum MatrixStep: String, Sendable, Hashable, CaseIterable {
  /// A root credential as Seal makes it: ES256, not discoverable.
  case register
  /// Sign in with an allow list.
  case signIn
  /// A friend's tap.
  case friend
  /// The endorsement of a device.
  case endorse
  /// A credential that gives secrets (hmac-secret), as for a sponsored key.
  case prfRegister
  /// The endorsement of locked halves, with PRF in the same touch.
  case prfEndorse
  /// The same secret again, with user verification.
  case prfAgain
  /// The same secret again, without user verification.
  case prfWithoutUV
  /// The same secret again, over PIN/UV auth protocol 1.
  case prfProtocol1
  /// The same secret again, over PIN/UV auth protocol 2.
  case prfProtocol2
  /// A touch that is waited for, and cancelled.
  case cancel
  /// The locked halves opened on another computer.
  case secondHost

  /// What is done, for a person.
  public var title: String {
    switch self {
    case .register: "register"
    case .signIn: "sign in"
    case .friend: "friend tap"
    case .endorse: "endorse a device"
    case .prfRegister: "PRF at registration"
    case .prfEndorse: "PRF at endorsement"
    case .prfAgain: "PRF once more, with verification"
    case .prfWithoutUV: "PRF once more, without verification"
    case .prfProtocol1: "PRF once more, over PIN protocol 1"
    case .prfProtocol2: "PRF once more, over PIN protocol 2"
    case .secondHost: "unlock on a second computer"
    case .cancel: "cancel during a touch"
    }
  }

  /// Whether the step makes a credential.
  public var isRegistration: Bool { self == .register || self == .prfRegister }
  /// Whether the step asks for a secret.
  public var asksPRF: Bool {
    switch self {
    case .prfEndorse, .prfAgain, .prfWithoutUV, .prfProtocol1, .prfProtocol2, .secondHost: true
    default: false
    }
  }
  /// Whether the step uses the credential that gives secrets.
  public var usesPRFCredential: Bool { asksPRF }
}
