// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// Somebody in a made-up estate: a root credential that can be asked to touch, and one device.
///
/// The touch is a closure, so that a virtual key, a real one, or a key pair in memory can stand behind it.
public final class SyntheticPerson: Sendable {
  /// The root.
  public let identity: RootIdentity
  /// The device's private halves.
  public let halves: PrivateHalves
  /// The device's endorsement.
  public let endorsement: DeviceEndorsement
  private let touch: @Sendable (Statement) async throws -> StoredAssertion

  /// Endorses the device with the root; one touch.
  ///
  /// - Parameter touch: gets the root's assertion over a statement's commitment.
  public init(
    identity: RootIdentity, halves: consuming PrivateHalves, endorsedAt: Int64,
    touch: @escaping @Sendable (Statement) async throws -> StoredAssertion
  ) async throws {
    let bundle = halves.bundle.publicKeys.bytes
    let statement = Statement.endorse(devicePublicKey: halves.devicePublicKey, kemBundle: bundle)
    endorsement = DeviceEndorsement(
      devicePublicKey: halves.devicePublicKey, kemBundlePublicKeys: bundle, assertion: try await touch(statement),
      createdAt: SealDate(epoch: endorsedAt))
    self.identity = identity
    self.halves = halves
    self.touch = touch
  }

  /// With an endorsement that was made elsewhere: a sponsored identity, whose endorsement carries the locked halves.
  public init(
    identity: RootIdentity, halves: consuming PrivateHalves, endorsement: DeviceEndorsement,
    touch: @escaping @Sendable (Statement) async throws -> StoredAssertion
  ) {
    self.identity = identity
    self.halves = halves
    self.endorsement = endorsement
    self.touch = touch
  }

  /// The root hash.
  public var hash: String { identity.credentialIDHash }

  /// The directory record.
  public var record: DirectoryRecord { DirectoryRecord(identity: identity, deviceEndorsements: [endorsement]) }

  /// A touch.
  public func tap(_ statement: Statement) async throws -> StoredAssertion { try await touch(statement) }
}
