// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore

/// What can go wrong between this program and a key on a card reader. The names are stable.
public enum CardError: NamedError, Hashable {
  /// libpcsclite is not installed.
  case libraryAbsent
  /// libpcsclite is there and lacks a function; its name.
  case libraryUnusable(String)
  /// pcscd does not run.
  case serviceAbsent
  /// pcscd lets this user use no reader.
  case notPermitted
  /// No reader is connected.
  case noReader
  /// No reader of that name is connected.
  case noSuchReader(String)
  /// The name is part of more than one reader's.
  case ambiguousReader(String, count: Int)
  /// Nobody laid a key on the reader in time; nil for any reader.
  case noCard(reader: String?)
  /// Another program has the reader to itself; which one it may be, when /proc tells.
  case readerInUse(reader: String, by: String?)
  /// The reader is the card face of a USB key.
  case useUSB(reader: String)
  /// The card on the reader has no FIDO application.
  case notAKey(reader: String)
  /// The card does not answer its reader.
  case unresponsive(reader: String)
  /// The key was lifted off the reader.
  case removed
  /// The reader was unplugged.
  case readerGone
  /// The key wants to be lifted and laid on again, and was not.
  case newTapNeeded
  /// Another key was laid on the reader than the one that was lifted off it.
  case anotherKey
  /// The key refused a command with this status word.
  case refused(StatusWord)
  /// The reader could not carry a command to the key or the answer back; PC/SC's code.
  case transmission(code: UInt32)

  public var name: String {
    switch self {
    case .libraryAbsent: "pcscLibraryAbsent"
    case .libraryUnusable: "pcscLibraryUnusable"
    case .serviceAbsent: "pcscdAbsent"
    case .notPermitted: "readersNotPermitted"
    case .noReader: "noReader"
    case .noSuchReader: "noSuchReader"
    case .ambiguousReader: "ambiguousReader"
    case .noCard: "noCard"
    case .readerInUse: "readerInUse"
    case .useUSB: "useUSB"
    case .notAKey: "notASecurityKeyCard"
    case .unresponsive: "cardUnresponsive"
    case .removed: "cardRemoved"
    case .readerGone: "readerGone"
    case .newTapNeeded: "newTapNeeded"
    case .anotherKey: "anotherKey"
    case .refused: "cardRefused"
    case .transmission: "cardTransmission"
    }
  }

  public var message: String {
    switch self {
    case .libraryAbsent: "This computer has no PC/SC library, so keys on card readers cannot be used."
    case .libraryUnusable(let what): "This computer's PC/SC library lacks \(what)."
    case .serviceAbsent: "The card reader service pcscd is not running."
    case .notPermitted: "The card reader service does not let you use its readers."
    case .noReader: "No card reader is connected."
    case .noSuchReader(let name): "No card reader \"\(name)\" is connected."
    case .ambiguousReader(let name, let count): "\(count) card readers have \"\(name)\" in their names."
    case .noCard(let reader?): "No key was laid on \(reader)."
    case .noCard(nil): "No key was laid on a card reader."
    case .readerInUse(let reader, let program?): "\(reader) is held by another program, perhaps \(program)."
    case .readerInUse(let reader, nil): "\(reader) is held by another program."
    case .useUSB(let reader): "\(reader) is the card face of a USB key, which has no FIDO on it."
    case .notAKey(let reader): "The card on \(reader) is not a security key."
    case .unresponsive(let reader): "The card on \(reader) does not answer."
    case .removed: "The key was lifted off the reader."
    case .readerGone: "The card reader was unplugged."
    case .newTapNeeded: "The key wants to be lifted off the reader and laid on again, and was not."
    case .anotherKey: "Another key was laid on the reader than the one before."
    case .refused(let status): "The key refused a command (\(status))."
    case .transmission: "The reader lost touch with the key."
    }
  }

  public var next: String {
    switch self {
    case .libraryAbsent, .libraryUnusable:
      "Install it (on Debian: apt install libpcsclite1 pcscd), or use the key by USB."
    case .serviceAbsent: "Start it: systemctl start pcscd.socket (on Debian it comes with: apt install pcscd)."
    case .notPermitted: "Run the command from the session at the screen, or ask an administrator for a polkit rule."
    case .noReader, .noSuchReader, .readerGone: "Plug the reader in; sealkey list shows the ones there are."
    case .ambiguousReader: "Give more of the name; sealkey list shows them."
    case .noCard: "Lay the key on the reader when the command asks for it."
    case .readerInUse: "Close the other program (GnuPG's scdaemon: gpgconf --kill scdaemon) and repeat."
    case .useUSB: "Use USB: leave --key away, or name the key as sealkey list shows it."
    case .notAKey:
      "Lay a security key on the reader. A new YubiKey must be plugged into USB once before it works on a reader."
    case .unresponsive, .transmission: "Lay the key flat on the reader, hold it still and repeat."
    case .removed: "Leave the key on the reader until the command is done, and repeat."
    case .newTapNeeded: "Begin again; lift the key and lay it on again when the command asks for it."
    case .anotherKey: "Begin again, with the same key all the time."
    case .refused: "Lift the key, lay it on again and repeat."
    }
  }

  public var status: Int? {
    switch self {
    case .refused(let word): Int(word.rawValue)
    case .transmission(let code): Int(code)
    default: nil
    }
  }

  public var kind: FaultKind {
    switch self {
    case .libraryAbsent, .libraryUnusable, .serviceAbsent, .noReader, .noSuchReader, .noCard, .useUSB, .notAKey: .noKey
    case .ambiguousReader: .usage
    case .newTapNeeded: .cancelled
    default: .key
    }
  }

  /// After this the key must be found anew.
  var endsTheConversation: Bool {
    switch self {
    case .refused, .newTapNeeded: false
    default: true
    }
  }
}
