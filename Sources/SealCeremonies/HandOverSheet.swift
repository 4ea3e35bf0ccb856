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
  ///   - isProven: the key was asked a second time and gave the same secret.
  public static func text(
    for record: DirectoryRecord, keyName: String, isProven: Bool, isSimulated: Bool, at time: Int64
  ) -> String {
    let hash = stride(from: 0, to: record.rootHash.count, by: 8).map {
      String(record.rootHash.dropFirst($0).prefix(8))
    }
    var lines = ["A SECURITY KEY FOR \(record.displayName.printable)", ""]
    if isSimulated {
      lines += ["SIMULATED: a virtual key made this. There is no real key to hand over.", ""]
    }
    lines += [
      "Registered on \(UTCText.date(time)) with \(keyName).", "",
      "The identity on it:", "  " + hash.prefix(4).joined(separator: " "),
      "  " + hash.dropFirst(4).joined(separator: " "),
      "", "WHAT THIS KEY IS", "",
      "This key is you in Seal. Whoever holds it and knows its PIN is you: can",
      "open what is left for you, and can sign in your name. Keep it as you keep",
      "your passport, and apart from the PIN.", "",
      "WHAT YOU MUST KNOW", "",
      "1. Whoever registered it knows the PIN until you change it. Change it soon.",
      "   Changing the PIN does not change the secret on the key: it will still",
      "   open what it opens today.",
      "2. Your private halves were made on the computer that registered the key.",
      "   It held them for a moment, locked them with the key and forgot them.",
      "   You have to trust that this was so.",
      "3. A reset deletes the secret for good. Never reset the key.",
      "4. If the key is lost, so is the identity. Ask for a second one.", "",
      "HOW YOU USE IT", "",
      "On a phone with Seal: choose to sign in with a security key, hold the key to",
      "the phone, enter the PIN.",
      "On a computer with sealkey: plug it in and run",
      "  sealkey unlock LOCK-FILE",
      "It says whether the key opens the identity, and keeps nothing.", "",
      "The lock file that was handed over with this sheet is not secret. Keep it: if",
      "Seal's directory ever loses its copy, the identity cannot be opened without it.", "",
      isProven
        ? "The key was asked a second time after it was registered, and opened the lock."
        : "The key was NOT asked a second time: try 'sealkey unlock' before you rely on it.",
    ]
    return lines.joined(separator: "\n") + "\n"
  }
}
