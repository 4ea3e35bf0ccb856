// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import VirtualAuthenticator
import WebAuthnCore

@testable import InteropMatrix

/// A run written by hand, as a key could have answered it that is nowhere said to be virtual: what the tests put into
/// sheets, and what they spoil.
struct MadeRun {
  /// What the key puts into its answers.
  struct Answers {
    var registrationFlags: UInt8 = 0x45
    var assertionFlags: UInt8 = 0x05
    var credentialID: [UInt8] = [UInt8](repeating: 0xC1, count: 64)
    var format = "none"
    var statement: CBORValue = .map([])
    /// After the public key, and after the authenticator data of an assertion.
    var registrationTail: [UInt8] = []
    var assertionTail: [UInt8] = []
    var registrationCounter: UInt32 = 1
    /// Of each assertion in turn.
    var counters: [UInt32] = [2, 3, 4]
    var rpIdHash = Seal.rpIdHash
    /// The COSE key from x and y.
    var cose: (_ x: [UInt8], _ y: [UInt8]) -> [UInt8] = { x, y in
      CBORValue.encode(
        .intMap([(1, .int(2)), (3, .int(-7)), (-1, .int(1)), (-2, .bytes(x)), (-3, .bytes(y))]))
    }
    var signature: (_ good: [UInt8]) throws -> [UInt8] = { $0 }
    /// Which key is wanted.
    var isWanted: (_ x: [UInt8]) -> Bool = { _ in true }
    /// Which signature is wanted: it is made again until it is.
    var isWantedSignature: (_ der: [UInt8]) -> Bool = { _ in true }
    var transport = "hidraw"
    var place = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.1/0003:1050:0407.0004"
    var name = "Maker Key 5"
    var options: [String: Bool] = ["rk": true, "up": true, "clientPin": true]
    var startedAt: Int64 = 1_800_000_000
    /// In the registration; nil for that of getInfo.
    var aaguid: [UInt8]?
  }

  static func record(_ change: (inout Answers) -> Void = { _ in }) throws -> RunRecord {
    var a = Answers()
    change(&a)
    var key = try P256.Signing.PrivateKey()
    while !a.isWanted(Array(key.publicKey.rawRepresentation.prefix(32))) {
      key = try P256.Signing.PrivateKey()
    }
    let raw = key.publicKey.rawRepresentation
    var info = AuthenticatorInfo(
      versions: ["FIDO_2_0", "FIDO_2_1"], aaguid: Array("a maker's aaguid".utf8))
    info.options = a.options
    info.extensions = ["hmac-secret"]
    info.pinUvAuthProtocols = [1]
    info.firmwareVersion = 7
    let halves = try PrivateHalves()
    var record = RunRecord(
      tool: "test", isSimulated: false, nonce: Random.bytes(32), startedAt: a.startedAt,
      finishedAt: a.startedAt + 60,
      tester: nil,
      key: .init(
        name: a.name, transport: a.transport, place: a.place, vendorID: 0x1234, productID: 0x5678),
      hosts: [.init(mark: [1, 2, 3, 4, 5, 6, 7, 8], kernel: "Linux 6.1", libfido2: "1.12.0")],
      before: .init(info: info.encoded(), pinTries: 8, discoverable: 0),
      after: .init(info: info.encoded(), pinTries: 8, discoverable: 0),
      device: .init(
        publicKey: halves.devicePublicKey, kemBundle: halves.bundle.publicKeys.bytes,
        salt: Random.bytes(32)),
      steps: [])

    func counter(_ n: UInt32) -> [UInt8] {
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: n >> $0) }
    }
    let length = a.credentialID.count
    let authData =
      a.rpIdHash + [a.registrationFlags] + counter(a.registrationCounter) + (a.aaguid ?? info.aaguid)
      + [UInt8(length >> 8), UInt8(length & 0xff)] + a.credentialID
      + a.cose(Array(raw.prefix(32)), Array(raw.suffix(32))) + a.registrationTail
    let made = try record.clientData(.register, attempt: 0, credentialID: nil)
    var attempt = StepRecord.Attempt(host: 0, clientDataJSON: made.json)
    attempt.exchanges = [
      .init(
        request: [1]
          + CBORValue.encode(
            .intMap([
              (1, .bytes(made.hash)), (2, .textMap([("id", .text(Seal.relyingPartyID))])),
              (4, .array([.textMap([("alg", .int(-7)), ("type", .text("public-key"))])])),
            ])),
        reply: [0]
          + CBORValue.encode(
            .intMap([(1, .text(a.format)), (2, .bytes(authData)), (3, a.statement)])))
    ]
    attempt.touches = 1
    attempt.duration = 900
    record.steps.append(StepRecord(.register, attempts: [attempt]))
    for (index, step) in [MatrixStep.signIn, .friend, .endorse].enumerated() {
      let client = try record.clientData(step, attempt: 0, credentialID: a.credentialID)
      let data = a.rpIdHash + [a.assertionFlags] + counter(a.counters[index]) + a.assertionTail
      var signature = try key.signature(for: data + client.hash)
      while !a.isWantedSignature(signature) {
        signature = try key.signature(for: data + client.hash)
      }
      var attempt = StepRecord.Attempt(host: 0, clientDataJSON: client.json)
      attempt.exchanges = [
        .init(
          request: [2]
            + CBORValue.encode(
              .intMap([
                (1, .text(Seal.relyingPartyID)), (2, .bytes(client.hash)),
                (3, .array([.textMap([("id", .bytes(a.credentialID)), ("type", .text("public-key"))])])),
              ])),
          reply: [0]
            + CBORValue.encode(
              .intMap([
                (1, .textMap([("id", .bytes(a.credentialID)), ("type", .text("public-key"))])),
                (2, .bytes(data)),
                (3, .bytes(try a.signature(signature))),
              ])))
      ]
      attempt.touches = 1
      attempt.duration = 700
      record.steps.append(StepRecord(step, attempts: [attempt]))
    }
    return record
  }
}
