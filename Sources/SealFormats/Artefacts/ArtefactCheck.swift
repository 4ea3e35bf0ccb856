// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What is known besides the file, when a file is verified.
public struct VerificationContext: Sendable {
  /// Identity records known here, by root hash: pinned, imported, or given.
  public var directory: [String: DirectoryRecord]
  /// Root hashes of those of whom the person asks whether one of them made the file; nil when nobody was named. A file
  /// that is another's is bad then, whether the other is known here or not.
  public var namedSigners: Set<String>?
  /// A root key that the person gave, 64 bytes. It is the one that counts, and nothing may contradict it.
  public var rootPublicKey: [UInt8]?
  /// The root hash of the person that the file is about, where the file cannot say (a friendship's phone owner, a
  /// revocation's root).
  public var rootHash: String?
  /// The challenge of a bare stored assertion, where the person gave it; nil takes it from the statement beside it.
  public var challenge: [UInt8]?
  /// Origins that may answer; nil leaves them unchecked, as Seal does.
  public var origins: Set<String>?
  /// The relying party.
  public var relyingPartyID = Seal.relyingPartyID

  /// Nothing is known.
  public init(
    directory: [String: DirectoryRecord] = [:], rootPublicKey: [UInt8]? = nil, rootHash: String? = nil,
    challenge: [UInt8]? = nil, origins: Set<String>? = nil, namedSigners: Set<String>? = nil
  ) {
    self.directory = directory
    self.namedSigners = namedSigners
    self.rootPublicKey = rootPublicKey
    self.rootHash = rootHash
    self.challenge = challenge
    self.origins = origins
  }
}

extension Artefact {
  /// Checks whatever the file holds, one line a check: the signatures in it, and that what stands beside them says the
  /// same.
  ///
  /// A capsule is not checked here: see the capsule verifier.
  /// - Throws: ``FormatError`` when the file cannot be read as what it says it is.
  public func verify(_ context: VerificationContext = VerificationContext()) throws(FormatError) -> VerificationReport {
    var run = ArtefactCheck(artefact: self, context: context)
    try run.run()
    return run.report
  }
}

/// One verification of one file. Its parts are in files of their own.
struct ArtefactCheck {
  let artefact: Artefact
  let context: VerificationContext
  var report = VerificationReport()

  var evidence: Evidence? { artefact.evidence }

  mutating func run() throws(FormatError) {
    if artefact.isSimulated {
      report.add(.warning, "simulated", artefact.kind.rawValue, "A virtual key had a part in this file.")
    }
    switch artefact.kind {
    case .identity: try identity()
    case .identityRecord: try identityRecord()
    case .capsuleIdentity: try capsuleIdentity()
    case .endorsement: try endorsement()
    case .backup: try backup()
    case .revocation: try revocation()
    case .deleteMarker: try deleteMarker()
    case .assertion: try assertion()
    case .friendshipAttestation: try friendship(try artefact.shape(.friendshipAttestation), tapper: nil)
    case .friendship: try friendship()
    case .forgeHandshake: try handshake()
    case .receipt: try receipt()
    case .event: try event()
    case .capsule: throw .unexpectedKind(found: "capsule", wanted: "artefact")
    }
  }

  /// The root key to check under: given, known here, or beside the file.
  mutating func rootKey(hash: String? = nil, credentialID: [UInt8]? = nil) -> [UInt8]? {
    let hash = hash ?? context.rootHash ?? credentialID.map { RootIdentity.rootHash(of: $0) }
    let known = hash.flatMap { context.directory[$0] }
    if let given = context.rootPublicKey {
      if let known { demandKnown(known.publicKey, is: given, known.displayName) }
      return given
    }
    if let known { return known.publicKey }
    if let beside = evidence?.rootPublicKey {
      report.add(
        .warning, "keyUnproven", artefact.kind.rawValue,
        "The root key comes from the file itself, so this does not show whose key it is.")
      return beside
    }
    report.add(
      .bad, "identityMissing", artefact.kind.rawValue,
      "The root key is not known here: give it, or import the identity record.")
    return nil
  }

  /// The root key that an identity itself names must be the one that was given, and the one that is known here.
  mutating func demandIdentity(_ key: [UInt8], of hash: String, _ subject: String) {
    if let given = context.rootPublicKey, given != key {
      report.add(.bad, "publicKeyChanged", subject, "The root key is not the one that was given.")
    }
    if let known = context.directory[hash] { demandKnown(known.publicKey, is: key, subject) }
  }

  private mutating func demandKnown(_ known: [UInt8], is key: [UInt8], _ subject: String) {
    guard known != key else { return }
    report.add(.bad, "publicKeyChanged", subject, "The root key is not the one that is known on this computer.")
  }

  /// Where the person named people, one of them must have made the file. Those of them that did were checked under
  /// their own record's key: whoever is named is in the directory.
  mutating func demandNamed(_ signed: Signed, _ subject: String) {
    guard let named = context.namedSigners, named.isDisjoint(with: signed.signers) else { return }
    report.add(
      .bad, "signerNotNamed", subject,
      "Nobody named with --identity made this. Give the identity of whoever did.")
  }

  /// Checks a tap, and what stands beside it.
  mutating func tap(_ assertion: StoredAssertion, _ statement: Statement, hash: String? = nil) {
    guard let key = rootKey(hash: hash, credentialID: assertion.credentialID) else { return }
    report.append(
      assertion.verify(
        publicKey: key, statement: statement, relyingPartyID: context.relyingPartyID, origins: context.origins))
    let root = hash ?? context.rootHash ?? RootIdentity.rootHash(of: assertion.credentialID)
    demandSigner(assertion, root, statement.name)
    compare(
      Signed(rootPublicKey: key, rootHash: root, credentialID: assertion.credentialID, statements: [statement]),
      statement.name)
  }

  /// The credential ID beside a signature is signed by nobody: it must be that of the root whose key signed.
  mutating func demandSigner(_ assertion: StoredAssertion, _ root: String, _ subject: String) {
    guard RootIdentity.rootHash(of: assertion.credentialID) != root else { return }
    report.add(NamedCredential(signer: "the root"), subject)
  }
}
