// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

@Suite("U2F")
struct U2FTests {
  static let application = SHA256.hash(Array(Platform.rpId.utf8))
  static let challenge = [UInt8](repeating: 0x11, count: 32)

  private func send(_ key: VirtualAuthenticator, _ apdu: CommandAPDU) throws -> ResponseAPDU {
    try ResponseAPDU(parsing: key.handleU2F(apdu.extendedForm()))
  }

  private func register(_ key: VirtualAuthenticator) throws -> (handle: [UInt8], point: [UInt8]) {
    let reply = try send(key, CommandAPDU(ins: 1, data: Self.challenge + Self.application, le: 65536))
    try #require(reply.status == .success)
    let length = Int(reply.data[66])
    return (Array(reply.data[67..<(67 + length)]), Array(reply.data[1..<66]))
  }

  private func authenticate(
    _ key: VirtualAuthenticator, _ handle: [UInt8], control: UInt8 = 3, application: [UInt8] = application
  ) throws -> ResponseAPDU {
    try send(
      key,
      CommandAPDU(
        ins: 2, p1: control, data: Self.challenge + application + [UInt8(handle.count)] + handle, le: 65536))
  }

  @Test("what is registered signs, under both kinds of key", arguments: [ModelProfile.virtual, .u2f])
  func ceremonies(profile: ModelProfile) throws {
    let key = try VirtualAuthenticator(profile: profile)
    let (handle, point) = try register(key)
    for control in [3, 8] as [UInt8] {
      let reply = try authenticate(key, handle, control: control)
      #expect(reply.status == .success)
      let facts = Array(reply.data.prefix(5))
      #expect(facts[0] == (control == 3 ? 1 : 0))
      let signed = Self.application + facts + Self.challenge
      let publicKey = try P256.Signing.PublicKey(x963Representation: point)
      #expect(publicKey.isValidSignature(Array(reply.data.dropFirst(5)), for: signed))
    }
  }

  @Test("the registration is signed by the attestation key, whose certificate says it is virtual")
  func attestation() throws {
    let key = try VirtualAuthenticator(profile: .u2f)
    let reply = try send(key, CommandAPDU(ins: 1, data: Self.challenge + Self.application, le: 65536))
    let length = Int(reply.data[66])
    let rest = Array(reply.data[(67 + length)...])
    let certificate = Array(rest.prefix(4 + Int(rest[2]) << 8 + Int(rest[3])))
    #expect(SimulatedKey.isSimulated(certificate: certificate))
    #expect(reply.data[0] == 0x05)
  }

  static let refusals: [(String, [UInt8], StatusWord)] = [
    ("version", [0, 3, 0, 0], .success), ("version with data", [0, 3, 0, 0, 1, 9], .wrongLength),
    ("another class", [1, 3, 0, 0], .classNotSupported),
    ("unknown instruction", [0, 4, 0, 0], .instructionNotSupported),
    ("register without data", [0, 1, 0, 0], .wrongLength),
    ("register, 63 bytes", [0, 1, 0, 0, 63] + [UInt8](repeating: 0, count: 63), .wrongLength),
    ("register, 65 bytes", [0, 1, 0, 0, 65] + [UInt8](repeating: 0, count: 65), .wrongLength),
    ("authenticate, 64 bytes", [0, 2, 3, 0, 64] + [UInt8](repeating: 0, count: 64), .wrongLength),
    ("authenticate, handle cut", [0, 2, 3, 0, 66] + [UInt8](repeating: 0, count: 64) + [2, 0], .wrongLength),
    ("authenticate, handle empty", [0, 2, 3, 0, 65] + [UInt8](repeating: 0, count: 65), .wrongData),
    ("authenticate, unknown control", [0, 2, 4, 0, 65] + [UInt8](repeating: 0, count: 65), .wrongParameters),
    ("nothing", [], .wrongLength), ("three bytes", [0, 3, 0], .wrongLength),
    ("lengths that do not add up", [0, 3, 0, 0, 5, 1], .wrongLength),
  ]

  @Test("requests that are wrong", arguments: refusals)
  func refused(name: String, apdu: [UInt8], status: StatusWord) throws {
    let key = try VirtualAuthenticator()
    #expect(try ResponseAPDU(parsing: key.handleU2F(apdu)).status == status, "\(name)")
  }

  @Test("check-only tells known handles from others, without a touch")
  func checkOnly() throws {
    let key = try VirtualAuthenticator()
    let (handle, _) = try register(key)
    key.touch.setPolicy(.never)
    #expect(try authenticate(key, handle, control: 7).status == .conditionsNotSatisfied)
    #expect(
      try authenticate(key, handle, control: 7, application: [UInt8](repeating: 0, count: 32)).status == .wrongData)
    #expect(try authenticate(key, [UInt8](repeating: 1, count: 64), control: 7).status == .wrongData)
    #expect(try authenticate(try VirtualAuthenticator(), handle, control: 7).status == .wrongData)
  }

  @Test("without a touch 6985 at once, until it comes; a touch serves one request")
  func polling() throws {
    let time = ManualClock()
    let key = try VirtualAuthenticator(touch: .after(milliseconds: 300), clock: time.clock)
    let apdu = CommandAPDU(ins: 1, data: Self.challenge + Self.application, le: 65536)
    var words: [StatusWord] = []
    for _ in 0..<5 {
      words.append(try send(key, apdu).status)
      time.advance(100)
    }
    #expect(
      words == [
        .conditionsNotSatisfied, .conditionsNotSatisfied, .conditionsNotSatisfied, .success, .conditionsNotSatisfied,
      ])
    #expect(key.touch.requests.count == 2)
    key.touch.setPolicy(.never)
    let other = CommandAPDU(ins: 1, data: Self.application + Self.challenge, le: 65536)
    #expect(try send(key, other).status == .conditionsNotSatisfied)
    key.touch.touch()
    #expect(try send(key, other).status == .success)
    key.touch.touch()
    #expect(try send(key, other).status == .conditionsNotSatisfied, "a touch before the question counts for nothing")
  }

  @Test("credentials serve both, except those that want verification")
  func both() throws {
    let platform = try Platform()
    let (handle, _) = try register(platform.key)
    #expect(platform.call(.getAssertion, Platform.assertion(allow: [handle])).status == .success)
    #expect(platform.call(.makeCredential, Platform.registration(exclude: [handle])).status == .credentialExcluded)
    let id = try platform.register()
    #expect(try authenticate(platform.key, id).status == .success)
    let guarded = try platform.register(extensions: .textMap([("credProtect", .int(3))]))
    #expect(try authenticate(platform.key, guarded).status == .wrongData)
    #expect(try authenticate(platform.key, guarded, control: 7).status == .wrongData)
  }

  @Test("with alwaysUv there is no U2F")
  func alwaysUv() throws {
    let platform = try Platform()
    let (handle, _) = try register(platform.key)
    #expect(platform.config(2).status == .success)
    #expect(!platform.key.info.versions.contains("U2F_V2"))
    #expect(try authenticate(platform.key, handle).status == .commandNotAllowed)
    #expect(try authenticate(platform.key, handle, control: 7).status == .commandNotAllowed)
    let apdu = CommandAPDU(ins: 1, data: Self.challenge + Self.application, le: 65536)
    #expect(try send(platform.key, apdu).status == .commandNotAllowed)
  }

  @Test("a key without U2F knows no instruction")
  func absent() throws {
    let key = try VirtualAuthenticator(
      profile: ModelProfile.virtual.varied("x") { $0.info.versions.removeAll { $0 == "U2F_V2" } })
    #expect(try send(key, CommandAPDU(ins: 3, le: 256)).status == .instructionNotSupported)
  }

  @Test("every truncation of a good request is answered")
  func truncations() throws {
    let key = try VirtualAuthenticator()
    let (handle, _) = try register(key)
    let whole = try CommandAPDU(
      ins: 2, p1: 3, data: Self.challenge + Self.application + [UInt8(handle.count)] + handle, le: 65536
    ).extendedForm()
    // The last two bytes are Le: a request without it is whole.
    for count in 0..<(whole.count - 2) {
      #expect(try ResponseAPDU(parsing: key.handleU2F(Array(whole[..<count]))).status != .success)
    }
  }
}
