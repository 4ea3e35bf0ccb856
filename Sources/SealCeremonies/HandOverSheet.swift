// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealFormats
import WebAuthnCore

/// What goes into the hands of whoever gets a key that was registered for them: plain text, to be printed.
public enum HandOverSheet {
  /// The sheet's text.
  ///
  /// - Parameters:
  ///   - record: the identity; nothing on the sheet is secret.
  ///   - keyName: what the key is called.
  ///   - lockFile: the lock file's path; its name is printed.
  ///   - isProven: the key was asked a second time and gave the same secret.
  public static func text(
    for record: DirectoryRecord, keyName: String, lockFile: String, isProven: Bool, isSimulated: Bool, at time: Int64
  ) -> String {
    let lockName = lockFile.split(separator: "/").last.map(String.init) ?? lockFile
    var lines = ["A SECURITY KEY FOR \(record.displayName.printable)", ""]
    if isSimulated {
      lines += ["SIMULATED: a virtual key made this. There is no real key to hand over.", ""]
    }
    lines += [
      "Registered on \(UTCText.date(time)) with \(keyName).", "",
      "The identity on it:",
    ]
    lines += grouped(record.rootHash)
    lines += [
      "", "WHAT THIS KEY IS", "",
      "This key is you in Seal. Whoever holds it and knows its PIN is you: can",
      "open what is left for you, and can sign in your name. Keep it as you keep",
      "your passport, and apart from the PIN.", "",
      "WHAT YOU MUST KNOW", "",
      "1. Whoever registered it knows the PIN until you change it. Change it soon:",
      "     sealkey pin change",
      "   Changing the PIN does not change the secret on the key: it will still",
      "   open what it opens today.",
      "2. Your private halves were made on the computer that registered the key.",
      "   It held them for a moment, locked them with the key and forgot them.",
      "   You have to trust that this was so.",
      "3. A reset deletes the secret for good. Never reset the key.",
      "4. A wrong PIN is counted, on the key itself. After eight wrong ones in a row",
      "   most keys take no PIN until they are reset, and a reset would delete you.",
      "   Stop and look for the right one; no more than three at a time.",
      "5. If the key is lost, what is left for you cannot be opened any more: a spare",
      "   key does not open it. Ask whether there should be a second key like this.", "",
      "HOW YOU USE IT", "",
      "On a phone with Seal: choose to sign in with a security key, hold the key to",
      "the phone, enter the PIN.",
      "On a computer with sealkey: plug it in and run",
      "  sealkey unlock \(Self.quoted(lockName))".printable,
      "It says whether the key opens the identity, and keeps nothing. Compare the",
      "identity that it shows with the one at the top of this sheet: every digit must",
      "be the same.", "",
      "The lock file that was handed over with this sheet is not secret. Keep it: if",
      "Seal's directory ever loses its copy, the identity cannot be opened without it.", "",
      isProven
        ? "The key was asked a second time after it was registered, and opened the lock."
        : "The key was NOT asked a second time: try 'sealkey unlock' before you rely on it.",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  /// A root hash for comparing by eye: two lines of four groups of eight digits.
  public static func grouped(_ rootHash: String) -> [String] {
    let groups = stride(from: 0, to: rootHash.count, by: 8).map { String(rootHash.dropFirst($0).prefix(8)) }
    return ["  " + groups.prefix(4).joined(separator: " "), "  " + groups.dropFirst(4).joined(separator: " ")]
  }
}

extension HandOverSheet {
  /// A file's name as it is typed into a shell.
  static func quoted(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
        || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "/")].contains($0)
    }
    let path = name.hasPrefix("-") ? "./\(name)" : name
    return isPlain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
  }
}
