// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

/// Every quirk changes what it names: without it a standard answer, with it the odd one.
@Suite("Quirks")
struct QuirkTests {
  static let pin = "2580"

  /// An experiment: what a key answers, as text.
  struct Row: Sendable, CustomTestStringConvertible {
    let quirk: Quirk
    let standard: String
    let odd: String
    let run: @Sendable (ModelProfile) throws -> String
    var testDescription: String { quirk.rawValue }
  }

  private static func status(_ profile: ModelProfile, _ run: (Platform) throws -> CTAPStatus) throws -> String {
    try run(Platform(profile)).name
  }

  private static func hid(_ profile: ModelProfile, _ run: (HIDClient) throws -> HIDClient.Answer) throws -> String {
    var timing = KeyTiming()
    timing.touchTimeout = 40
    timing.keepaliveInterval = 5
    let client = try HIDClient(profile, touch: .never, timing: timing)
    switch try run(client) {
    case .message(_, let payload): return Hex.encode(payload.prefix(2))
    case .error(let code): return "error \(code)"
    case .nothing: return "nothing"
    case .unplugged: return "unplugged"
    }
  }

  private static func u2f(_ handle: [UInt8], _ control: UInt8) throws -> [UInt8] {
    try CommandAPDU(
      ins: 2, p1: control, data: [UInt8](repeating: 0, count: 64) + [UInt8(handle.count)] + handle, le: 65536
    ).extendedForm()
  }

  private static let makeCredential = [0x01] + CBORValue.encode(.intMap(Platform.registration()))

  private static func options(_ name: String, _ value: Bool, token: Bool = false)
    -> @Sendable (Platform) throws -> CTAPStatus
  {
    { platform in
      try #require(try platform.setPIN(pin) == .success)
      let token = token ? try platform.token(pin, 1) : nil
      return platform.call(.makeCredential, Platform.registration(options: [(name, value)], token: token)).status
    }
  }

  private static func emptyPinAuth(_ protocolNumber: Int?) -> @Sendable (Platform) throws -> CTAPStatus {
    { platform in
      try #require(try platform.setPIN(pin) == .success)
      var members = Platform.registration()
      members[7].1 = .bytes([])
      members[8].1 = protocolNumber.map { .int($0) }
      return platform.call(.makeCredential, members).status
    }
  }

  private static func wrongPINs(_ count: Int, powerCycles: Bool) -> @Sendable (Platform) throws -> CTAPStatus {
    { platform in
      try #require(try platform.setPIN(pin) == .success)
      var last = CTAPStatus.success
      for _ in 0..<count {
        if powerCycles { platform.key.powerCycle() }
        last = try platform.tokenReply("wrong", 1).0
      }
      return last
    }
  }

  private static func secret(_ platform: Platform, _ id: [UInt8], verified: Bool, sendsProtocol: Bool = true) throws
    -> Platform.Reply
  {
    let token = verified ? try platform.token(pin, 0x02) : nil
    let number = sendsProtocol ? 2 : 1
    let shared = try platform.shared(number)
    let enc = try shared.encrypt([UInt8](repeating: 1, count: 32))
    let input = CBORValue.intMap([
      (1, shared.keyAgreement), (2, .bytes(enc)), (3, .bytes(shared.authenticate(enc))),
      (4, sendsProtocol ? .int(2) : nil),
    ])
    let reply = platform.call(
      .getAssertion, Platform.assertion(allow: [id], extensions: .textMap([("hmac-secret", input)]), token: token))
    return reply
  }

  static let rows: [Row] = [
    Row(quirk: .refusesUnknownAlgorithm, standard: "success", odd: "unsupportedAlgorithm") { profile in
      try status(profile) { platform in
        var members = Platform.registration()
        members[3].1 = .array([-7, -47].map { .textMap([("alg", .int($0)), ("type", .text("public-key"))]) })
        return platform.call(.makeCredential, members).status
      }
    },
    Row(quirk: .refusesUvFalse, standard: "success", odd: "unsupportedOption") {
      try status($0, options("uv", false))
    },
    Row(quirk: .refusesUvWithToken, standard: "success", odd: "invalidOption") {
      try status($0, options("uv", true, token: true))
    },
    Row(quirk: .refusesUnknownOption, standard: "success", odd: "limitExceeded") {
      try status($0, options("xyz", true))
    },
    Row(quirk: .refusesUnknownExtension, standard: "success", odd: "unsupportedOption") {
      try status($0) {
        $0.call(.makeCredential, Platform.registration(extensions: .textMap([("xyz", .bool(true))]))).status
      }
    },
    Row(quirk: .excludesAcrossRPs, standard: "success", odd: "credentialExcluded") {
      try status($0) { platform in
        let id = try platform.register(rpId: "other.org", options: [("rk", true)])
        return platform.call(.makeCredential, Platform.registration(exclude: [id])).status
      }
    },
    Row(quirk: .emptyPinAuthInvalid, standard: "pinInvalid", odd: "pinAuthInvalid") {
      try status($0, emptyPinAuth(1))
    },
    Row(quirk: .emptyPinAuthNeedsProtocol, standard: "pinInvalid", odd: "missingParameter") {
      try status($0, emptyPinAuth(nil))
    },
    Row(quirk: .lastWrongPINIsInvalid, standard: "pinBlocked", odd: "pinInvalid") {
      try status($0, wrongPINs(8, powerCycles: true))
    },
    Row(quirk: .noSoftBlock, standard: "pinAuthBlocked", odd: "pinInvalid") {
      try status($0, wrongPINs(3, powerCycles: false))
    },
    Row(quirk: .earlySoftBlock, standard: "pinInvalid", odd: "pinAuthBlocked") {
      try status($0, wrongPINs(2, powerCycles: false))
    },
    Row(quirk: .refusesDescriptorExtras, standard: "noCredentials", odd: "invalidCBOR") {
      try status($0) {
        let descriptor = CBORValue.textMap([
          ("id", .bytes([1])), ("type", .text("public-key")), ("transports", .array([.text("usb")])),
        ])
        var members = Platform.assertion()
        members[2].1 = .array([descriptor])
        return $0.call(.getAssertion, members).status
      }
    },
    Row(quirk: .unsortedExtensionOutputs, standard: "credProtect,hmac-secret", odd: "hmac-secret,credProtect") {
      profile in
      let reply = try Platform(profile).call(
        .makeCredential,
        Platform.registration(extensions: .textMap([("credProtect", .int(2)), ("hmac-secret", .bool(true))])))
      return reply.authData?.extensions?.map?.compactMap(\.key.text).joined(separator: ",") ?? "none"
    },
    Row(quirk: .protocol2Fails, standard: "success", odd: "pinAuthInvalid") {
      try status($0, options("rk", false, token: true))
    },
    Row(quirk: .refusesHMACSecretProtocol, standard: "success", odd: "unsupportedExtension") { profile in
      try status(profile) { platform in
        let id = try platform.register(extensions: .textMap([("hmac-secret", .bool(true))]))
        #expect(try secret(platform, id, verified: false, sendsProtocol: false).status == .success)
        return try secret(platform, id, verified: false).status
      }
    },
    Row(quirk: .singleCredRandom, standard: "two", odd: "one") { profile in
      let platform = try Platform(profile)
      let id = try platform.register(extensions: .textMap([("hmac-secret", .bool(true))]))
      try #require(try platform.setPIN(pin) == .success)
      var outputs = Set<[UInt8]>()
      for verified in [false, true] { outputs.insert(try plainSecret(platform, id, verified: verified)) }
      return outputs.count == 1 ? "one" : "two"
    },
    Row(quirk: .alwaysUvHidesCredentials, standard: "success", odd: "noCredentials") { profile in
      try status(profile) { platform in
        let id = try platform.register()
        #expect(platform.config(2).status == .success)
        return platform.call(.getAssertion, Platform.assertion(allow: [id], options: [("up", false)])).status
      }
    },
    Row(quirk: .noMatchIsInvalidCredential, standard: "noCredentials", odd: "invalidCredential") {
      try status($0) { $0.call(.getAssertion, Platform.assertion(allow: [[1]])).status }
    },
    Row(quirk: .listsOfSeveralNeverMatch, standard: "success", odd: "noCredentials") {
      try status($0) { platform in
        let id = try platform.register()
        #expect(platform.call(.getAssertion, Platform.assertion(allow: [id])).status == .success)
        return platform.call(.getAssertion, Platform.assertion(allow: [[1], id])).status
      }
    },
    Row(quirk: .omitsOnlyCredential, standard: "named", odd: "left out") { profile in
      let platform = try Platform(profile)
      let id = try platform.register()
      #expect(platform.call(.getAssertion, Platform.assertion(allow: [id, [1]]))[1] != nil)
      return platform.call(.getAssertion, Platform.assertion(allow: [id]))[1] == nil ? "left out" : "named"
    },
    Row(quirk: .retriesNeedProtocol, standard: "success", odd: "missingParameter") {
      try status($0) { $0.call(.clientPIN, [(2, .int(1))]).status }
    },
    Row(quirk: .endlessAssertions, standard: "1", odd: "2147483648, endless") { profile in
      let platform = try Platform(profile)
      _ = try platform.register(options: [("rk", true)])
      guard let total = platform.call(.getAssertion, Platform.assertion())[5]?.int else { return "1" }
      let endless = (0..<100).allSatisfy { _ in platform.call(.getNextAssertion).status == .success }
      return endless ? "\(total), endless" : "\(total)"
    },
    // On the wire.
    Row(quirk: .ignoresCancel, standard: "2d", odd: "27") {
      try hid($0) { client in
        client.send(.cbor, makeCredential)
        #expect(client.awaitTouchRequest())
        client.send(.cancel)
        return client.answer()
      }
    },
    Row(quirk: .endlessKeepalives, standard: "27", odd: "nothing") {
      try hid($0) { client in
        client.send(.cbor, makeCredential)
        for _ in 0..<30 {
          guard let report = client.report(), report.count > 7, report[4] == 0xBB else {
            return .message(0x10, [CTAPStatus.operationDenied.rawValue])
          }
        }
        return .nothing
      }
    },
    Row(quirk: .keepaliveOnChangeOnly, standard: "several", odd: "one") { profile in
      var timing = KeyTiming()
      timing.keepaliveInterval = 5
      let client = try HIDClient(profile, touch: .after(milliseconds: 60), timing: timing)
      #expect(client.cbor(makeCredential) == .success)
      return client.keepalives.count == 1 ? "one" : "several"
    },
    Row(quirk: .initDoesNotAbort, standard: "0808", odd: "error 6") {
      try hid($0) { client in
        client.send(.cbor, makeCredential)
        #expect(client.awaitTouchRequest())
        client.send(.initialise, [UInt8](repeating: 8, count: 8))
        return client.answer()
      }
    },
    Row(quirk: .cborPromisedButRefused, standard: "00", odd: "error 1") {
      try hid($0) { client in
        let answer = client.call(.cbor, [0x04])
        guard case .message(let command, let payload) = answer else { return answer }
        return .message(command, Array(payload.prefix(1)))
      }
    },
    Row(quirk: .u2fForeignHandleWrongLength, standard: "6a80", odd: "6700") {
      try hid($0) { $0.call(.message, try u2f([UInt8](repeating: 1, count: 64), 7)) }
    },
    Row(quirk: .u2fCheckOnlyAlwaysYes, standard: "6a80", odd: "6985") {
      try hid($0) { $0.call(.message, try u2f([UInt8](repeating: 1, count: 64), 7)) }
    },
    Row(quirk: .u2fLongHandleHIDError, standard: "6a80", odd: "error 127") {
      try hid($0) { $0.call(.message, try u2f([UInt8](repeating: 1, count: 200), 7)) }
    },
  ]

  private static func plainSecret(_ platform: Platform, _ id: [UInt8], verified: Bool) throws -> [UInt8] {
    let token = verified ? try platform.token(pin, 0x02) : nil
    let shared = try platform.shared()
    let enc = try shared.encrypt([UInt8](repeating: 1, count: 32))
    let input = CBORValue.intMap([
      (1, shared.keyAgreement), (2, .bytes(enc)), (3, .bytes(shared.authenticate(enc))), (4, .int(2)),
    ])
    let reply = platform.call(
      .getAssertion, Platform.assertion(allow: [id], extensions: .textMap([("hmac-secret", input)]), token: token))
    return try shared.decrypt(try #require(reply.authData?.extensions?["hmac-secret"]?.bytes))
  }

  @Test("without and with", arguments: rows)
  func quirk(row: Row) throws {
    #expect(try row.run(.virtual) == row.standard)
    #expect(try row.run(ModelProfile.virtual.varied("odd") { $0.quirks = [row.quirk] }) == row.odd)
  }

  /// Those of the models that fail are shown by whole runs of the test matrix.
  @Test("none is forgotten")
  func all() {
    let inRuns = ModelProfile.faulty.flatMap(\.quirks)
    #expect(Set(Self.rows.map(\.quirk) + inRuns) == Set(Quirk.allCases))
  }
}
