// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What a pinUvAuthToken may still do (CTAP 2.1 section 6.5.2.1). One for the key: a new token ends the last.
struct PINTokenState {
  /// Permissions (section 6.5.5.7).
  struct Permissions: OptionSet {
    let rawValue: Int
    static let makeCredential = Permissions(rawValue: 0x01)
    static let getAssertion = Permissions(rawValue: 0x02)
    static let credentialManagement = Permissions(rawValue: 0x04)
    static let bioEnrollment = Permissions(rawValue: 0x08)
    static let largeBlobWrite = Permissions(rawValue: 0x10)
    static let authenticatorConfig = Permissions(rawValue: 0x20)
    static let defined: Permissions = Permissions(rawValue: 0x3F)
  }

  private(set) var protocolInUse: Int?
  var permissions: Permissions = []
  var rpId: String?
  private(set) var userPresent = false
  private(set) var userVerified = false
  private var startedAt: Int64 = 0
  private var used = false

  /// beginUsingPinUvAuthToken().
  mutating func begin(protocol number: Int, userIsPresent: Bool, now: Int64) {
    self = PINTokenState()
    protocolInUse = number
    userPresent = userIsPresent
    userVerified = true
    startedAt = now
  }

  /// stopUsingPinUvAuthToken().
  mutating func stop() { self = PINTokenState() }

  /// pinUvAuthTokenUsageTimerObserver(), run before every command.
  mutating func observe(now: Int64, timing: KeyTiming) {
    guard protocolInUse != nil else { return }
    let age = now - startedAt
    if age >= timing.tokenMaximumUse || (!used && age >= timing.tokenInitialUse) {
      stop()
    } else if age >= timing.tokenInitialUse {
      userPresent = false
    }
  }

  /// The platform has used the token in a command that was authenticated.
  mutating func markUsed() { used = true }

  /// clearUserPresentFlag(), clearUserVerifiedFlag() and clearPinUvAuthTokenPermissionsExceptLbw(): what a collected
  /// touch does.
  mutating func clearAfterTouch() {
    guard protocolInUse != nil else { return }
    userPresent = false
    userVerified = false
    permissions.formIntersection(.largeBlobWrite)
  }
}
