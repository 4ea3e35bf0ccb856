// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import SecurityKeys
import VirtualAuthenticator

/// Register a key and verify what it made, then have it sign that it still exists and verify that: the shortest whole use
/// of the library. The article FirstTenMinutes of SealCeremonies explains it line by line.
@main
enum FirstTenMinutes {
  static func main() async throws {
    // A virtual key needs no hardware. With one: let endpoint = KeyDiscovery.list()[0].endpoint()
    let (descriptor, host) = try VirtualKeyHost.inProcess(VirtualAuthenticator())
    defer { host.stop() }
    let endpoint = KeyEndpoint.reports(id: "1", name: "virtual key", kindName: "virtual", isSimulated: true) {
      descriptor
    }

    let key = SecurityKey(endpoint)
    let ceremony = Ceremony(key: KeySession(key))

    let registered = try await ceremony.register(name: "Ada")
    let identity = registered.artefact
    print("registered", registered.record.displayName, "as", registered.record.rootHash)

    let statement = Statement.custodyConfirm(
      estateID: "6F9619FF-8B86-4D01-B42D-00CF4FC964FF", epoch: 1, recordHeadDigest: SHA256.hash(Array("head".utf8)))
    let signed = try await ceremony.sign(statement, as: registered.record)
    let confirmation = signed.artefact(for: registered.record, isSimulated: true)
    await key.close()

    // Anybody can check both, from their bytes alone and the root key that they trust.
    let trusted = VerificationContext(rootPublicKey: registered.record.publicKey)
    for artefact in [identity, confirmation] {
      let report = try Artefact(parsing: artefact.encoded()).verify(trusted)
      print(artefact.kind.rawValue, report.isGood ? "good" : "NOT good")
      for check in report.checks { print(" ", check.outcome.rawValue, check.explanation) }
      guard report.isGood else { throw NotGood() }
    }
  }

  struct NotGood: Error {}
}
