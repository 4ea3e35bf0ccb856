// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import SecurityKeys
import WebAuthnCore

/// Hints in a file of the data directory, for its owner alone. They save commands and decide nothing, so a file that is
/// missing, damaged or cannot be written only costs time.
struct StoredHints: CredentialHints {
  private let path: String
  /// As many as a person may have keys; the newest are kept.
  private static let limit = 64

  /// - Parameter dataDirectory: used when it is there; never made for a hint.
  init(dataDirectory: String) { path = "\(dataDirectory)/known-keys.json" }

  func lastCredential(of rpID: String, on key: KeyMark) -> [UInt8]? {
    entries().last { $0.rpID == rpID && $0.key == key }?.credentialID
  }

  func remember(_ credentialID: [UInt8]?, of rpID: String, on key: KeyMark) {
    let before = entries()
    if let last = before.last, last.rpID == rpID, last.key == key, last.credentialID == credentialID { return }
    var all = before.filter { $0.rpID != rpID || $0.key != key }
    if let credentialID { all.append(Entry(key: key, rpID: rpID, credentialID: credentialID)) }
    guard all.count != before.count || credentialID != nil else { return }
    let json: JSONValue = .object([
      ("format", .string("sealkey.known-keys")), ("version", .int(1)),
      ("keys", .array(all.suffix(Self.limit).map(\.json))),
    ])
    try? AtomicFile.write(JSONWriter.write(json, .init(escapesSlashes: false)), to: path, mode: 0o600)
  }

  /// Says whether the file reads. It decides nothing, so a bad one is set aside by removing it.
  func check(_ report: inout VerificationReport) {
    do throws(FileError) {
      let bytes = try AtomicFile.read(path, limit: 1 << 20)
      let json = try? JSONReader.parse(bytes)
      let keys = json?["keys"]?.array
      guard json?["format"]?.string == "sealkey.known-keys", json?["version"]?.int == 1, let keys,
        keys.allSatisfy({ Entry($0) != nil })
      else {
        report.add(.bad, "storeDamaged", "known-keys.json", "It does not read. It holds hints only: remove it.")
        return
      }
      report.add(.good, "knownKeys", "known-keys.json", "\(counted(keys.count, "hint")), all of them read.")
    } catch {
      if case .notFound = error { return }
      report.add(.bad, error.name, "known-keys.json", error.message)
    }
  }

  private struct Entry {
    let key: KeyMark
    let rpID: String
    let credentialID: [UInt8]

    init(key: KeyMark, rpID: String, credentialID: [UInt8]) {
      (self.key, self.rpID, self.credentialID) = (key, rpID, credentialID)
    }

    init?(_ json: JSONValue) {
      guard let place = json["place"]?.string, let rpID = json["rpID"]?.string,
        let id = json["credentialIDHex"]?.string.flatMap({ Hex.decode($0) }), (1...1023).contains(id.count)
      else { return nil }
      let aaguid = json["aaguidHex"]?.string.flatMap { Hex.decode($0) }
      self.init(key: KeyMark(place: place, aaguid: aaguid), rpID: rpID, credentialID: id)
    }

    var json: JSONValue {
      .object([
        ("place", .string(key.place)), ("aaguidHex", key.aaguid.map { .hex($0) }), ("rpID", .string(rpID)),
        ("credentialIDHex", .hex(credentialID)),
      ])
    }
  }

  private func entries() -> [Entry] {
    guard let bytes = try? AtomicFile.read(path, limit: 1 << 20), let json = try? JSONReader.parse(bytes),
      json["format"]?.string == "sealkey.known-keys", json["version"]?.int == 1
    else { return [] }
    return (json["keys"]?.array ?? []).compactMap(Entry.init)
  }
}
