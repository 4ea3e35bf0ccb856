// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

extension StoredAssertion {
  /// Everything that is wrong with this assertion as a tap by `key` on `commitment` (FORMATS.md 5a); empty when it
  /// is good.
  ///
  /// Both steps that Seal leaves to its callers are always made: the signature with its context, and the exact
  /// comparison of the challenge. The origin is checked where `origins` is given.
  public func problems(
    under key: P256.Signing.PublicKey, for commitment: Commitment, relyingPartyID: String = Seal.relyingPartyID,
    origins: Set<String>? = nil, requiresUserVerification: Bool = false
  ) -> [VerificationProblem] {
    AssertionVerifier(
      rpID: relyingPartyID, challenge: commitment.digest, origins: origins,
      requiresUserVerification: requiresUserVerification
    ).problems(
      authenticatorData: authenticatorData, clientDataJSON: clientDataJSON, signature: signature,
      publicKey: .es256(key))
  }

  /// Checks it against a 64-byte root key and a statement, and reports in one line or one for each problem.
  public func verify(
    publicKey: [UInt8], statement: Statement, relyingPartyID: String = Seal.relyingPartyID,
    origins: Set<String>? = nil
  ) -> VerificationReport {
    var report = VerificationReport()
    do {
      let key = try P256.Signing.PublicKey(rawRepresentation: publicKey)
      let commitment = try statement.commitment()
      report.add(
        problems(under: key, for: commitment, relyingPartyID: relyingPartyID, origins: origins), "assertion",
        statement.name, good: "The key touched for exactly this: \(statement.meaning)")
    } catch let error as CryptoError {
      report.add(error, statement.name, "The root key cannot be used.")
    } catch let error as CommitmentError {
      report.add(error, statement.name)
    } catch {
      report.add(.bad, "unexpected", statement.name, "\(error)")
    }
    return report
  }

  /// Checks it against a 64-byte key and a bare challenge of any length.
  public func verify(
    publicKey: [UInt8], challenge: [UInt8], relyingPartyID: String = Seal.relyingPartyID, origins: Set<String>? = nil
  ) -> VerificationReport {
    var report = VerificationReport()
    let key: P256.Signing.PublicKey
    do { key = try P256.Signing.PublicKey(rawRepresentation: publicKey) } catch {
      report.add(error, "assertion", "The public key cannot be used.")
      return report
    }
    let found = AssertionVerifier(rpID: relyingPartyID, challenge: challenge, origins: origins).problems(
      authenticatorData: authenticatorData, clientDataJSON: clientDataJSON, signature: signature,
      publicKey: .es256(key))
    report.add(found, "assertion", "assertion", good: "The key touched for exactly this challenge.")
    return report
  }
}

extension Statement {
  /// What the signature says, in one sentence.
  public var meaning: String { CommitmentForm.named(name)?.meaning ?? name }
}
