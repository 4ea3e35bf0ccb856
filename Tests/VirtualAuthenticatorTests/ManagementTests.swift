// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

@Suite("Management")
struct ManagementTests {
  static let pin = "2580"

  private func filled(_ profile: ModelProfile = .virtual) throws -> Platform {
    let platform = try Platform(profile)
    for (n, rpId) in ["a.org", "b.org", "a.org", "c.org"].enumerated() {
      _ = try platform.register(rpId: rpId, user: [UInt8(n)], options: [("rk", true)])
    }
    try #require(try platform.setPIN(Self.pin) == .success)
    return platform
  }

  private static func hash(_ rpId: String) -> [UInt8] { SHA256.hash(Array(rpId.utf8)) }

  @Test(
    "lists are complete, under both command bytes",
    arguments: [CTAPCommand.credentialManagement, .credentialManagementPreview])
  func lists(command: CTAPCommand) throws {
    let platform = try filled()
    let token = try platform.token(Self.pin, 0x04, rpId: nil)
    let metadata = platform.manage(1, token: token, command: command)
    #expect(metadata[1]?.int == 4 && metadata[2]?.int == 46)
    var rp = platform.manage(2, token: token, command: command)
    #expect(rp[5]?.int == 3)
    var found: [String: Int] = [:]
    var rpIds: [String] = []
    while rp.status == .success {
      let rpId = try #require(rp[3]?["id"]?.text)
      #expect(rp[4]?.bytes == Self.hash(rpId))
      rpIds.append(rpId)
      rp = platform.manage(3, token: nil, command: command)
    }
    #expect(rp.status == .notAllowed)
    for rpId in rpIds {
      var entry = platform.manage(4, .intMap([(1, .bytes(Self.hash(rpId)))]), token: token, command: command)
      let total = entry[9]?.int
      while entry.status == .success {
        found[rpId, default: 0] += 1
        #expect(entry[7]?["id"]?.bytes != nil && entry[0x0A]?.int == 1)
        entry = platform.manage(5, token: nil, command: command)
      }
      #expect(total == found[rpId].map(Int64.init))
    }
    #expect(found == ["a.org": 2, "b.org": 1, "c.org": 1])
  }

  @Test("an empty key lists nothing")
  func empty() throws {
    let platform = try Platform()
    try #require(try platform.setPIN(Self.pin) == .success)
    let token = try platform.token(Self.pin, 0x04, rpId: nil)
    #expect(platform.manage(1, token: token)[1]?.int == 0)
    #expect(platform.manage(2, token: token).status == .noCredentials)
    #expect(
      platform.manage(4, .intMap([(1, .bytes(Self.hash("a.org")))]), token: token).status == .noCredentials)
  }

  @Test("every subcommand with a token wants one, whole, of this key, for what it says", arguments: [1, 2, 4, 6, 7])
  func authorisation(subcommand: Int) throws {
    let platform = try filled()
    let id = CBORValue.textMap([("id", .bytes([1])), ("type", .text("public-key"))])
    let parameters: CBORValue? =
      switch subcommand {
      case 4: .intMap([(1, .bytes(Self.hash("a.org")))])
      case 6: .intMap([(2, id)])
      case 7: .intMap([(2, id), (3, .textMap([("id", .bytes([1]))]))])
      default: nil
      }
    func call(_ number: Int?, _ param: [UInt8]?) -> CTAPStatus {
      platform.call(
        .credentialManagement,
        [(1, .int(subcommand)), (2, parameters), (3, number.map { .int($0) }), (4, param.map { .bytes($0) })]
      ).status
    }
    let token = try platform.token(Self.pin, 0x04, rpId: nil)
    let signed = [UInt8(subcommand)] + (parameters.map { CBORValue.encode($0) } ?? [])
    #expect(call(2, nil) == .puatRequired)
    #expect(call(nil, token.authenticate(signed)) == .missingParameter)
    #expect(call(3, token.authenticate(signed)) == .invalidParameter)
    #expect(call(2, token.authenticate([UInt8(subcommand)] + [0])) == .pinAuthInvalid)
    #expect(call(1, Array(token.authenticate(signed).prefix(16))) == .pinAuthInvalid)
    let good = call(2, token.authenticate(signed))
    #expect(good == (subcommand >= 6 ? .noCredentials : .success))
  }

  @Test("a token for one relying party manages that one only")
  func bound() throws {
    let platform = try filled()
    let token = try platform.token(Self.pin, 0x04, rpId: "a.org")
    #expect(platform.manage(1, token: token).status == .pinAuthInvalid)
    #expect(platform.manage(2, token: token).status == .pinAuthInvalid)
    func list(_ rpId: String) -> Platform.Reply {
      platform.manage(4, .intMap([(1, .bytes(Self.hash(rpId)))]), token: token)
    }
    let mine = list("a.org")
    #expect(mine.status == .success)
    #expect(list("b.org").status == .pinAuthInvalid)
    let all = try platform.token(Self.pin, 0x04, rpId: nil)
    let foreign = try #require(
      platform.manage(4, .intMap([(1, .bytes(Self.hash("b.org")))]), token: all)[7]?["id"]?.bytes)
    let again = try platform.token(Self.pin, 0x04, rpId: "a.org")
    func delete(_ id: [UInt8]) -> CTAPStatus {
      platform.manage(
        6, .intMap([(2, .textMap([("id", .bytes(id)), ("type", .text("public-key"))]))]), token: again
      ).status
    }
    #expect(delete(foreign) == .pinAuthInvalid)
    #expect(delete(try #require(mine[7]?["id"]?.bytes)) == .success)
    #expect(platform.key.storedCredentials == 3)
  }

  @Test("updateUserInformation changes names, never the id")
  func update() throws {
    let platform = try filled()
    let token = try platform.token(Self.pin, 0x04, rpId: nil)
    func first() -> Platform.Reply {
      platform.manage(4, .intMap([(1, .bytes(Self.hash("b.org")))]), token: token)
    }
    let entry = first()
    let id = try #require(entry[7]?["id"]?.bytes)
    let user = try #require(entry[6]?["id"]?.bytes)
    func update(_ userId: [UInt8], name: String?) -> CTAPStatus {
      platform.manage(
        7,
        .intMap([
          (2, .textMap([("id", .bytes(id)), ("type", .text("public-key"))])),
          (3, .textMap([("id", .bytes(userId)), ("name", name.map { .text($0) })])),
        ]), token: token
      ).status
    }
    #expect(update([9, 9], name: "x") == .invalidParameter)
    #expect(update(user, name: "new") == .success)
    #expect(first()[6]?["name"]?.text == "new" && first()[6]?["displayName"] == nil)
    #expect(update(user, name: "") == .success)
    #expect(first()[6]?["name"] == nil)
  }

  @Test("a key without credential management knows no such command")
  func absent() throws {
    #expect(try Platform(.withoutDiscoverable).manage(1, token: nil).status == .invalidCommand)
    #expect(
      try Platform(.final).manage(1, token: nil, command: .credentialManagementPreview).status == .invalidCommand)
    let made = try Platform(.withoutDiscoverable).call(
      .makeCredential, Platform.registration(options: [("rk", true)]))
    #expect(made.status == .unsupportedOption)
  }

  // MARK: - Settings

  static let minimums: [(CBORValue, CTAPStatus)] = [
    (.map([]), .success), (.intMap([(1, .int(4))]), .success), (.intMap([(1, .int(3))]), .pinPolicyViolation),
    (.intMap([(1, .int(63))]), .success), (.intMap([(1, .int(64))]), .invalidParameter),
    (.intMap([(1, .text("5"))]), .cborUnexpectedType), (.intMap([(3, .bool(true))]), .pinNotSet),
    (.intMap([(2, .array((0..<4).map { .text("\($0).org") }))]), .success),
    (.intMap([(2, .array((0..<5).map { .text("\($0).org") }))]), .keyStoreFull),
    (.intMap([(2, .array([.int(1)]))]), .cborUnexpectedType),
  ]

  @Test("setMinPINLength on a key without a PIN", arguments: minimums)
  func minimum(parameters: CBORValue, status: CTAPStatus) throws {
    #expect(try Platform().config(3, parameters).status == status)
  }

  @Test("a longer minimum than the PIN forces a change, a shorter one does not", arguments: [5, 6, 7])
  func longerMinimum(length: Int) throws {
    let platform = try Platform()
    try #require(try platform.setPIN("ä23456") == .success)
    let token = try platform.token("ä23456", 0x20, rpId: nil)
    #expect(platform.config(3, .intMap([(1, .int(length))]), token: token).status == .success)
    #expect(platform.key.info.forcePINChange == (length > 6))
    #expect(platform.key.info.minPINLength == length)
  }

  @Test("settings of a protected key want the permission acfg")
  func protectedSettings() throws {
    let platform = try Platform()
    try #require(try platform.setPIN(Self.pin) == .success)
    #expect(platform.config(2).status == .puatRequired)
    #expect(platform.config(2, token: try platform.token(Self.pin, 0x04, rpId: nil)).status == .pinAuthInvalid)
    #expect(platform.config(2, token: try platform.token(Self.pin, 0x20, rpId: nil)).status == .success)
    #expect(platform.key.info.options["alwaysUv"] == true)
  }

  @Test("enterprise attestation: off, on, and what may be asked")
  func enterprise() throws {
    let platform = try Platform(.enterprise)
    func attested(_ value: Int) -> Platform.Reply {
      platform.call(.makeCredential, Platform.registration() + [(0x0A, .int(value))])
    }
    #expect(attested(2).status == .invalidParameter)
    #expect(platform.config(1).status == .success)
    #expect(platform.key.info.options["ep"] == true)
    #expect(attested(1).status == .success && attested(1)[4] == nil)
    #expect(attested(2)[4]?.bool == true)
    #expect(attested(3).status == .invalidOption)
  }

  // MARK: - Large blobs

  private static func blob(_ count: Int) -> [UInt8] {
    let body = [UInt8](repeating: 0x80, count: count - 16)
    return body + SHA256.hash(body).prefix(16)
  }

  @Test("an array in one part and in several")
  func largeBlobs() throws {
    for size in [17, 1024, 4096] {
      for part in [size, 100] {
        let platform = try Platform()
        let array = Self.blob(size)
        var offset = 0
        while offset < size {
          let end = min(offset + part, size)
          #expect(
            platform.writeBlobs(Array(array[offset..<end]), offset: offset, length: offset == 0 ? size : nil).status
              == .success)
          offset = end
        }
        let read = platform.call(.largeBlobs, [(1, .int(5000)), (3, .int(0))])
        #expect(read[1]?.bytes == array)
      }
    }
  }

  @Test("large-blob reads and writes that are wrong")
  func badLargeBlobs() throws {
    let platform = try Platform()
    func get(_ members: [(Int, CBORValue?)]) -> CTAPStatus { platform.call(.largeBlobs, members).status }
    #expect(get([(1, .int(1))]) == .invalidParameter)
    #expect(get([(3, .int(0))]) == .invalidParameter)
    #expect(get([(1, .int(1)), (2, .bytes([])), (3, .int(0))]) == .invalidParameter)
    #expect(get([(1, .int(1)), (3, .int(0)), (4, .int(1))]) == .invalidParameter)
    #expect(get([(1, .int(1)), (3, .int(0)), (5, .bytes([])), (6, .int(2))]) == .invalidParameter)
    #expect(get([(1, .int(7609 - 64 + 1)), (3, .int(0))]) == .invalidLength)
    #expect(get([(1, .int(1)), (3, .int(18))]) == .invalidParameter)
    #expect(get([(1, .int(1)), (3, .int(17))]) == .success)
    let array = Self.blob(64)
    #expect(platform.writeBlobs(array, offset: 0, length: nil).status == .invalidParameter)
    #expect(platform.writeBlobs(array, offset: 0, length: 16).status == .invalidParameter)
    #expect(platform.writeBlobs(array, offset: 0, length: 4097).status == .largeBlobStorageFull)
    #expect(platform.writeBlobs(array, offset: 0, length: 63).status == .invalidParameter)
    #expect(platform.writeBlobs(array, offset: 5, length: 64).status == .invalidParameter)
    #expect(platform.writeBlobs(array, offset: 5, length: nil).status == .invalidSequence)
    #expect(platform.writeBlobs(Array(array.prefix(10)), offset: 0, length: 64).status == .success)
    #expect(platform.writeBlobs(Array(array.suffix(54)), offset: 11, length: nil).status == .invalidSequence)
    #expect(
      platform.writeBlobs(Array(array.suffix(54).reversed()), offset: 10, length: nil).status == .integrityFailure)
    let read = platform.call(.largeBlobs, [(1, .int(100)), (3, .int(0))])
    #expect(read[1]?.bytes == KeyState.Facts.emptyLargeBlobs, "a failed write changes nothing")
    #expect(Hex.encode(KeyState.Facts.emptyLargeBlobs) == "8076be8b528d0075f7aae98d6fa57a6d3c")
  }

  @Test("with a PIN, writing wants the permission lbw for exactly these bytes")
  func protectedLargeBlobs() throws {
    let platform = try Platform()
    try #require(try platform.setPIN(Self.pin) == .success)
    let array = Self.blob(32)
    #expect(platform.writeBlobs(array, offset: 0, length: 32).status == .puatRequired)
    let token = try platform.token(Self.pin, 0x10, rpId: nil)
    #expect(platform.writeBlobs(array, offset: 0, length: 32, token: token).status == .success)
    let none = Platform.Token(number: 2, bytes: [UInt8](repeating: 0, count: 32))
    #expect(platform.writeBlobs(array, offset: 0, length: 32, token: none).status == .pinAuthInvalid)
  }

  // MARK: - Fingerprints

  @Test("the sensor's capacity, names, and an enrolment that is broken off")
  func fingerprints() throws {
    let platform = try Platform(ModelProfile.biometric.varied("two") { $0.fingerprintCapacity = 2 })
    #expect(platform.bio(1).status == .puatRequired)
    #expect(platform.bio(7)[3]?.int == 3)
    #expect(platform.call(.bioEnrollment, [(6, .bool(true))])[1]?.int == 1)
    #expect(platform.call(.bioEnrollment, [(1, .int(2)), (2, .int(7))]).status == .invalidParameter)
    try #require(try platform.setPIN(Self.pin) == .success)
    let token = try platform.token(Self.pin, 0x08, rpId: nil)
    let begun = try #require(platform.bio(1, token: token)[4]?.bytes)
    #expect(platform.bio(3).status == .success)
    #expect(platform.bio(2, .intMap([(1, .bytes(begun))]), token: token).status == .invalidOption)
    #expect(platform.bio(4, token: token).status == .invalidOption, "nothing enrolled")
    let first = try platform.enrol(pin: Self.pin)
    _ = try platform.enrol(pin: Self.pin)
    let again = try platform.token(Self.pin, 0x08, rpId: nil)
    #expect(platform.bio(1, token: again).status == .fingerprintDatabaseFull)
    let name = CBORValue.intMap([(1, .bytes(first)), (2, .text("thumb"))])
    #expect(platform.bio(5, name, token: again).status == .success)
    let list = platform.bio(4, token: again)[7]?.array
    #expect(list?.count == 2 && list?[0][2]?.text == "thumb" && list?[1][2] == nil)
    let long = CBORValue.intMap([(1, .bytes(first)), (2, .text(String(repeating: "x", count: 33)))])
    #expect(platform.bio(5, long, token: again).status == .invalidLength)
    #expect(platform.bio(8, token: again).status == .invalidSubcommand)
  }

  @Test("a sample that does not come is no sample")
  func missedSample() throws {
    var timing = KeyTiming()
    timing.touchTimeout = 20
    let platform = try Platform(.biometric, timing: timing)
    try #require(try platform.setPIN(Self.pin) == .success)
    let token = try platform.token(Self.pin, 0x08, rpId: nil)
    platform.key.touch.setPolicy(.script([.never], then: .automatic))
    let reply = platform.bio(1, token: token)
    #expect(reply[5]?.int == 0x0D && reply[6]?.int == 3)
    let id = try #require(reply[4]?.bytes)
    #expect(platform.bio(2, .intMap([(1, .bytes(id))]), token: token)[6]?.int == 2)
  }

  // MARK: - Reset

  @Test("reset only just after power, and then everything is gone")
  func reset() throws {
    let time = ManualClock()
    let platform = try Platform(clock: time.clock)
    let id = try platform.register(options: [("rk", true)])
    try #require(try platform.setPIN(Self.pin) == .success)
    _ = platform.writeBlobs(
      Self.blob(32), offset: 0, length: 32, token: try platform.token(Self.pin, 0x10, rpId: nil))
    time.advance(10_001)
    #expect(platform.call(.reset).status == .notAllowed)
    platform.key.powerCycle()
    time.advance(9_999)
    #expect(platform.call(.reset).status == .success)
    #expect(platform.key.storedCredentials == 0 && platform.key.info.options["clientPin"] == false)
    #expect(platform.call(.getAssertion, Platform.assertion(allow: [id])).status == .noCredentials)
    #expect(platform.call(.largeBlobs, [(1, .int(99)), (3, .int(0))])[1]?.bytes == KeyState.Facts.emptyLargeBlobs)
    #expect(platform.key.info.encoded() == platform.key.profile.info.encoded())
  }
}
