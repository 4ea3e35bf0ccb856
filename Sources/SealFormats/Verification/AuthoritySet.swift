// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// Who may endorse devices for an identity: its root, and each backup that the root named, that accepted, and that
/// the root did not revoke (FORMATS.md 5d).
public struct AuthoritySet: Sendable {
  /// One credential that may endorse.
  public struct Authority: Sendable, Hashable {
    /// The root, or a backup by its label.
    public enum Role: Sendable, Hashable {
      /// The root.
      case root
      /// A backup with this label.
      case backup(label: String)
    }
    /// Root or backup.
    public let role: Role
    /// The raw credential ID, where it is known.
    public let credentialID: [UInt8]?
    /// Its key.
    public let key: P256.Signing.PublicKey
  }

  /// The root, then the backups in the order of the record.
  public let members: [Authority]
  /// Devices and backups that the root revoked, by public key (65 or 64 bytes).
  public let revoked: Set<[UInt8]>
  /// What was checked on the way: one line for each backup and revocation.
  public let report: VerificationReport

  /// The root's key.
  public var rootKey: P256.Signing.PublicKey { root.key }
  private let root: Authority
  private let rootHash: String

  /// Builds the set.
  ///
  /// - Throws: ``CryptoError/badPublicKey`` when the root's own key is not a point.
  public init(
    rootHash: String, publicKey: [UInt8], credentialID: [UInt8]? = nil, backups: [BackupCredential] = [],
    revocations: [DeviceRevocation] = [], relyingPartyID: String = Seal.relyingPartyID
  ) throws(CryptoError) {
    let rootKey = try P256.Signing.PublicKey(rawRepresentation: publicKey)
    root = Authority(role: .root, credentialID: credentialID, key: rootKey)
    self.rootHash = rootHash
    var report = VerificationReport()
    var dead = Set<[UInt8]>()
    for revocation in revocations {
      let subject = "revocation of \(Hex.encode(revocation.devicePublicKey.prefix(9)))"
      // Only the root can revoke: a stolen backup must not be able to lock the owner out.
      let problems = tapProblems(revocation.assertion, rootKey, revocation.statement, relyingPartyID)
      if problems.isEmpty {
        dead.insert(revocation.devicePublicKey)
        report.add(.good, "revocation", subject, "The root revoked it.")
        if let tap = try? revocation.assertion(), RootIdentity.rootHash(of: tap.credentialID) != rootHash {
          report.add(NamedCredential(signer: "the root"), .warning, subject)
        }
      } else {
        // A revocation that does not verify is ignored, as in Seal: anybody can write one.
        report.add(.warning, "revocationIgnored", subject, "It is not signed by the root, and does not count.")
      }
    }
    var members = [root]
    for backup in backups {
      let subject = "backup \(backup.label)"
      guard !dead.contains(backup.publicKey) else {
        report.add(.note, "backupRevoked", subject, "The root revoked it.")
        continue
      }
      guard let key = try? P256.Signing.PublicKey(rawRepresentation: backup.publicKey) else {
        report.add(.bad, "badPublicKey", subject, "Its public key is not a valid key of 64 bytes.")
        continue
      }
      let named = Statement.backup(credentialID: backup.credentialID, publicKey: backup.publicKey)
      let accepted = Statement.backupAccept(
        rootIDHash: rootHash, credentialID: backup.credentialID, publicKey: backup.publicKey)
      let byRoot = tapProblems(backup.assertion, rootKey, named, relyingPartyID)
      let byBackup = tapProblems(backup.acceptance, key, accepted, relyingPartyID)
      for problem in byRoot { report.add(problem, subject, "The root's signature:") }
      for problem in byBackup { report.add(problem, subject, "The backup's own signature:") }
      guard byRoot.isEmpty, byBackup.isEmpty else { continue }
      report.add(.good, "backup", subject, "The root named it and it accepted.")
      if let tap = try? backup.assertion(), RootIdentity.rootHash(of: tap.credentialID) != rootHash {
        report.add(NamedCredential(signer: "the root"), .warning, subject)
      }
      if let tap = try? backup.acceptance(), tap.credentialID != backup.credentialID {
        report.add(NamedCredential(signer: "the backup"), .warning, subject)
      }
      members.append(
        Authority(role: .backup(label: backup.label), credentialID: backup.credentialID, key: key))
    }
    self.members = members
    self.revoked = dead
    self.report = report
  }

  /// The set of a directory record.
  public init(record: DirectoryRecord, relyingPartyID: String = Seal.relyingPartyID) throws(CryptoError) {
    try self.init(
      rootHash: record.rootHash, publicKey: record.publicKey, credentialID: record.credentialID,
      backups: record.backups, revocations: record.revocations, relyingPartyID: relyingPartyID)
  }

  /// How an endorsement was found to be good.
  public struct Endorsed: Sendable, Hashable {
    /// Who signed it.
    public let authority: Authority
    /// Whether it is of the old form.
    public let isV2: Bool
    /// Whether the credential ID beside the signature is the signer's. No signature covers it, so an endorsement counts
    /// without that; whoever looks at a file has been told of two credentials all the same.
    public let namesItsSigner: Bool
  }

  /// Checks one endorsement: the challenge must be `endorse.v3` of its fields, or `endorse.v2` where the lengths are
  /// exactly 65 and 32; the credential that its assertion names is tried first, then every other.
  ///
  /// - Throws: ``EndorsementFailure`` with every reason.
  public func check(
    _ endorsement: DeviceEndorsement, relyingPartyID: String = Seal.relyingPartyID
  ) throws(EndorsementFailure) -> Endorsed {
    let assertion: StoredAssertion
    do { assertion = try endorsement.assertion() } catch { throw EndorsementFailure(error) }
    let current = endorsementCommitment(endorsement)
    let old = try? Statement.endorseV2(
      devicePublicKey: endorsement.devicePublicKey, kemBundle: endorsement.kemBundlePublicKeys
    ).commitment()
    let challenge = try? ClientData(parsing: assertion.clientDataJSON).challenge
    let isV2 = challenge != nil && challenge == old?.challenge
    let commitment = isV2 ? (old ?? current) : current
    let named = members.filter { $0.credentialID == assertion.credentialID }
    let others = members.filter { $0.credentialID != assertion.credentialID }
    var first: [VerificationProblem] = []
    for authority in named + others {
      let problems = assertion.problems(under: authority.key, for: commitment, relyingPartyID: relyingPartyID)
        .filter { !$0.isWarning }
      if problems.isEmpty {
        return Endorsed(authority: authority, isV2: isV2, namesItsSigner: isNamed(authority, assertion.credentialID))
      }
      if first.isEmpty { first = problems }
    }
    throw EndorsementFailure(problems: first)
  }

  /// The root is known by its hash even where its raw credential ID is not.
  private func isNamed(_ authority: Authority, _ credentialID: [UInt8]) -> Bool {
    authority.role == .root
      ? RootIdentity.rootHash(of: credentialID) == rootHash : authority.credentialID == credentialID
  }
}

/// The credential ID beside a signature is another's than the signer's. Nothing signs that ID.
struct NamedCredential: NamedError, Hashable {
  let signer: String
  var name: String { "credentialIDMismatch" }
  var message: String {
    "The credential ID beside the signature is not that of \(signer), whose key signed: nothing signs "
      + "that ID, so it may have been changed."
  }
  var next: String { "Get the file again from where it came from." }
}

extension VerificationReport {
  /// Adds a failure under its own name that need not make the whole bad.
  mutating func add(_ error: some NamedError, _ outcome: Check.Outcome, _ subject: String) {
    add(outcome, error.name, subject, error.message)
  }
}

/// Why an endorsement does not count.
public struct EndorsementFailure: NamedError, Hashable {
  /// What is wrong with the tap under the credential it names, or the root.
  public let problems: [VerificationProblem]
  /// Set when the assertion inside cannot be read at all.
  public let unreadable: FormatError?

  init(problems: [VerificationProblem]) {
    self.problems = problems
    unreadable = nil
  }

  init(_ error: FormatError) {
    problems = []
    unreadable = error
  }

  public var name: String { unreadable?.name ?? problems.first?.name ?? "endorsementInvalid" }
  public var message: String {
    unreadable?.message
      ?? "The endorsement is by neither the root nor a live backup: "
      + problems.map(\.message).joined(separator: " ")
  }
  public var next: String { "Endorse the device again with the root key." }
}

/// The `endorse.v3` commitment of an endorsement as it was found. The form is framed, so an odd bundle length cannot
/// be confused with another field, and Seal accepts the device; it only cannot be wrapped to.
func endorsementCommitment(_ endorsement: DeviceEndorsement) -> Commitment {
  var preimage = Preimage(domain: "seal.endorse.v3")
  preimage.frame(endorsement.devicePublicKey)
  preimage.frame(endorsement.kemBundlePublicKeys)
  return Commitment(name: "endorse.v3", preimage: preimage)
}

/// What is wrong with a stored tap on `statement`, warnings left out; unreadable parts become problems too.
private func tapProblems(
  _ assertion: () throws(FormatError) -> StoredAssertion, _ key: P256.Signing.PublicKey, _ statement: Statement,
  _ relyingPartyID: String
) -> [TapProblem] {
  do {
    let commitment = try statement.commitment()
    return try assertion().problems(under: key, for: commitment, relyingPartyID: relyingPartyID)
      .filter { !$0.isWarning }.map { TapProblem($0) }
  } catch let error as FormatError {
    return [TapProblem(error)]
  } catch let error as CommitmentError {
    return [TapProblem(error)]
  } catch {
    return [TapProblem(FormatError.wrongShape(what: "assertion", offset: 0))]
  }
}

/// Any reason why a stored tap does not count, as one type.
private struct TapProblem: NamedError {
  let name: String
  let message: String
  let next: String
  let offset: Int?

  init(_ error: some NamedError) {
    name = error.name
    message = error.message
    next = error.next
    offset = error.offset
  }
}
