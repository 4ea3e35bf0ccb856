// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

/// The other side of CTAP2, just enough of it to put a key to the test: nothing is checked here, everything can be sent.
final class Platform {
  let key: VirtualAuthenticator
  var session: UInt32 = 1
  static let rpId = "example.org"
  static let hash = [UInt8](repeating: 0xC5, count: 32)

  init(_ key: VirtualAuthenticator) { self.key = key }

  convenience init(
    _ profile: ModelProfile = .virtual, storage: VirtualAuthenticator.Storage = .memory,
    touch: TouchControl.Policy = .automatic, timing: KeyTiming = KeyTiming(), clock: KeyClock = .system
  ) throws {
    self.init(
      try VirtualAuthenticator(profile: profile, storage: storage, touch: touch, timing: timing, clock: clock))
  }

  struct Reply {
    let status: CTAPStatus
    let map: CBORItem?

    subscript(_ key: Int64) -> CBORItem? { map?[key] }
    /// The authenticator data of makeCredential and getAssertion.
    var authData: AuthenticatorData? { self[2]?.bytes.flatMap { try? AuthenticatorData(parsing: $0) } }
    /// The flags in it, or nil.
    var flags: AuthenticatorFlags? { authData?.flags }
  }

  func send(_ request: [UInt8]) -> Reply {
    let reply = key.handle(request, session: session)
    let map = reply.count > 1 ? try? CBORDecoder.decodeAll(Array(reply.dropFirst())) : nil
    return Reply(status: CTAPStatus(rawValue: reply.first ?? 0xFF), map: map)
  }

  func call(_ command: CTAPCommand, _ value: CBORValue? = nil) -> Reply {
    send([command.rawValue] + (value.map { CBORValue.encode($0) } ?? []))
  }

  func call(_ command: CTAPCommand, _ members: [(Int, CBORValue?)]) -> Reply { call(command, .intMap(members)) }

  // MARK: - Ceremonies

  static func descriptors(_ ids: [[UInt8]]) -> CBORValue {
    .array(ids.map { .textMap([("id", .bytes($0)), ("type", .text("public-key"))]) })
  }

  static let es256: CBORValue = .array([.textMap([("alg", .int(-7)), ("type", .text("public-key"))])])

  /// The members of a good makeCredential.
  static func registration(
    rpId: String = rpId, user: [UInt8] = [1], exclude: [[UInt8]]? = nil, options: [(String, Bool)]? = nil,
    extensions: CBORValue? = nil, token: Token? = nil
  ) -> [(Int, CBORValue?)] {
    [
      (1, .bytes(hash)), (2, .textMap([("id", .text(rpId)), ("name", .text("Example"))])),
      (3, .textMap([("id", .bytes(user)), ("name", .text("n")), ("displayName", .text("d"))])), (4, es256),
      (5, exclude.map(descriptors)), (6, extensions),
      (7, options.map { .textMap($0.map { ($0.0, .bool($0.1)) }) }),
      (8, token.map { .bytes($0.authenticate(hash)) }), (9, token.map { .int($0.number) }),
    ]
  }

  /// The members of a good getAssertion.
  static func assertion(
    rpId: String = rpId, allow: [[UInt8]]? = nil, options: [(String, Bool)]? = nil, extensions: CBORValue? = nil,
    token: Token? = nil
  ) -> [(Int, CBORValue?)] {
    [
      (1, .text(rpId)), (2, .bytes(hash)), (3, allow.map(descriptors)), (4, extensions),
      (5, options.map { .textMap($0.map { ($0.0, .bool($0.1)) }) }),
      (6, token.map { .bytes($0.authenticate(hash)) }), (7, token.map { .int($0.number) }),
    ]
  }

  /// Registers and returns the credential id.
  func register(
    rpId: String = rpId, user: [UInt8] = [1], options: [(String, Bool)]? = nil, extensions: CBORValue? = nil,
    token: Token? = nil
  ) throws -> [UInt8] {
    let reply = call(
      .makeCredential,
      Self.registration(rpId: rpId, user: user, options: options, extensions: extensions, token: token))
    try #require(reply.status == .success, "makeCredential gave \(reply.status)")
    return try #require(reply.authData?.attestedCredentialData).credentialID
  }

  // MARK: - PIN

  /// What a pinUvAuthToken signs with.
  struct Token {
    let number: Int
    let bytes: [UInt8]

    func authenticate(_ message: [UInt8]) -> [UInt8] {
      let mac = HMAC.sha256(message, key: SecretBytes(bytes))
      return number == 1 ? Array(mac.prefix(16)) : mac
    }
  }

  /// One shared secret with the key.
  struct Shared {
    let number: Int
    let keyAgreement: CBORValue
    let hmacKey: [UInt8]
    let aesKey: [UInt8]

    func authenticate(_ message: [UInt8]) -> [UInt8] { Token(number: number, bytes: hmacKey).authenticate(message) }

    func encrypt(_ plain: [UInt8]) throws -> [UInt8] {
      let iv = number == 1 ? [UInt8](repeating: 0, count: 16) : Random.bytes(16)
      let cipher = try AES.CBC.encrypt(SecretBytes(plain), using: SecretBytes(aesKey), iv: iv)
      return number == 1 ? cipher : iv + cipher
    }

    func decrypt(_ cipher: [UInt8]) throws -> [UInt8] {
      let iv = number == 1 ? [UInt8](repeating: 0, count: 16) : Array(cipher.prefix(16))
      let body = number == 1 ? cipher : Array(cipher.dropFirst(16))
      return try AES.CBC.decrypt(body, using: SecretBytes(aesKey), iv: iv).exposed()
    }
  }

  func shared(_ number: Int = 2) throws -> Shared {
    let reply = call(.clientPIN, [(1, .int(number)), (2, .int(2))])
    let cose = try #require(reply[1], "getKeyAgreement gave \(reply.status)")
    let peer = try P256.KeyAgreement.PublicKey(
      rawRepresentation: (cose[-2]?.bytes ?? []) + (cose[-3]?.bytes ?? []))
    let ours = try P256.KeyAgreement.PrivateKey()
    let z = try ours.sharedSecretFromKeyAgreement(with: peer)
    let raw = ours.publicKey.rawRepresentation
    let point: CBORValue = .intMap([
      (1, .int(2)), (3, .int(-25)), (-1, .int(1)), (-2, .bytes(Array(raw[..<32]))), (-3, .bytes(Array(raw[32...]))),
    ])
    if number == 1 {
      let secret = SHA256.hash(z)
      return Shared(number: 1, keyAgreement: point, hmacKey: secret, aesKey: secret)
    }
    func derive(_ info: String) throws -> [UInt8] {
      try HKDF.sha256(
        inputKeyMaterial: z, salt: [UInt8](repeating: 0, count: 32), info: Array(info.utf8), outputByteCount: 32
      ).exposed()
    }
    return Shared(
      number: 2, keyAgreement: point, hmacKey: try derive("CTAP2 HMAC key"), aesKey: try derive("CTAP2 AES key"))
  }

  static func padded(_ pin: String, to count: Int = 64) -> [UInt8] {
    let bytes = Array(pin.utf8)
    return bytes + [UInt8](repeating: 0, count: max(0, count - bytes.count))
  }

  static func pinHash(_ pin: String) -> [UInt8] { Array(SHA256.hash(Array(pin.utf8)).prefix(16)) }

  func setPIN(_ pin: String, _ number: Int = 2) throws -> CTAPStatus {
    let shared = try shared(number)
    let enc = try shared.encrypt(Self.padded(pin))
    return call(
      .clientPIN,
      [
        (1, .int(number)), (2, .int(3)), (3, shared.keyAgreement), (4, .bytes(shared.authenticate(enc))),
        (5, .bytes(enc)),
      ]
    ).status
  }

  func changePIN(_ old: String, _ new: String, _ number: Int = 2) throws -> CTAPStatus {
    let shared = try shared(number)
    let newEnc = try shared.encrypt(Self.padded(new))
    let hashEnc = try shared.encrypt(Self.pinHash(old))
    return call(
      .clientPIN,
      [
        (1, .int(number)), (2, .int(4)), (3, shared.keyAgreement),
        (4, .bytes(shared.authenticate(newEnc + hashEnc))), (5, .bytes(newEnc)), (6, .bytes(hashEnc)),
      ]
    ).status
  }

  /// getPinUvAuthTokenUsingPinWithPermissions, or getPinToken when `permissions` is nil.
  func tokenReply(
    _ pin: String, _ permissions: Int?, rpId: String? = rpId, _ number: Int = 2
  ) throws -> (CTAPStatus, Token?) {
    let shared = try shared(number)
    let reply = call(
      .clientPIN,
      [
        (1, .int(number)), (2, .int(permissions == nil ? 5 : 9)), (3, shared.keyAgreement),
        (6, .bytes(try shared.encrypt(Self.pinHash(pin)))), (9, permissions.map { .int($0) }),
        (0x0A, permissions == nil ? nil : rpId.map { .text($0) }),
      ])
    let token = try reply[2]?.bytes.map { Token(number: number, bytes: try shared.decrypt($0)) }
    return (reply.status, token)
  }

  func token(_ pin: String, _ permissions: Int?, rpId: String? = rpId, _ number: Int = 2) throws -> Token {
    let (status, token) = try tokenReply(pin, permissions, rpId: rpId, number)
    return try #require(token, "the token was refused: \(status)")
  }

  func tokenByUv(_ permissions: Int, rpId: String? = rpId) throws -> (CTAPStatus, Token?) {
    let shared = try shared(2)
    let reply = call(
      .clientPIN,
      [
        (1, .int(2)), (2, .int(6)), (3, shared.keyAgreement), (9, .int(permissions)), (0x0A, rpId.map { .text($0) }),
      ])
    return (reply.status, try reply[2]?.bytes.map { Token(number: 2, bytes: try shared.decrypt($0)) })
  }

  var pinRetries: Int? { call(.clientPIN, [(2, .int(1))])[3]?.int.map(Int.init) }

  // MARK: - Commands with a token

  /// A credentialManagement subcommand.
  func manage(
    _ subcommand: Int, _ parameters: CBORValue? = nil, token: Token?, command: CTAPCommand = .credentialManagement
  ) -> Reply {
    let signed = [UInt8(subcommand)] + (parameters.map { CBORValue.encode($0) } ?? [])
    return call(
      command,
      [
        (1, .int(subcommand)), (2, parameters), (3, token.map { .int($0.number) }),
        (4, token.map { .bytes($0.authenticate(signed)) }),
      ])
  }

  /// An authenticatorConfig subcommand.
  func config(_ subcommand: Int, _ parameters: CBORValue? = nil, token: Token? = nil) -> Reply {
    let signed =
      [UInt8](repeating: 0xFF, count: 32) + [0x0D, UInt8(subcommand)]
      + (parameters.map { CBORValue.encode($0) } ?? [])
    return call(
      .config,
      [
        (1, .int(subcommand)), (2, parameters), (3, token.map { .int($0.number) }),
        (4, token.map { .bytes($0.authenticate(signed)) }),
      ])
  }

  /// A bioEnrollment subcommand.
  func bio(_ subcommand: Int, _ parameters: CBORValue? = nil, token: Token? = nil) -> Reply {
    let signed = [0x01, UInt8(subcommand)] + (parameters.map { CBORValue.encode($0) } ?? [])
    return call(
      .bioEnrollment,
      [
        (1, .int(1)), (2, .int(subcommand)), (3, parameters), (4, token.map { .int($0.number) }),
        (5, token.map { .bytes($0.authenticate(signed)) }),
      ])
  }

  /// Enrols a finger; needs a PIN.
  func enrol(pin: String) throws -> [UInt8] {
    let token = try token(pin, 0x08, rpId: nil)
    var reply = bio(1, token: token)
    let id = try #require(reply[4]?.bytes, "enrollBegin gave \(reply.status)")
    while let left = reply[6]?.int, left > 0 { reply = bio(2, .intMap([(1, .bytes(id))]), token: token) }
    try #require(reply.status == .success)
    return id
  }

  /// A write of the large-blob array.
  func writeBlobs(_ part: [UInt8], offset: Int, length: Int?, token: Token? = nil) -> Reply {
    let little = (0..<4).map { UInt8(offset >> (8 * $0) & 0xFF) }
    let signed = [UInt8](repeating: 0xFF, count: 32) + [0x0C, 0x00] + little + SHA256.hash(part)
    return call(
      .largeBlobs,
      [
        (2, .bytes(part)), (3, .int(offset)), (4, length.map { .int($0) }),
        (5, token.map { .bytes($0.authenticate(signed)) }), (6, token.map { .int($0.number) }),
      ])
  }
}

/// A clock that a test moves.
final class ManualClock: Sendable {
  private let time = Locked<Int64>(1_000_000)
  var clock: KeyClock { KeyClock { self.time.withLock { $0 } } }
  func advance(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }
}
