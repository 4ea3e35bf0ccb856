// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

/// What each command says to a request that is wrong in one way.
@Suite("Validation")
struct ValidationTests {
  /// A change of one member: another value, or none.
  struct Deviation: Sendable, CustomTestStringConvertible {
    let name: String
    let key: Int
    let value: CBORValue?
    let status: CTAPStatus
    var testDescription: String { name }

    init(_ name: String, _ key: Int, _ value: CBORValue?, _ status: CTAPStatus) {
      (self.name, self.key, self.value, self.status) = (name, key, value, status)
    }

    func apply(to members: [(Int, CBORValue?)]) -> [(Int, CBORValue?)] {
      members.filter { $0.0 != key } + [(key, value)]
    }
  }

  private static func map(_ members: [(String, CBORValue?)]) -> CBORValue { .textMap(members) }
  private static func list(_ count: Int, bytes: Int = 16) -> CBORValue {
    Platform.descriptors((0..<count).map { [UInt8](repeating: UInt8($0), count: bytes) })
  }

  static let registrations: [Deviation] = [
    .init("no clientDataHash", 1, nil, .missingParameter),
    .init("clientDataHash a text", 1, .text("x"), .cborUnexpectedType),
    .init("clientDataHash of 31 bytes", 1, .bytes([UInt8](repeating: 0, count: 31)), .invalidLength),
    .init("no rp", 2, nil, .missingParameter),
    .init("rp an array", 2, .array([]), .cborUnexpectedType),
    .init("rp without id", 2, map([("name", .text("x"))]), .missingParameter),
    .init("rp.id a byte string", 2, map([("id", .bytes([1]))]), .cborUnexpectedType),
    .init("rp.name a number", 2, map([("id", .text("a")), ("name", .int(1))]), .cborUnexpectedType),
    .init("rp without name", 2, map([("id", .text("a"))]), .success),
    .init("rp with icon", 2, map([("id", .text("a")), ("icon", .text("https://x"))]), .success),
    .init("no user", 3, nil, .missingParameter),
    .init("user without id", 3, map([("name", .text("x"))]), .missingParameter),
    .init("user.id a text", 3, map([("id", .text("x"))]), .cborUnexpectedType),
    .init("user.id of 64 bytes", 3, map([("id", .bytes([UInt8](repeating: 1, count: 64)))]), .success),
    .init("user.id of 65 bytes", 3, map([("id", .bytes([UInt8](repeating: 1, count: 65)))]), .invalidLength),
    .init("user.displayName a number", 3, map([("id", .bytes([1])), ("displayName", .int(1))]), .cborUnexpectedType),
    .init("no pubKeyCredParams", 4, nil, .missingParameter),
    .init("pubKeyCredParams a map", 4, .map([]), .cborUnexpectedType),
    .init("pubKeyCredParams empty", 4, .array([]), .unsupportedAlgorithm),
    .init("pubKeyCredParams of a number", 4, .array([.int(-7)]), .cborUnexpectedType),
    .init("parameters without alg", 4, .array([map([("type", .text("public-key"))])]), .invalidCBOR),
    .init("parameters without type", 4, .array([map([("alg", .int(-7))])]), .invalidCBOR),
    .init(
      "alg a text", 4, .array([map([("alg", .text("ES256")), ("type", .text("public-key"))])]), .cborUnexpectedType),
    .init(
      "good, then wrong type", 4,
      .array([
        map([("alg", .int(-7)), ("type", .text("public-key"))]), map([("alg", .text("x")), ("type", .text("y"))]),
      ]), .cborUnexpectedType),
    .init(
      "unknown algorithm only", 4, .array([map([("alg", .int(-47)), ("type", .text("public-key"))])]),
      .unsupportedAlgorithm),
    .init(
      "unknown type only", 4, .array([map([("alg", .int(-7)), ("type", .text("private-key"))])]),
      .unsupportedAlgorithm),
    .init(
      "unknown algorithm first", 4,
      .array([
        map([("alg", .int(-47)), ("type", .text("public-key"))]),
        map([("alg", .int(-7)), ("type", .text("public-key"))]),
      ]), .success),
    .init("excludeList empty", 5, .array([]), .success),
    .init("excludeList a map", 5, .map([]), .cborUnexpectedType),
    .init("excludeList of a text", 5, .array([.text("x")]), .cborUnexpectedType),
    .init("descriptor without id", 5, .array([map([("type", .text("public-key"))])]), .missingParameter),
    .init("descriptor without type", 5, .array([map([("id", .bytes([1]))])]), .missingParameter),
    .init(
      "descriptor of another type", 5, .array([map([("id", .bytes([1])), ("type", .text("x"))])]), .success),
    .init(
      "descriptor with transports", 5,
      .array([map([("id", .bytes([1])), ("type", .text("public-key")), ("transports", .array([.text("usb")]))])]),
      .success),
    .init("excludeList at the limit", 5, list(64), .success),
    .init("excludeList over the limit", 5, list(65), .limitExceeded),
    .init("id at the limit", 5, list(1, bytes: 255), .success),
    .init("id over the limit", 5, list(1, bytes: 256), .limitExceeded),
    .init("extensions an array", 6, .array([]), .cborUnexpectedType),
    .init("unknown extension", 6, map([("x", .int(1))]), .success),
    .init("credProtect 0", 6, map([("credProtect", .int(0))]), .invalidOption),
    .init("credProtect 4", 6, map([("credProtect", .int(4))]), .invalidOption),
    .init("credProtect true", 6, map([("credProtect", .bool(true))]), .cborUnexpectedType),
    .init("hmac-secret 1", 6, map([("hmac-secret", .int(1))]), .cborUnexpectedType),
    .init("largeBlobKey false", 6, map([("largeBlobKey", .bool(false))]), .invalidOption),
    .init("largeBlobKey without rk", 6, map([("largeBlobKey", .bool(true))]), .invalidOption),
    .init("options an array", 7, .array([]), .cborUnexpectedType),
    .init("unknown option", 7, map([("x", .bool(true))]), .success),
    .init("rk a number", 7, map([("rk", .int(1))]), .cborUnexpectedType),
    .init("up true", 7, map([("up", .bool(true))]), .success),
    .init("up false", 7, map([("up", .bool(false))]), .invalidOption),
    .init("uv false", 7, map([("uv", .bool(false))]), .success),
    .init("uv true without built-in verification", 7, map([("uv", .bool(true))]), .invalidOption),
    .init("pinUvAuthParam a text", 8, .text("x"), .cborUnexpectedType),
    .init("pinUvAuthParam without protocol", 8, .bytes([1]), .missingParameter),
    .init("pinUvAuthParam empty", 8, .bytes([]), .pinNotSet),
    .init("protocol a text", 9, .text("1"), .cborUnexpectedType),
    .init("enterpriseAttestation not supported", 0x0A, .int(1), .invalidParameter),
    .init("unknown member", 0x40, .int(1), .success),
  ]

  @Test("makeCredential", arguments: registrations)
  func registration(deviation: Deviation) throws {
    let platform = try Platform()
    let reply = platform.call(.makeCredential, deviation.apply(to: Platform.registration()))
    #expect(reply.status == deviation.status)
    #expect((reply.map == nil) == (deviation.status != .success), "a refusal carries nothing else")
  }

  static let assertions: [Deviation] = [
    .init("no rpId", 1, nil, .missingParameter),
    .init("rpId a byte string", 1, .bytes([1]), .cborUnexpectedType),
    .init("another rpId", 1, .text("other.org"), .noCredentials),
    .init("no clientDataHash", 2, nil, .missingParameter),
    .init("clientDataHash of 33 bytes", 2, .bytes([UInt8](repeating: 0, count: 33)), .invalidLength),
    .init("no allowList", 3, nil, .noCredentials),
    .init("allowList empty", 3, .array([]), .noCredentials),
    .init("allowList a text", 3, .text("x"), .cborUnexpectedType),
    .init("descriptor without id", 3, .array([map([("type", .text("public-key"))])]), .missingParameter),
    .init("foreign ids only", 3, list(3), .noCredentials),
    .init("allowList over the limit", 3, list(65), .limitExceeded),
    .init("id over the limit", 3, list(1, bytes: 256), .limitExceeded),
    .init("extensions a text", 4, .text("x"), .cborUnexpectedType),
    .init("largeBlobKey false", 4, map([("largeBlobKey", .bool(false))]), .invalidOption),
    .init("hmac-secret true", 4, map([("hmac-secret", .bool(true))]), .cborUnexpectedType),
    .init("hmac-secret empty", 4, map([("hmac-secret", .map([]))]), .missingParameter),
    .init("rk true", 5, map([("rk", .bool(true))]), .unsupportedOption),
    .init("rk false", 5, map([("rk", .bool(false))]), .unsupportedOption),
    .init("up false", 5, map([("up", .bool(false))]), .success),
    .init("uv true without built-in verification", 5, map([("uv", .bool(true))]), .invalidOption),
    .init("unknown option", 5, map([("x", .bool(false))]), .success),
    .init("pinUvAuthParam without protocol", 6, .bytes([1]), .missingParameter),
    .init("pinUvAuthParam empty", 6, .bytes([]), .pinNotSet),
  ]

  @Test("getAssertion", arguments: assertions)
  func assertion(deviation: Deviation) throws {
    let platform = try Platform()
    let id = try platform.register()
    let reply = platform.call(.getAssertion, deviation.apply(to: Platform.assertion(allow: [id])))
    #expect(reply.status == deviation.status)
    #expect((reply.map == nil) == (deviation.status != .success))
  }

  static let raw: [(String, [UInt8], CTAPStatus)] = [
    ("nothing", [], .invalidLength), ("unknown command", [0x33], .invalidCommand),
    ("vendor command", [0x42], .invalidCommand), ("getInfo with a map", [0x04, 0xA0], .invalidLength),
    ("makeCredential alone", [0x01], .missingParameter), ("cut map", [0x01, 0xA1], .invalidCBOR),
    ("an array", [0x01, 0x80], .cborUnexpectedType), ("bytes after the map", [0x01, 0xA0, 0x00], .invalidCBOR),
    ("a long integer", [0x06, 0xA1, 0x18, 0x02, 0x01], .invalidCBOR),
    ("a wrong order", [0x06, 0xA2, 0x02, 0x01, 0x01, 0x01], .invalidCBOR),
    ("the same key twice", [0x06, 0xA2, 0x02, 0x01, 0x02, 0x01], .invalidCBOR),
    ("an indefinite length", [0x06, 0xBF, 0x02, 0x01, 0xFF], .invalidCBOR),
    ("text that is not UTF-8", [0x02, 0xA1, 0x01, 0x61, 0xFF], .invalidCBOR),
    ("five levels", [0x06, 0xA1, 0x02, 0x81, 0x81, 0x81, 0x81, 0x01], .invalidCBOR),
    ("a number of 2^63", [0x06, 0xA1, 0x02, 0x1B, 0x80, 0, 0, 0, 0, 0, 0, 0], .invalidParameter),
    ("clientPIN without subcommand", [0x06, 0xA0], .missingParameter),
    ("unknown clientPIN subcommand", [0x06, 0xA1, 0x02, 0x08], .invalidSubcommand),
    ("UV retries without UV", [0x06, 0xA1, 0x02, 0x07], .invalidSubcommand),
    ("key agreement without protocol", [0x06, 0xA1, 0x02, 0x02], .missingParameter),
    ("key agreement, protocol 3", [0x06, 0xA2, 0x01, 0x03, 0x02, 0x02], .invalidParameter),
    ("PIN retries without protocol", [0x06, 0xA1, 0x02, 0x01], .success),
    ("bioEnrollment without a sensor", [0x09, 0xA0], .invalidCommand),
    ("credentialManagement without subcommand", [0x0A, 0xA0], .missingParameter),
    ("unknown credentialManagement subcommand", [0x0A, 0xA1, 0x01, 0x08], .invalidSubcommand),
    ("next RP out of nowhere", [0x0A, 0xA1, 0x01, 0x03], .notAllowed),
    ("next credential out of nowhere", [0x0A, 0xA1, 0x01, 0x05], .notAllowed),
    ("getNextAssertion out of nowhere", [0x08], .notAllowed),
    ("config without subcommand", [0x0D, 0xA0], .missingParameter),
    ("unknown config subcommand", [0x0D, 0xA1, 0x01, 0x09], .invalidParameter),
    ("enterprise attestation not supported", [0x0D, 0xA1, 0x01, 0x01], .invalidParameter),
    ("largeBlobs without anything", [0x0C, 0xA0], .invalidParameter),
  ]

  @Test("requests that are no requests", arguments: raw)
  func requests(name: String, request: [UInt8], status: CTAPStatus) throws {
    #expect(try Platform().send(request).status == status, "\(name)")
  }

  @Test("requests over maxMsgSize are refused")
  func tooLong() throws {
    let platform = try Platform(.small)
    #expect(platform.send([0x01] + [UInt8](repeating: 0, count: 510)).status == .requestTooLarge)
    #expect(platform.send([0x01] + [UInt8](repeating: 0, count: 509)).status == .invalidCBOR)
  }

  @Test("every truncation of a good request is refused", arguments: [CTAPCommand.makeCredential, .getAssertion])
  func truncations(command: CTAPCommand) throws {
    let platform = try Platform()
    let members = command == .makeCredential ? Platform.registration() : Platform.assertion()
    let request = [command.rawValue] + CBORValue.encode(.intMap(members))
    for count in 1..<request.count { #expect(platform.send(Array(request[..<count])).status != .success) }
    #expect(platform.key.storedCredentials == 0)
  }

  @Test("every flipped bit of a good request is answered")
  func flips() throws {
    let platform = try Platform()
    let request = [CTAPCommand.makeCredential.rawValue] + CBORValue.encode(.intMap(Platform.registration()))
    for bit in 8..<(request.count * 8) {
      var flipped = request
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      _ = platform.send(flipped)
    }
    #expect(platform.call(.makeCredential, Platform.registration()).status == .success)
  }

  @Test("a U2F key refuses every CTAP2 command", arguments: CTAPCommand.allCases)
  func u2fOnly(command: CTAPCommand) throws {
    #expect(try Platform(.u2f).call(command, .map([])).status == .invalidCommand)
  }
}
