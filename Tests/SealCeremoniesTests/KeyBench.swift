// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import SecurityKeys
import VirtualAuthenticator
import WebAuthnCore

/// A key whose requests and answers can be changed on their way.
struct TamperedKey: CeremonyKey {
  let real: any CeremonyKey
  var capability: @Sendable (inout KeyCapabilities) -> Void = { _ in }
  var registering: @Sendable (inout RegistrationRequest) -> Void = { _ in }
  var registration: @Sendable (inout RegistrationResponse) -> Void = { _ in }
  var asking: @Sendable (inout AssertionRequest) -> Void = { _ in }
  var assertion: @Sendable (inout AssertionResponse) -> Void = { _ in }

  func capabilities() async throws -> KeyCapabilities {
    var found = try await real.capabilities()
    capability(&found)
    return found
  }
  func makeCredential(_ request: RegistrationRequest) async throws -> RegistrationResponse {
    var changed = request
    registering(&changed)
    var response = try await real.makeCredential(changed)
    registration(&response)
    return response
  }
  func getAssertion(_ request: AssertionRequest) async throws -> AssertionResponse {
    var changed = request
    asking(&changed)
    var response = try await real.getAssertion(changed)
    assertion(&response)
    return response
  }
}

/// A virtual key on a bench: it can be unplugged, plugged in again, given a PIN and reset.
final class KeyBench: Sendable {
  static let pin = "2468"
  let virtual: VirtualAuthenticator
  private let id = UUIDText.random()

  init(_ profile: ModelProfile = .virtual, pin: String? = KeyBench.pin) async throws {
    virtual = try VirtualAuthenticator(profile: profile)
    if let pin {
      try await plugged { key, _ in try await key.setPIN(SecretBytes(Array(pin.utf8))) }
    }
  }

  /// Plugs the key in, does something, unplugs it.
  func plugged<R: Sendable>(
    pin: String = KeyBench.pin, _ body: (SecurityKey, KeySession) async throws -> R
  ) async throws -> R {
    virtual.powerCycle()
    let (descriptor, host) = try VirtualKeyHost.inProcess(virtual)
    defer { host.stop() }
    let key = SecurityKey(
      // A key that was once seen as FIDO2 is never used as anything less: every bench has an id of its own.
      .reports(id: id, name: "virtual key", kindName: "virtual", isSimulated: true) { descriptor })
    do {
      let result = try await body(key, KeySession(key) { _ in SecretBytes(Array(pin.utf8)) })
      await key.close()
      return result
    } catch {
      await key.close()
      throw error
    }
  }

  /// authenticatorReset, which this program itself never sends.
  func reset() {
    virtual.powerCycle()
    _ = virtual.handle([0x07])
  }

  /// Sponsors an identity on the key.
  func sponsored(
    _ change: (KeySession) -> any CeremonyKey = { $0 }
  ) async throws -> Ceremony.Sponsored {
    try await plugged { _, session in
      try await Ceremony(key: change(session)).sponsor(name: "Emma", at: SealDate(epoch: 1_800_000_000))
    }
  }

  /// Unlocks a record and says how the salt was given.
  func unlock(
    _ record: DirectoryRecord, pin: String = KeyBench.pin, _ change: (KeySession) -> any CeremonyKey = { $0 }
  ) async throws -> Ceremony.SaltForm {
    try await plugged(pin: pin) { _, session in
      let opened = try await Ceremony(key: change(session)).unlock(record)
      return opened.saltForm
    }
  }
}

/// The name of the error that `body` ends with, or nil.
func failure(_ body: () async throws -> Void) async -> String? {
  do {
    try await body()
    return nil
  } catch { return (error as? any NamedError)?.name ?? "\(error)" }
}
