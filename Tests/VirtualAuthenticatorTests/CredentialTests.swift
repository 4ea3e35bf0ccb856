// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

@Suite("Credentials")
struct CredentialTests {
  static let pin = "2580"
  static func protect(_ level: Int) -> CBORValue { .textMap([("credProtect", .int(level))]) }

  @Test("credProtect decides who may see a credential", arguments: [1, 2, 3], [0, 1, 2, 3])
  func credProtect(level: Int, way: Int) throws {
    let (withList, verified) = (way & 1 != 0, way & 2 != 0)
    let platform = try Platform()
    let id = try platform.register(options: [("rk", true)], extensions: Self.protect(level))
    try #require(try platform.setPIN(Self.pin) == .success)
    let token = verified ? try platform.token(Self.pin, 0x02) : nil
    let reply = platform.call(.getAssertion, Platform.assertion(allow: withList ? [id] : nil, token: token))
    let visible = verified || level == 1 || (level == 2 && withList)
    #expect(reply.status == (visible ? .success : .noCredentials))
    #expect(reply[1]?["id"]?.bytes == (visible ? id : nil))
  }

  @Test("the exclude list asks for a touch first, and does not betray a protected credential", arguments: [1, 2, 3])
  func excludeList(level: Int) throws {
    for (verified, excluded) in [(false, level != 3), (true, true)] {
      let platform = try Platform()
      let id = try platform.register(extensions: Self.protect(level))
      try #require(try platform.setPIN(Self.pin) == .success)
      let token = verified ? try platform.token(Self.pin, 0x01) : nil
      let asked = platform.key.touch.requests.count
      let reply = platform.call(.makeCredential, Platform.registration(exclude: [[9, 9], id], token: token))
      #expect(reply.status == (excluded ? .credentialExcluded : .success))
      #expect(platform.key.touch.requests.count == asked + 1)
    }
  }

  @Test("without a touch an excluded credential is still excluded", arguments: [TouchControl.Policy.never, .refuse])
  func excludedUntouched(policy: TouchControl.Policy) throws {
    var timing = KeyTiming()
    timing.touchTimeout = 30
    let platform = try Platform(timing: timing)
    let id = try platform.register()
    platform.key.touch.setPolicy(policy)
    #expect(platform.call(.makeCredential, Platform.registration(exclude: [id])).status == .credentialExcluded)
    #expect(
      platform.call(.makeCredential, Platform.registration(rpId: "other.org", exclude: [id])).status
        == .operationDenied, "another relying party's exclude list does not see it")
  }

  @Test("no touch and a refused touch", arguments: [CTAPCommand.makeCredential, .getAssertion, .selection, .reset])
  func untouched(command: CTAPCommand) throws {
    var timing = KeyTiming()
    timing.touchTimeout = 30
    let late: CTAPStatus = command == .selection || command == .reset ? .userActionTimeout : .operationDenied
    for (policy, status) in [(TouchControl.Policy.never, late), (.refuse, .operationDenied)] {
      let platform = try Platform(timing: timing)
      let id = try platform.register()
      platform.key.touch.setPolicy(policy)
      let members: [(Int, CBORValue?)]? =
        switch command {
        case .makeCredential: Platform.registration()
        case .getAssertion: Platform.assertion(allow: [id])
        default: nil
        }
      #expect(platform.call(command, members.map { .intMap($0) }).status == status)
      #expect(
        platform.call(.getAssertion, Platform.assertion(allow: [id], options: [("up", false)])).status == .success)
    }
  }

  @Test("a credential id opens on its own key, for its own rpId, whole", arguments: [66, 94, 128, 255])
  func handles(length: Int) throws {
    let profile = ModelProfile.virtual.varied("padded") { $0.credentialIdLength = length }
    let platform = try Platform(profile)
    let id = try platform.register()
    #expect(id.count == length)
    let other = try Platform(profile)
    func found(_ p: Platform, _ id: [UInt8], rpId: String = Platform.rpId) -> Bool {
      p.call(.getAssertion, Platform.assertion(rpId: rpId, allow: [id], options: [("up", false)])).status == .success
    }
    #expect(found(platform, id))
    #expect(!found(other, id) && !found(platform, id, rpId: "other.org"))
    for bit in 0..<(length * 8) {
      var flipped = id
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!found(platform, flipped))
    }
    for count in 0..<length { #expect(!found(platform, Array(id[..<count]))) }
    platform.key.powerCycle()
    #expect(found(platform, id))
    #expect(platform.call(.reset).status == .success)
    #expect(!found(platform, id))
  }

  @Test("the store fills up, the same user replaces, and a deleted id is gone")
  func capacity() throws {
    let platform = try Platform(ModelProfile.virtual.varied("three") { $0.discoverableCapacity = 3 })
    let rk = [("rk", true)]
    var ids: [[UInt8]] = []
    for n in 1...3 { ids.append(try platform.register(user: [UInt8(n)], options: rk)) }
    #expect(platform.key.info.remainingDiscoverableCredentials == 0)
    #expect(
      platform.call(.makeCredential, Platform.registration(user: [4], options: rk)).status == .keyStoreFull)
    _ = try platform.register(user: [4])
    let again = try platform.register(user: [1], options: rk)
    #expect(platform.key.storedCredentials == 3)
    let old = platform.call(.getAssertion, Platform.assertion(allow: [ids[0]]))
    #expect(old.status == .noCredentials, "a replaced credential is gone, although its id would open")
    #expect(platform.call(.getAssertion, Platform.assertion(allow: [again])).status == .success)
    #expect(
      platform.call(.getAssertion, Platform.assertion(rpId: "other.org")).status == .noCredentials)
  }

  @Test("counters go up with each signature, or stay at zero")
  func counters() throws {
    let platform = try Platform()
    let id = try platform.register()
    var last: UInt32 = 1
    for _ in 0..<5 {
      let count = try #require(platform.call(.getAssertion, Platform.assertion(allow: [id])).authData?.signCount)
      #expect(count > last)
      last = count
    }
    let without = try Platform(ModelProfile.virtual.varied("zero") { $0.counter = .zero })
    let other = try without.register()
    #expect(without.call(.getAssertion, Platform.assertion(allow: [other])).authData?.signCount == 0)
  }

  @Test("signatures verify under the key that was registered", arguments: CredentialKey.supported)
  func signatures(algorithm: COSEAlgorithm) throws {
    let platform = try Platform()
    var members = Platform.registration()
    members[3].1 = .array([
      .textMap([("alg", .int(Int(algorithm.rawValue))), ("type", .text("public-key"))])
    ])
    let made = platform.call(.makeCredential, members)
    let attested = try #require(made.authData?.attestedCredentialData)
    let key = try CredentialPublicKey(cose: attested.publicKeyItem)
    #expect(key.algorithm == algorithm)
    let reply = platform.call(.getAssertion, Platform.assertion(allow: [attested.credentialID]))
    let signed = (reply[2]?.bytes ?? []) + Platform.hash
    #expect(key.isValidSignature(reply[3]?.bytes ?? [], for: signed))
  }

  // MARK: - getNextAssertion

  private func withThree(_ platform: Platform) throws {
    for n in 1...3 { _ = try platform.register(user: [UInt8(n)], options: [("rk", true)]) }
  }

  @Test("names come only after verification", arguments: [false, true])
  func userEntity(verified: Bool) throws {
    let platform = try Platform()
    try withThree(platform)
    try #require(try platform.setPIN(Self.pin) == .success)
    let token = verified ? try platform.token(Self.pin, 0x02) : nil
    let first = platform.call(.getAssertion, Platform.assertion(token: token))
    #expect(first[5]?.int == 3)
    for reply in [first, platform.call(.getNextAssertion), platform.call(.getNextAssertion)] {
      #expect((reply[4]?["name"] != nil) == verified)
      #expect((reply[4]?["displayName"] != nil) == verified)
      #expect(reply[4]?["id"] != nil)
      #expect(reply.flags?.contains(.userVerified) == verified)
    }
  }

  @Test("what ends a getAssertion that could go on")
  func pending() throws {
    let time = ManualClock()
    for (what, survives): (String, Bool) in [
      ("nothing", true), ("29 s", true), ("31 s", false), ("another session", false), ("getInfo", false),
      ("power", false), ("an error", false),
    ] {
      let platform = try Platform(clock: time.clock)
      try withThree(platform)
      #expect(platform.call(.getAssertion, Platform.assertion())[5]?.int == 3)
      switch what {
      case "29 s": time.advance(29_000)
      case "31 s": time.advance(31_000)
      case "another session": platform.session = 2
      case "getInfo": _ = platform.call(.getInfo)
      case "power": platform.key.powerCycle()
      case "an error": _ = platform.call(.getAssertion, .map([]))
      default: break
      }
      #expect(platform.call(.getNextAssertion).status == (survives ? .success : .notAllowed), "\(what)")
    }
  }

  @Test("the list of one, or of an allow list, has no next")
  func noNext() throws {
    let platform = try Platform()
    let one = try platform.register(options: [("rk", true)])
    #expect(platform.call(.getAssertion, Platform.assertion())[5] == nil)
    #expect(platform.call(.getNextAssertion).status == .notAllowed)
    try withThree(platform)
    let reply = platform.call(.getAssertion, Platform.assertion(allow: [one, one]))
    #expect(reply[5] == nil)
    #expect(platform.call(.getNextAssertion).status == .notAllowed)
  }
}
