// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why a device's file does not serve. It is as it was.
public enum DeviceError: NamedError, Hashable {
  /// The file holds no private halves.
  case notADevice(path: String, reason: String)
  /// The private halves are not those of the public side that stands beside them: the file was changed.
  case halvesDiffer(path: String)
  /// The passphrase is another.
  case wrongPassphrase(path: String)
  /// There is a passphrase, and nobody to ask for it.
  case passphraseRequired(path: String)
  /// A new passphrase is too short or too long.
  case unfitPassphrase
  /// There is a passphrase already.
  case hasPassphrase(name: String)
  /// There is no passphrase.
  case hasNoPassphrase(name: String)

  public var name: String {
    switch self {
    case .notADevice: "notADevice"
    case .halvesDiffer: "deviceDamaged"
    case .wrongPassphrase: "wrongPassphrase"
    case .passphraseRequired: "passphraseRequired"
    case .unfitPassphrase: "unfitPassphrase"
    case .hasPassphrase: "hasPassphrase"
    case .hasNoPassphrase: "hasNoPassphrase"
    }
  }

  public var message: String {
    switch self {
    case .notADevice(let path, let reason): "\(path) is not a device of this program: \(reason)."
    case .halvesDiffer(let path):
      "The private halves in \(path) are not those of its public side: the file was damaged or changed."
    case .wrongPassphrase(let path): "That is not the passphrase of \(path), or the file was damaged."
    case .passphraseRequired(let path): "The passphrase of \(path) is needed, and there is no terminal to ask for it."
    case .unfitPassphrase:
      "A passphrase has \(DeviceFile.minimumPassphrase) to \(DeviceFile.maximumPassphrase) bytes."
    case .hasPassphrase(let name): "The device \(name) has a passphrase already."
    case .hasNoPassphrase(let name): "The device \(name) has no passphrase."
    }
  }

  public var next: String {
    switch self {
    case .notADevice: "Give the file that 'sealkey device make' or 'sealkey endorse --device' wrote."
    case .halvesDiffer: "Put the file back from a backup, or make a new device and endorse it."
    case .wrongPassphrase:
      "Try again: nothing was changed, and there is no limit. Nobody can bring a forgotten passphrase back, and a new device "
        + "holds no share before a phone has published its endorsement and the owner has sealed again."
    case .passphraseRequired: "Run it in a terminal, or give the passphrase with --passphrase-fd."
    case .unfitPassphrase: "Choose another one: several words are good."
    case .hasPassphrase(let name): "Change it with: sealkey device passphrase change \(name)"
    case .hasNoPassphrase(let name): "Set one with: sealkey device passphrase set \(name)"
    }
  }

  public var kind: FaultKind {
    switch self {
    case .notADevice, .halvesDiffer: .file
    case .wrongPassphrase, .passphraseRequired: .userVerification
    case .unfitPassphrase: .usage
    case .hasPassphrase, .hasNoPassphrase: .refused
    }
  }
}
