// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

@Suite("Extensions")
struct ExtensionTests {
  static let pin = "2580"
  static let salt1 = [UInt8](repeating: 1, count: 32)
  static let salt2 = [UInt8](repeating: 2, count: 32)

  private func hmac(_ platform: Platform, _ salts: [UInt8], _ number: Int) throws -> (Platform.Shared, CBORValue) {
    let shared = try platform.shared(number)
    let enc = try shared.encrypt(salts)
    return (
      shared,
      .intMap([
        (1, shared.keyAgreement), (2, .bytes(enc)), (3, .bytes(shared.authenticate(enc))),
        (4, number == 1 ? nil : .int(number)),
      ])
    )
  }

  private func secret(
    _ platform: Platform, _ id: [UInt8], _ salts: [UInt8], _ number: Int = 2, verified: Bool = false
  ) throws -> [UInt8] {
    let token = verified ? try platform.token(Self.pin, 0x02, number) : nil
    let (shared, input) = try hmac(platform, salts, number)
    let reply = platform.call(
      .getAssertion, Platform.assertion(allow: [id], extensions: .textMap([("hmac-secret", input)]), token: token))
    let output = try #require(reply.authData?.extensions?["hmac-secret"]?.bytes, "\(reply.status)")
    return try shared.decrypt(output)
  }

  @Test("hmac-secret: two secrets, each stable, alike in both protocols, one salt as in two")
  func hmacSecret() throws {
    let platform = try Platform()
    let id = try platform.register(extensions: .textMap([("hmac-secret", .bool(true))]))
    let other = try platform.register(user: [2], extensions: .textMap([("hmac-secret", .bool(true))]))
    try #require(try platform.setPIN(Self.pin) == .success)
    var without: [UInt8] = []
    var with: [UInt8] = []
    for number in [1, 2] {
      for verified in [false, true] {
        let one = try secret(platform, id, Self.salt1, number, verified: verified)
        let two = try secret(platform, id, Self.salt1 + Self.salt2, number, verified: verified)
        #expect(one.count == 32 && two.count == 64)
        #expect(Array(two.prefix(32)) == one)
        #expect(Array(two.suffix(32)) == (try secret(platform, id, Self.salt2, number, verified: verified)))
        if number == 1 {
          if verified { with = two } else { without = two }
        } else {
          #expect(two == (verified ? with : without))
        }
      }
    }
    #expect(with != without)
    #expect(try secret(platform, other, Self.salt1) != Array(without.prefix(32)))
    platform.key.powerCycle()
    #expect(try secret(platform, id, Self.salt1) == Array(without.prefix(32)))
  }

  @Test("hmac-secret with something wrong", arguments: [1, 2])
  func badHMACSecret(number: Int) throws {
    let platform = try Platform()
    let id = try platform.register(extensions: .textMap([("hmac-secret", .bool(true))]))
    let (shared, _) = try hmac(platform, Self.salt1, number)
    func status(
      _ salts: [UInt8], auth: [UInt8]? = nil, point: CBORValue? = nil, drop: Int? = nil, protocol other: Int? = nil,
      up: Bool = true
    ) throws -> CTAPStatus {
      let enc = try shared.encrypt(salts)
      let members: [(Int, CBORValue?)] = [
        (1, point ?? shared.keyAgreement), (2, .bytes(enc)), (3, .bytes(auth ?? shared.authenticate(enc))),
        (4, .int(other ?? number)),
      ]
      let input = CBORValue.intMap(members.filter { $0.0 != drop })
      return platform.call(
        .getAssertion,
        Platform.assertion(allow: [id], options: [("up", up)], extensions: .textMap([("hmac-secret", input)]))
      ).status
    }
    #expect(try status(Self.salt1) == .success)
    #expect(try status(Self.salt1, up: false) == .unsupportedOption)
    #expect(try status(Self.salt1, auth: [UInt8](repeating: 0, count: 32)) == .pinAuthInvalid)
    #expect(try status(Self.salt1, auth: []) == .pinAuthInvalid)
    #expect(try status([UInt8](repeating: 0, count: 16)) == .invalidLength)
    #expect(try status([UInt8](repeating: 0, count: 48)) == .invalidLength)
    #expect(try status([UInt8](repeating: 0, count: 96)) == .invalidLength)
    #expect(try status(Self.salt1, point: .map([])) == .invalidParameter)
    #expect(try status(Self.salt1, protocol: 3) == .invalidParameter)
    for key in [1, 2, 3] { #expect(try status(Self.salt1, drop: key) == .missingParameter) }
    #expect(try status(Self.salt1, drop: 4) == (number == 1 ? .success : .pinAuthInvalid))
  }

  @Test("a credential made without hmac-secret has none")
  func notAsked() throws {
    let platform = try Platform()
    let id = try platform.register()
    let (_, input) = try hmac(platform, Self.salt1, 2)
    let reply = platform.call(
      .getAssertion, Platform.assertion(allow: [id], extensions: .textMap([("hmac-secret", input)])))
    #expect(reply.status == .success && reply.authData?.extensions == nil)
    let without = try Platform(.noHMACSecret)
    let made = without.call(
      .makeCredential, Platform.registration(extensions: .textMap([("hmac-secret", .bool(true))])))
    #expect(made.status == .success && made.authData?.extensions == nil)
  }

  @Test("hmac-secret-mc gives the same secret as a later assertion")
  func hmacSecretAtCreation() throws {
    let platform = try Platform(.nonCanonical)
    let (shared, input) = try hmac(platform, Self.salt1, 2)
    let reply = platform.call(
      .makeCredential,
      Platform.registration(
        extensions: .textMap([("hmac-secret", .bool(true)), ("hmac-secret-mc", input)])))
    let data = try #require(reply.authData)
    let output = try #require(data.extensions?["hmac-secret-mc"]?.bytes)
    let id = try #require(data.attestedCredentialData).credentialID
    #expect(try shared.decrypt(output) == (try secret(platform, id, Self.salt1)))
  }

  @Test("credBlob is kept for discoverable credentials, up to its size", arguments: [0, 32, 33], [false, true])
  func credBlob(size: Int, rk: Bool) throws {
    let platform = try Platform()
    let blob = [UInt8](repeating: 7, count: size)
    let reply = platform.call(
      .makeCredential,
      Platform.registration(options: [("rk", rk)], extensions: .textMap([("credBlob", .bytes(blob))])))
    let stored = rk && size <= 32
    #expect(reply.authData?.extensions?["credBlob"]?.bool == stored)
    let id = try #require(reply.authData?.attestedCredentialData).credentialID
    let read = platform.call(
      .getAssertion, Platform.assertion(allow: [id], extensions: .textMap([("credBlob", .bool(true))])))
    #expect(read.authData?.extensions?["credBlob"]?.bytes == (stored ? blob : []))
  }

  @Test("largeBlobKey belongs to one credential")
  func largeBlobKey() throws {
    let platform = try Platform()
    let wants = CBORValue.textMap([("largeBlobKey", .bool(true))])
    var keys: [[UInt8]] = []
    for n in 1...2 {
      let reply = platform.call(
        .makeCredential, Platform.registration(user: [UInt8(n)], options: [("rk", true)], extensions: wants))
      keys.append(try #require(reply[5]?.bytes))
    }
    #expect(keys[0] != keys[1] && keys[0].count == 32)
    let first = platform.call(.getAssertion, Platform.assertion(extensions: wants))
    #expect(first[7]?.bytes == keys[1])
    #expect(platform.call(.getNextAssertion)[7]?.bytes == keys[0])
    #expect(platform.call(.getAssertion, Platform.assertion())[7] == nil)
  }

  @Test("minPinLength is told to those it was set for")
  func minPinLength() throws {
    let platform = try Platform()
    let wants = CBORValue.textMap([("minPinLength", .bool(true))])
    let parameters = CBORValue.intMap([(1, .int(6)), (2, .array([.text(Platform.rpId)]))])
    #expect(platform.config(3, parameters).status == .success)
    for (rpId, length) in [(Platform.rpId, Int64?(6)), ("other.org", nil)] {
      let reply = platform.call(.makeCredential, Platform.registration(rpId: rpId, extensions: wants))
      #expect(reply.authData?.extensions?["minPinLength"]?.int == length)
    }
  }
}
