// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// A key registered for somebody else (FORMATS.md section 7): the one place where private halves leave a device, locked
/// with a secret that only the key can give.
extension Ceremony {
  /// An identity made for somebody else. Nothing in it is secret: the halves are locked, and what locked them is gone.
  public struct Sponsored: Sendable {
    /// The record, with the endorsement that carries the lock; and what the key said on registering.
    public let registered: Registered
    /// The endorsement of the locked halves.
    public let endorsement: DeviceEndorsement
    /// The touch that endorsed them.
    public let signed: Signed

    /// The record to be published.
    public var record: DirectoryRecord { registered.record }
  }

  /// Registers the key for `name` and locks fresh private halves with it. Two touches.
  ///
  /// The lock has then been proven with the secret that made it, which is still in memory. Whether the key gives the
  /// same secret again is another matter: close it, open it, and ``unlock(_:)`` the record before relying on it.
  /// - Parameter willAsk: called when nothing that can be told beforehand speaks against it, before the key is asked.
  /// - Throws: ``CeremonyError``, before any touch `prfUnsupported` and `uvNotConfigured`; ``WrapError``; what the key
  ///   throws. Nothing has been written then.
  public func sponsor(
    name: String, excludeList: [CredentialDescriptor] = [], at time: SealDate, willAsk: () -> Void = {}
  ) async throws -> Sponsored {
    try Self.checkName(name)
    let capabilities = try await key.capabilities()
    guard capabilities.supportsES256 else { throw CeremonyError.unsupportedKey(name: capabilities.name) }
    guard capabilities.supportsPRF else { throw CeremonyError.prfUnsupported(name: capabilities.name) }
    guard capabilities.canVerifyUser else { throw CeremonyError.uvNotConfigured(name: capabilities.name) }
    willAsk()
    var registered = try await Ceremony(key: key).register(name: name, excludeList: excludeList, enablesPRF: true)
    let credentialID = registered.response.credentialID
    let rootKey = try rootKey(registered.record)

    let halves = try PrivateHalves()
    let bundle = halves.bundle.publicKeys.bytes
    let salt = Random.bytes(SponsoredLock.secretSize)
    let statement = Statement.endorse(devicePublicKey: halves.devicePublicKey, kemBundle: bundle)
    let response = try await ask(
      challenge: try statement.commitment().digest, credentialID: credentialID, under: rootKey,
      userVerification: .required, salts: PRFSalts(input: salt))
    guard let prf = response.prf else { throw CeremonyError.prfMissing }
    let blob = try SponsoredLock.lock(halves, prf: prf.first, salt: salt)
    let signed = Signed(statement: statement, assertion: StoredAssertion(response), evidence: response.evidence)
    let endorsement = DeviceEndorsement(
      devicePublicKey: halves.devicePublicKey, kemBundlePublicKeys: bundle, assertion: signed.assertion,
      createdAt: time, lockedPrivate: blob, prfSalt: salt)
    // The lock is opened once, so that a fault of this program is found while the key is still here.
    _ = try SponsoredLock.match(SponsoredLock.unlock(blob, prf: prf.first, salt: salt), endorsement)
    registered.record.deviceEndorsements.append(endorsement)
    return Sponsored(registered: registered, endorsement: endorsement, signed: signed)
  }

  /// Asks the key, opened anew, for the secret of what it has just locked. One touch; what opens is wiped.
  ///
  /// No file exists yet that could have been changed: a lock that does not open is the key's own doing.
  /// - Throws: ``CeremonyError/keyForgets(name:)``; as ``unlock(_:willAsk:)``.
  public func prove(_ sponsored: Sponsored) async throws {
    do { _ = try await unlock(sponsored.record) } catch let error as WrapError where error == .lockChanged {
      throw CeremonyError.keyForgets(name: sponsored.registered.response.evidence.name)
    }
  }

  /// Which form of the stored salt opened a lock.
  public enum SaltForm: String, Sendable, Hashable {
    /// SHA-256 of `WebAuthn PRF`, a zero byte and the salt: what WebAuthn says.
    case hashed
    /// The salt as it is.
    case raw
  }

  /// Private halves that a key opened. They are wiped with this value.
  public struct Unlocked: ~Copyable, Sendable {
    /// The halves.
    public let halves: PrivateHalves
    /// How the salt had to be given.
    public let saltForm: SaltForm
    /// How much of the halves could be compared with what the root endorsed.
    public let match: SponsoredLock.Match
    /// The endorsement that carried them.
    public let endorsement: DeviceEndorsement
    /// What answered.
    public let evidence: KeyEvidence

    fileprivate init(
      _ opened: consuming Opened, match: SponsoredLock.Match, endorsement: DeviceEndorsement, evidence: KeyEvidence
    ) {
      saltForm = opened.form
      self.match = match
      self.endorsement = endorsement
      self.evidence = evidence
      halves = opened.halves
    }
  }

  /// Opens the locked halves of a sponsored identity with its key. One touch; nothing is kept.
  ///
  /// Both forms of the salt are tried in that one touch. A key has one secret for use with user verification and
  /// another for use without: the bit of the enrolment decides, and the answer must carry the same one.
  /// - Throws: ``CeremonyError``: `notSponsored`, `deviceRevoked`, `prfUnsupported`, `uvMismatch`, `prfMissing`,
  ///   `verificationFailed`; ``WrapError``: `lockChanged` before any touch when the record contradicts itself, and after
  ///   it when the lock does not open, `wrongKey` when the key does not hold the credential, `halvesDoNotMatch`,
  ///   `badLock`, `badHalves`; what the key throws.
  /// - Parameter willAsk: called when the record and the key allow it, before the key is asked.
  public func unlock(_ record: DirectoryRecord, willAsk: () -> Void = {}) async throws -> Unlocked {
    let (endorsement, wasVerified) = try Self.sponsoredEndorsement(of: record)
    guard let (blob, salt) = try endorsement.lock() else { throw CeremonyError.notSponsored }
    guard let credentialID = record.credentialID else { throw CeremonyError.missingCredentialID }
    // A credential ID that was changed is on no key: the key must not be blamed for it.
    guard RootIdentity.rootHash(of: credentialID) == record.rootHash else {
      throw WrapError.lockContradictsItself(reason: "its root hash is not that of its credential ID")
    }
    guard try endorsement.assertion().credentialID == credentialID else {
      throw WrapError.lockContradictsItself(reason: "another credential signed the locked halves than it names")
    }
    let capabilities = try await key.capabilities()
    guard capabilities.supportsPRF else { throw CeremonyError.prfUnsupported(name: capabilities.name) }
    // Another key often has no PIN. That it is another is what must be said, and its credentials tell.
    let verifies = wasVerified && capabilities.canVerifyUser
    willAsk()
    let response: AssertionResponse
    do {
      response = try await ask(
        challenge: Random.bytes(32), credentialID: credentialID, under: try rootKey(record),
        userVerification: verifies ? .preferred : .discouraged, salts: PRFSalts(bothFormsOf: salt))
    } catch let error as any NamedError where error.name == "notOnThisKey" { throw WrapError.wrongKey }
    guard Self.isVerified(response.authenticatorData) == wasVerified else {
      throw CeremonyError.uvMismatch(enrolledWith: wasVerified)
    }
    guard let prf = response.prf else { throw CeremonyError.prfMissing }
    let opened = try Self.open(blob, prf, salt: salt)
    let match = try SponsoredLock.match(opened.halves, endorsement)
    return Unlocked(opened, match: match, endorsement: endorsement, evidence: response.evidence)
  }

  /// Halves, and how the salt had to be given: a tuple cannot hold what cannot be copied.
  fileprivate struct Opened: ~Copyable {
    let halves: PrivateHalves
    let form: SaltForm
  }

  private static func open(_ blob: [UInt8], _ prf: PRFOutput, salt: [UInt8]) throws(WrapError) -> Opened {
    do throws(WrapError) {
      return Opened(halves: try SponsoredLock.unlock(blob, prf: prf.first, salt: salt), form: .hashed)
    } catch {
      guard error == .wrongKey else { throw error }
      // The credential has answered, and a credential has one secret for a salt: what does not open was changed.
      switch prf.second {
      case .some(let second):
        do throws(WrapError) {
          return Opened(halves: try SponsoredLock.unlock(blob, prf: second, salt: salt), form: .raw)
        } catch { throw error == .wrongKey ? .lockChanged : error }
      case .none: throw .lockChanged
      }
    }
  }

  /// The first sponsored endorsement by the root that was not revoked, and whether the touch that made it was verified.
  private static func sponsoredEndorsement(
    of record: DirectoryRecord
  ) throws -> (DeviceEndorsement, wasVerified: Bool) {
    let authorities: AuthoritySet
    do { authorities = try AuthoritySet(record: record) } catch { throw CeremonyError.badRootKey }
    var failure: (any Error)?
    for endorsement in record.deviceEndorsements where endorsement.isSponsored {
      do {
        let endorsed = try authorities.check(endorsement)
        guard endorsed.authority.role == .root else { continue }
        guard !authorities.revoked.contains(endorsement.devicePublicKey) else {
          failure = failure ?? CeremonyError.deviceRevoked
          continue
        }
        return (endorsement, isVerified(try endorsement.assertion().authenticatorData))
      } catch let error as EndorsementFailure {
        // Nobody can endorse it again: its private halves are in the lock.
        failure =
          failure
          ?? WrapError.lockContradictsItself(
            reason: error.unreadable == nil
              ? "its root key has not signed the public halves that it names"
              : "the root key's word in it does not read")
      } catch { failure = failure ?? error }
    }
    throw failure ?? CeremonyError.notSponsored
  }

  /// Whether the UV bit is set.
  static func isVerified(_ authenticatorData: [UInt8]) -> Bool {
    authenticatorData.count > 32 && AuthenticatorFlags(rawValue: authenticatorData[32]).contains(.userVerified)
  }
}
