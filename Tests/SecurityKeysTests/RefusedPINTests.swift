// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

@Suite("Refused PINs")
struct RefusedPINTests {
  /// Everything that a PIN is verified for.
  enum Act: String, CaseIterable, Sendable {
    case register, assert, secret, find, passkeys, deletePasskey, fingerprints, enrol, alwaysUv, minimum, forceChange,
      changePIN

    /// Whether a key that always verifies is needed for a PIN to be asked for at all.
    var needsAlwaysUv: Bool { self == .find }

    func run(_ key: SecurityKey, _ id: [UInt8], _ pin: @escaping PINProvider) async throws {
      switch self {
      case .register: _ = try await key.makeCredential(Bench.registration(uv: .required), pin: pin)
      case .assert: _ = try await key.getAssertion(Bench.assertion([id], uv: .required), pin: pin)
      case .secret:
        let salts = PRFSalts(first: [UInt8](repeating: 1, count: 32))
        _ = try await key.getAssertion(Bench.assertion([id], uv: .required, salts: salts), pin: pin)
      case .find: _ = try await key.find([CredentialDescriptor(id: id)], rpID: Bench.rpID, pin: pin)
      case .passkeys: _ = try await key.passkeys(pin: pin)
      case .deletePasskey: try await key.deletePasskey(id, pin: pin)
      case .fingerprints: _ = try await key.fingerprints(pin: pin)
      case .enrol: _ = try await key.enrolFingerprint(named: nil, pin: pin)
      case .alwaysUv: try await key.setAlwaysUv(true, pin: pin)
      case .minimum: try await key.setMinimumPINLength(6, pin: pin)
      case .forceChange: try await key.requirePINChange(pin: pin)
      case .changePIN: try await key.changePIN(to: SecretBytes(Array("5678".utf8)), old: pin)
      }
    }
  }

  static func typing(_ pin: String) -> PINProvider { { _ in SecretBytes(Array(pin.utf8)) } }

  private static func bench(_ act: Act, asksAgain: Bool) async throws -> (Bench, [UInt8]) {
    let profile: ModelProfile =
      switch act {
      case .fingerprints, .enrol: .biometric
      default: .virtual
      }
    let bench = try Bench(profile, asksAgain: asksAgain)
    try await bench.setPIN()
    let id = try await bench.register(Bench.registration(prf: true)).credentialID
    if act.needsAlwaysUv { try await bench.key.setAlwaysUv(true, pin: bench.person) }
    return (bench, id)
  }

  @Test("whoever answers by itself spends one try, whatever the PIN is for", arguments: Act.allCases)
  func oneTry(act: Act) async throws {
    let (bench, id) = try await Self.bench(act, asksAgain: true)
    let asked = Locked<[PINRequest]>([])
    let name = await failure { try await act.run(bench.key, id, PINAgainTests.person(["9999"], asked)) }
    #expect(name == "pinRepeated")
    #expect(bench.virtual.pinRetries == 7)
    #expect(asked.withLock { $0.map(\.lastWasWrong) } == [false, true, false, false])
    #expect(asked.withLock { $0.map(\.lastWasRepeated) } == [false, false, true, true])
  }

  @Test("a later act of the run, on a key opened anew, does not send it either", arguments: Act.allCases)
  func laterAct(act: Act) async throws {
    let (bench, id) = try await Self.bench(act, asksAgain: false)
    let refused = RefusedPINs()
    func key() -> SecurityKey { SecurityKey(bench.endpoint, timings: Bench.quick, refusedPINs: refused) }
    await bench.key.close()
    let first = key()
    #expect(await failure { try await Act.changePIN.run(first, id, Self.typing("9999")) } == "pinInvalid")
    await first.close()
    let second = key()
    #expect(await failure { try await act.run(second, id, Self.typing("9999")) } == "pinRepeated")
    #expect(bench.virtual.pinRetries == 7)
    await second.close()
    refused.forgetAll()
    let third = key()
    #expect(await failure { try await act.run(third, id, Self.typing("9999")) } == "pinInvalid")
    await third.close()
  }

  @Test("a person who repeats a mistake is told, and may go on")
  func person() async throws {
    let (bench, id) = try await Self.bench(.assert, asksAgain: true)
    let asked = Locked<[PINRequest]>([])
    let pins = ["9999", "9999", "8888", "9999", "8888", "1234"]
    try await Act.assert.run(bench.key, id, PINAgainTests.person(pins, asked))
    #expect(asked.withLock { $0.map(\.lastWasRepeated) } == [false, false, true, false, true, true])
    #expect(asked.withLock { $0.map(\.lastWasWrong) } == [false, true, false, true, false, false])
    #expect(bench.virtual.pinRetries == 8)
  }

  @Test("what was refused once is right after a change to it; letters made in two ways are one PIN")
  func changed() async throws {
    let (bench, id) = try await Self.bench(.assert, asksAgain: false)
    #expect(await failure { try await Act.assert.run(bench.key, id, Self.typing("K\u{E4}se")) } == "pinInvalid")
    #expect(await failure { try await Act.assert.run(bench.key, id, Self.typing("Ka\u{308}se")) } == "pinRepeated")
    try await bench.key.changePIN(to: SecretBytes(Array("K\u{E4}se".utf8)), old: bench.person)
    try await Act.assert.run(bench.key, id, Self.typing("Ka\u{308}se"))
  }

  @Test("the wrong PINs that block are remembered like the others", arguments: [1, 3])
  func blocking(tries: Int) async throws {
    let profile = ModelProfile.virtual.varied("few-tries") { $0.pinRetries = tries }
    let bench = try Bench(profile, pinTriesFloor: 0)
    try await bench.setPIN()
    let id = try await bench.register().credentialID
    for turn in 0..<tries {
      bench.virtual.powerCycle()
      _ = await failure { try await Act.assert.run(bench.key, id, Self.typing("000\(turn)")) }
    }
    #expect(bench.virtual.pinRetries == 0)
    for turn in 0..<tries {
      let pin = try CheckedPIN(SecretBytes(Array("000\(turn)".utf8)), minimumLength: 4)
      let mark = KeyMark(place: bench.socketID, aaguid: try await bench.key.open().info?.aaguid)
      #expect(bench.key.refusedPINs.contains(pin, by: mark))
      #expect(!bench.key.refusedPINs.contains(pin, by: KeyMark(place: "elsewhere", aaguid: mark.aaguid)))
      #expect(!bench.key.refusedPINs.contains(pin, by: KeyMark(place: mark.place, aaguid: nil)))
    }
  }
}
