// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CFido2
import CryptoCore

/// A discoverable credential that a key stores.
public struct Passkey: Sendable, Hashable {
  /// The credential ID.
  public let id: [UInt8]
  /// The relying party it is for.
  public let rpID: String
  /// The relying party's own name, where the key kept it.
  public let rpName: String?
  /// The user handle.
  public let userID: [UInt8]
  /// user.name, where the key kept it.
  public let userName: String?
  /// user.displayName, where the key kept it.
  public let userDisplayName: String?
}

/// What a key stores, and how much more it takes.
public struct PasskeyInventory: Sendable, Hashable {
  /// Every credential, by relying party.
  public let passkeys: [Passkey]
  /// How many more fit, by the key's own estimate.
  public let remaining: Int
}

/// authenticatorCredentialManagement (CTAP 2.1 section 6.8). Each act asks for the PIN, once.
extension SecurityKey {
  /// Every discoverable credential.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func passkeys(pin: PINProvider?) async throws -> PasskeyInventory {
    try await managing(pin) { device, pin in try device.inventory(pin) }
  }

  /// Removes one discoverable credential, for good.
  /// - Throws: ``SecurityKeyError/notOnThisKey`` when there is none of that ID, or as ``passkeys(pin:)``.
  public func deletePasskey(_ id: [UInt8], pin: PINProvider?) async throws {
    try await managing(pin) { device, pin in
      device.link.begin()
      try device.succeed(device.withPIN(pin) { fido_credman_del_dev_rk(device.handle, id, id.count, $0) })
    }
  }

  /// Changes the names of one discoverable credential.
  /// - Throws: ``SecurityKeyError/notOnThisKey`` when there is none of that ID, or as ``passkeys(pin:)``.
  public func renamePasskey(
    _ passkey: Passkey, userName: String, userDisplayName: String, pin: PINProvider?
  ) async throws {
    try await managing(pin) { device, pin in
      guard let credential = fido_cred_new() else { throw SecurityKeyError.library(code: FIDO_ERR_INTERNAL) }
      defer {
        var freed: OpaquePointer? = credential
        fido_cred_free(&freed)
      }
      try device.check(fido_cred_set_id(credential, passkey.id, passkey.id.count))
      try device.check(
        fido_cred_set_user(
          credential, passkey.userID, passkey.userID.count, userName, userDisplayName, nil))
      device.link.begin()
      try device.succeed(device.withPIN(pin) { fido_credman_set_dev_rk(device.handle, credential, $0) })
    }
  }

  private func managing<R>(
    _ pin: PINProvider?, _ body: (FidoDevice, CheckedPIN?) throws -> R
  ) async throws -> R {
    try await act { [self] in
      let session = try connect()
      guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
      guard info.option("credMgmt") == true || info.option("credentialMgmtPreview") == true else {
        throw SecurityKeyError.notOffered("the management of passkeys")
      }
      guard info.option("clientPin") == true else { throw SecurityKeyError.pinNotSet }
      return try await withPIN(session, pin, body)
    }
  }
}

extension FidoDevice {
  /// Relying parties, then the credentials of each.
  fileprivate func inventory(_ pin: CheckedPIN?) throws(SecurityKeyError) -> PasskeyInventory {
    guard let metadata = fido_credman_metadata_new() else { throw .library(code: FIDO_ERR_INTERNAL) }
    defer {
      var freed: OpaquePointer? = metadata
      fido_credman_metadata_free(&freed)
    }
    link.begin()
    try succeed(withPIN(pin) { fido_credman_get_dev_metadata(handle, metadata, $0) })
    let remaining = Int(clamping: fido_credman_rk_remaining(metadata))
    guard fido_credman_rk_existing(metadata) > 0 else { return PasskeyInventory(passkeys: [], remaining: remaining) }
    guard let parties = fido_credman_rp_new() else { throw .library(code: FIDO_ERR_INTERNAL) }
    defer {
      var freed: OpaquePointer? = parties
      fido_credman_rp_free(&freed)
    }
    link.begin()
    do { try succeed(withPIN(pin) { fido_credman_get_dev_rp(handle, parties, $0) }) } catch .notOnThisKey {
      return PasskeyInventory(passkeys: [], remaining: remaining)
    }
    var passkeys: [Passkey] = []
    for i in 0..<fido_credman_rp_count(parties) {
      // A relying party whose name cannot be read cannot be asked about either.
      guard let id = fido_credman_rp_id(parties, i).map({ String(cString: $0) }) else { continue }
      let name = fido_credman_rp_name(parties, i).map { String(cString: $0) }
      passkeys += try self.passkeys(of: id, named: name, pin)
    }
    return PasskeyInventory(passkeys: passkeys, remaining: remaining)
  }

  private func passkeys(
    of rpID: String, named rpName: String?, _ pin: CheckedPIN?
  ) throws(SecurityKeyError) -> [Passkey] {
    guard let list = fido_credman_rk_new() else { throw .library(code: FIDO_ERR_INTERNAL) }
    defer {
      var freed: OpaquePointer? = list
      fido_credman_rk_free(&freed)
    }
    link.begin()
    do { try succeed(withPIN(pin) { fido_credman_get_dev_rk(handle, rpID, list, $0) }) } catch .notOnThisKey {
      return []
    }
    return (0..<fido_credman_rk_count(list)).compactMap { i in
      // Borrowed from the list.
      guard let credential = fido_credman_rk(list, i) else { return nil }
      return Passkey(
        id: Self.bytes(fido_cred_id_ptr(credential), fido_cred_id_len(credential)), rpID: rpID, rpName: rpName,
        userID: Self.bytes(fido_cred_user_id_ptr(credential), fido_cred_user_id_len(credential)),
        userName: fido_cred_user_name(credential).map { String(cString: $0) },
        userDisplayName: fido_cred_display_name(credential).map { String(cString: $0) })
    }
  }

  static func bytes(_ pointer: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    [UInt8](UnsafeBufferPointer(start: pointer, count: pointer == nil ? 0 : count))
  }
}
