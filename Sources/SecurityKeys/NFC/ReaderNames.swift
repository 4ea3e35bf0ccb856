// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What a reader's name tells.
package enum ReaderNames {
  /// Whether the reader is a USB key's own card interface (CCID). FIDO is not on it, or not for use: such a key answers
  /// SELECT and refuses everything after (QUIRKS Q70).
  static func isFaceOfUSBKey(_ name: String) -> Bool {
    let name = name.lowercased()
    return faces.contains { name.contains($0) }
  }

  /// Whether the name is one that virtual readers have. The key's own model says so too.
  package static func isVirtual(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.hasPrefix("virtual ") || name.contains("vpcd") || name.contains("virtual pcd")
  }

  /// The readers that `wanted` names: one whose whole name it is, else those that have it in their names, in any case.
  static func matching(_ wanted: String, _ names: [String]) -> [String] {
    if names.contains(wanted) { return [wanted] }
    return names.filter { $0.lowercased().contains(wanted.lowercased()) }
  }

  /// Product names, not makers': most makers of keys make true readers as well.
  private static let faces = [
    "yubikey", "security key by yubico", "nitrokey", "canokey", "solokeys", "solo 2", "solo hacker", "onlykey",
    "trussed", "ishield", "gotrust idem", "idem key", "google titan", "titan security key", "gnuk", "openpgp token",
    "token2 fido", "token2 pin", "token2 t2f2", "ledger nano", "ledger flex", "ledger stax", "trezor", "fido key",
    "fido2 key", "fido2 security key", "fido security key",
  ]
}
