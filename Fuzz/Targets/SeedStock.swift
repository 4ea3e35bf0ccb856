// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import InteropMatrix
import SealFormats
import WebAuthnCore

/// Good inputs, made by the virtual key and by a made-up estate: what a fuzzer begins with. Keys are fresh each time.
public struct SeedStock: Sendable {
  /// A registration of the virtual key.
  struct Registration: Sendable {
    var attestationObject: [UInt8]
    var clientData: [UInt8]
    var authenticatorData: [UInt8]
  }

  /// An attestation statement and the object around it.
  struct SeedStatement: Sendable {
    var format: String
    var object: [UInt8]
    var statement: [UInt8]

    init?(_ object: [UInt8]) {
      guard let read = try? AttestationObject(parsing: object) else { return nil }
      format = read.format
      self.object = object
      statement = Array(object[read.statement.range])
    }
  }

  var registrations: [Registration] = []
  var statements: [SeedStatement] = []
  var infos: [[UInt8]] = []
  var signatures: [[UInt8]] = []
  var timestamps: [[UInt8]] = []
  var artefacts: [[UInt8]] = []
  var payloads: [[UInt8]] = []
  var capsules: [[UInt8]] = []
  var halves: [[UInt8]] = []
  var bundles: [[UInt8]] = []
  var people: [[UInt8]] = []
  var passkeys: [[UInt8]] = []
  var records: [[UInt8]] = []
  var sheets: [[UInt8]] = []

  /// The run that the sheet's target fills in, once it was made.
  static var run: MatrixSheet.Run? { madeRun.withLock { $0 } }
  static let madeRun = Locked<MatrixSheet.Run?>(nil)

  /// Authenticator data of a registration under a key that is the same in every run: the generator of P-256.
  static let fixedAuthenticatorData: [UInt8] = {
    let x = Hex.decode("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296") ?? []
    let y = Hex.decode("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5") ?? []
    return SHA256.hash(Array("example.org".utf8)) + [0x41, 0, 0, 0, 1] + [UInt8](repeating: 0xbb, count: 16)
      + [0, 1, 7]
      + CBORValue.encode(
        .intMap([(1, .int(2)), (3, .int(-7)), (-1, .int(1)), (-2, .bytes(x)), (-3, .bytes(y))]))
  }()

  var clientData: [[UInt8]] {
    registrations.map(\.clientData) + [
      ClientData(type: .get, challenge: [1, 2, 3], origin: "https://example.org", crossOrigin: true).json,
      Array(#"{"type":"webauthn.get","challenge":"AA","origin":"x","topOrigin":"y","other":[1,{"a":null}]}"#.utf8),
    ]
  }

  var authenticatorData: [[UInt8]] {
    let extended = SHA256.hash([]) + [0x81, 0, 0, 0, 9] + (Hex.decode("a16b6372656450726f7465637403") ?? [])
    return registrations.map(\.authenticatorData) + [Self.fixedAuthenticatorData, extended]
  }

  var coseKeys: [[UInt8]] {
    let others: [CBORValue] = [
      .intMap([(1, .int(1)), (3, .int(-8)), (-1, .int(6)), (-2, .bytes([UInt8](repeating: 9, count: 32)))]),
      .intMap([(1, .int(1)), (3, .int(-8)), (-1, .int(7)), (-2, .bytes([UInt8](repeating: 9, count: 57)))]),
      .intMap([
        (1, .int(3)), (3, .int(-257)), (-1, .bytes([UInt8](repeating: 0xc1, count: 256))), (-2, .bytes([1, 0, 1])),
      ]),
      .intMap([(1, .int(2)), (3, .int(-35)), (-1, .int(2)), (-2, .bytes([1])), (-3, .bytes([2]))]),
      .intMap([(1, .int(7)), (3, .int(-48)), (-1, .bytes([UInt8](repeating: 1, count: 1312)))]),
    ]
    return registrations.compactMap {
      (try? AuthenticatorData(parsing: $0.authenticatorData))?.attestedCredentialData?.publicKeyBytes
    } + others.map(CBORValue.encode)
  }

  var certificates: [[UInt8]] {
    var seen: Set<[UInt8]> = []
    return statements.flatMap { statement -> [[UInt8]] in
      (try? CBORDecoder.decodeAll(statement.statement))?["x5c"]?.array?.compactMap(\.bytes) ?? []
    }.filter { seen.insert($0).inserted }
  }

  var jsonTexts: [[UInt8]] {
    Array(artefacts.prefix(4)) + clientData + metadata
      + [#"[1,-0,1e9,1.5E-3,"\u00e9\ud83d\ude00\n\/",true,false,null,{}]"#, "{\"a\":[[[[]]]]}"].map { Array($0.utf8) }
  }

  var metadata: [[UInt8]] {
    [
      Array(
        """
        {"legalHeader":"x","no":7,"nextUpdate":"2027-02-01","entries":[{"aaguid":"61616161-6161-6161-6161-616161616161",
        "statusReports":[{"status":"REVOKED"}],"metadataStatement":{"description":"Key","attestationRootCertificates":
        ["\(Base64.encode(certificates.first ?? []))"],"authenticatorGetInfo":{"versions":["FIDO_2_1"],"aaguid":
        "61616161616161616161616161616161","options":{"rk":true},"maxMsgSize":1200,"pinUvAuthProtocols":[2,1],
        "algorithms":[{"type":"public-key","alg":-7}],"firmwareVersion":5}}}]}
        """.utf8)
    ]
  }

  var apdus: [[UInt8]] {
    let commands = [
      CommandAPDU.selectFIDO(), .ctapMessage([4]), .ctapMessage([UInt8](repeating: 7, count: 300)), .ctapGetResponse(),
      .getResponse(available: 16), CommandAPDU(ins: 3),
    ]
    return commands.compactMap { try? $0.shortForm() } + commands.compactMap { try? $0.extendedForm() }
  }

  /// The targets' form: a byte for the size of reports, then the reports.
  func reports(channel: UInt32) -> [[UInt8]] {
    [0, 17, 57, 300, 1500].compactMap { count -> [UInt8]? in
      let message = CTAPHIDMessage(channel: channel, command: .cbor, payload: [UInt8](repeating: 5, count: count))
      let reports = try? CTAPHIDFraming.reports(of: message)
      return reports.map { [0] + Array($0.joined()) }
    }
  }
}
