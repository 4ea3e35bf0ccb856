// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why the local store refuses, or cannot be used. What was stored before is as it was.
public enum StoreError: NamedError, Hashable {
  /// Another program holds the store and did not let go in time.
  case busy(path: String)
  /// A file of the store does not read.
  case damaged(path: String, reason: String)
  /// A file of the store is from a later version of this program.
  case newerVersion(path: String, version: Int64)
  /// The identity is known here under another root key.
  case publicKeyChanged(name: String, rootHash: String)
  /// The identity was deleted, and a live record of it came afterwards.
  case identityDeleted(name: String)
  /// A delete marker is not by the identity's own key.
  case badDeleteMarker(name: String)
  /// The record holds no endorsement signed by its own key.
  case unprovenIdentityRecord(name: String)
  /// No identity of that name or root hash is known here.
  case identityNotFound(String)
  /// A part of a record came by itself, and nobody known here signed it.
  case signerUnknown(what: String)
  /// More than one identity goes by that name.
  case ambiguousName(String)
  /// No device of that name is kept here.
  case deviceNotFound(String)
  /// A device's name that is no good as a file's name.
  case badDeviceName(String)
  /// Two identities claim one credential.
  case credentialClaimConflict(String, String)
  /// Nobody is known here, so a key cannot be asked whose it is.
  case directoryEmpty
  /// The credential is a backup that its owner revoked, or that never was good.
  case credentialNoLongerValid(name: String)

  public var name: String {
    switch self {
    case .busy: "storeBusy"
    case .damaged: "storeDamaged"
    case .newerVersion: "unsupportedVersion"
    case .publicKeyChanged: "publicKeyChanged"
    case .identityDeleted: "identityDeleted"
    case .badDeleteMarker: "badDeleteMarker"
    case .unprovenIdentityRecord: "unprovenIdentityRecord"
    case .identityNotFound: "identityNotFound"
    case .signerUnknown: "signerUnknown"
    case .ambiguousName: "ambiguousName"
    case .deviceNotFound: "deviceNotFound"
    case .badDeviceName: "badDeviceName"
    case .credentialClaimConflict: "credentialClaimConflict"
    case .directoryEmpty: "directoryEmpty"
    case .credentialNoLongerValid: "credentialNoLongerValid"
    }
  }

  public var message: String {
    switch self {
    case .busy(let path): "Another program is using the store in \(path)."
    case .damaged(let path, let reason): "\(path) does not read: \(reason)"
    case .newerVersion(let path, let version): "\(path) is of version \(version), which this program does not know."
    case .publicKeyChanged(let name, let hash):
      "\(name) (\(hash.prefix(16))) is known here under another root key."
    case .identityDeleted(let name): "\(name) deleted this identity for good."
    case .badDeleteMarker(let name): "The delete marker of \(name) is not by their own key, so it does not count."
    case .unprovenIdentityRecord(let name):
      "The record of \(name) holds no endorsement signed by its own key, so anybody could have written it."
    case .identityNotFound(let what): "No identity '\(what)' is known here."
    case .signerUnknown(let what): "Nobody who is known here signed this \(what)."
    case .ambiguousName(let what): "More than one identity here goes by '\(what)'."
    case .deviceNotFound(let what): "No device '\(what)' is kept here."
    case .badDeviceName(let what): "'\(what)' cannot be a device's name: letters, digits, dots and dashes, at most 64."
    case .credentialClaimConflict(let a, let b):
      "\(a) and \(b) both claim one credential, and it is not guessed whose it is."
    case .directoryEmpty: "Nobody is known on this computer yet, so the key cannot be asked whose it is."
    case .credentialNoLongerValid(let name): "This key was a backup of \(name)'s, and it does not count any more."
    }
  }

  public var next: String {
    switch self {
    case .busy: "Wait until it has ended and try again."
    case .damaged:
      "Look at the whole store with 'sealkey store check'; put the file back from a backup, or move it away."
    case .newerVersion: "Use a newer version of this program."
    case .publicKeyChanged: "Do not go on: meet the person again and compare their key."
    case .identityDeleted, .badDeleteMarker: "Nothing was changed."
    case .unprovenIdentityRecord:
      "Import the file that its registration wrote; or endorse a device with its key, where it is known, and export again."
    case .identityNotFound: "Import the identity record first: sealkey directory import FILE"
    case .signerUnknown: "Import the identity record of whoever signed it first: sealkey directory import FILE"
    case .ambiguousName: "Give the root hash instead."
    case .deviceNotFound: "See what is kept here: sealkey device list"
    case .badDeviceName: "Choose another name."
    case .credentialClaimConflict: "Get both records again from the directory."
    case .directoryEmpty: "Import identity records first: sealkey directory import FILE"
    case .credentialNoLongerValid: "Use another key of theirs."
    }
  }

  public var kind: FaultKind {
    switch self {
    case .busy, .damaged, .newerVersion, .deviceNotFound, .identityNotFound, .directoryEmpty: .file
    case .ambiguousName, .badDeviceName: .usage
    default: .refused
    }
  }
}
