// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// A CTAP2 command byte (CTAP 2.1 section 6, and the two preview commands that keys before 2.1 used).
public enum CTAPCommand: UInt8, Sendable, Hashable, CaseIterable {
  /// authenticatorMakeCredential (section 6.1).
  case makeCredential = 0x01
  /// authenticatorGetAssertion (section 6.2).
  case getAssertion = 0x02
  /// authenticatorGetInfo (section 6.4).
  case getInfo = 0x04
  /// authenticatorClientPIN (section 6.5).
  case clientPIN = 0x06
  /// authenticatorReset (section 6.6).
  case reset = 0x07
  /// authenticatorGetNextAssertion (section 6.3).
  case getNextAssertion = 0x08
  /// authenticatorBioEnrollment (section 6.7).
  case bioEnrollment = 0x09
  /// authenticatorCredentialManagement (section 6.8).
  case credentialManagement = 0x0A
  /// authenticatorSelection (section 6.9).
  case selection = 0x0B
  /// authenticatorLargeBlobs (section 6.10).
  case largeBlobs = 0x0C
  /// authenticatorConfig (section 6.11).
  case config = 0x0D
  /// Bio enrolment as keys of FIDO_2_1_PRE know it.
  case bioEnrollmentPreview = 0x40
  /// Credential management as keys of FIDO_2_1_PRE know it.
  case credentialManagementPreview = 0x41

  /// The name the standard uses, without the `authenticator` in front.
  public var name: String {
    switch self {
    case .makeCredential: "makeCredential"
    case .getAssertion: "getAssertion"
    case .getInfo: "getInfo"
    case .clientPIN: "clientPIN"
    case .reset: "reset"
    case .getNextAssertion: "getNextAssertion"
    case .bioEnrollment: "bioEnrollment"
    case .credentialManagement: "credentialManagement"
    case .selection: "selection"
    case .largeBlobs: "largeBlobs"
    case .config: "config"
    case .bioEnrollmentPreview: "bioEnrollmentPreview"
    case .credentialManagementPreview: "credentialManagementPreview"
    }
  }
}
