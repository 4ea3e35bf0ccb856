// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// What is said to a key, whatever the ceremony and the key: seen on the key's side, word for word.
@Suite("Host rules")
struct HostRuleTests {
  static let profiles: [ModelProfile] = [.virtual, .ctap20, .protocol1, .protocol2, .small, .medium, .alwaysUv]

  /// Everything that a person can have a key do, on one key.
  static func everything(_ bench: Bench, withPIN: Bool) async throws {
    if withPIN { try await bench.setPIN() }
    let strangers = (0..<3).map { _ in Random.bytes(40) }
    let id = try await bench.register(Bench.registration(exclude: strangers)).credentialID
    _ = try await bench.assert(Bench.assertion(strangers + [id]))
    _ = try await bench.key.find(ProbeTests.ids(strangers + [id]), rpID: Bench.rpID, pin: bench.person)
    if try await bench.key.open().capabilities.supportsPRF {
      let secret = try await bench.register(Bench.registration(prf: true)).credentialID
      let salts = PRFSalts(first: Random.bytes(32), second: Random.bytes(32))
      _ = try await bench.assert(Bench.assertion([secret], salts: salts))
    }
    if try await bench.key.open().info?.option("rk") == true {
      var discoverable = Bench.registration()
      discoverable.isDiscoverable = true
      _ = try await bench.register(discoverable)
    }
  }

  /// What is wrong with a request, by the rules.
  static func complaints(_ request: [UInt8], _ info: AuthenticatorInfo) -> [String] {
    guard let command = request.first.flatMap(CTAPCommand.init(rawValue:)) else { return ["no command"] }
    guard request.count > 1 else { return command == .getInfo || command == .selection ? [] : ["no map"] }
    guard let map = try? CBORDecoder.decodeAll(Array(request.dropFirst())) else { return ["no CBOR"] }
    var complaints: [String] = []
    func check(_ isRight: Bool, _ what: String) { if !isRight { complaints.append(what) } }
    check(CBORValue.encode(map.rewritten) == Array(request.dropFirst()), "not canonical (Q29)")
    let (makes, gets) = (command == .makeCredential, command == .getAssertion)
    check(command != .reset, "a reset (Q27)")
    guard makes || gets else { return complaints }
    let options = map[makes ? 7 : 5]
    let (param, version) = (map[makes ? 8 : 6]?.bytes, map[makes ? 9 : 7]?.int)
    check((param == nil) == (version == nil), "a token without its protocol, or the other way round (Q21)")
    if let param { check(param.count == (version == 1 ? 16 : 32), "\(param.count) bytes to authenticate with (Q39)") }
    check(options?["uv"] == nil || options?["uv"]?.bool == true, "uv false (Q3)")
    check(options?["uv"] == nil || info.option("uv") == true, "uv on a key without it (Q2)")
    check(options?["uv"] == nil || param == nil, "uv and a token (Q4)")
    check(options?["up"]?.bool != true, "up true, which is what there is without it")
    check(gets || options?["up"] == nil, "up in a registration")
    check(makes || options?["rk"] == nil, "rk in an assertion")
    check((options?.map ?? []).allSatisfy { ["rk", "up", "uv"].contains($0.key.text ?? "") }, "another option (Q5)")
    check(options?["rk"]?.bool != false, "rk false")
    let extensions = map[makes ? 6 : 4]
    for entry in extensions?.map ?? [] {
      check(info.extensions.contains(entry.key.text ?? ""), "an extension that it does not have (Q6)")
    }
    if gets, extensions?["hmac-secret"] != nil {
      check(options?["up"] == nil, "a secret without a touch (Q42)")
      let number = extensions?["hmac-secret"]?[4]?.int
      check(number == nil || number == 2, "protocol \(number ?? 0) of hmac-secret (Q36, Q37)")
      check(version != 2 || number == 2, "hmac-secret without its protocol (Q36)")
      check(extensions?["hmac-secret"]?[1]?[3]?.int == -25, "key agreement without its algorithm (Q38)")
    }
    for entry in map[makes ? 5 : 3]?.array ?? [] {
      check(entry.map?.count == 2 && entry["type"]?.text == "public-key", "a descriptor with more in it (Q28)")
    }
    if makes {
      let algorithms = map[4]?.array ?? []
      check(algorithms.count == 1 && algorithms.first?["alg"]?.int == -7, "other algorithms (Q1)")
      let user = map[3]
      check((1...64).contains(user?["id"]?.bytes?.count ?? 0), "a user id that is none (Q8)")
      check(user?["name"]?.text?.isEmpty == false && user?["displayName"]?.text?.isEmpty == false, "no name (Q9)")
      check(user?.map?.count == 3 && map[2]?.map?.count == 2, "an icon, or more (Q9)")
    }
    return complaints
  }

  @Test("every request follows the rules", arguments: profiles, [true])
  func requests(profile: ModelProfile, withPIN: Bool) async throws {
    guard withPIN || profile.name != "always-uv" else { return }
    let bench = try Bench(profile)
    try await Self.everything(bench, withPIN: withPIN)
    let entries = bench.virtual.log.entries
    #expect(entries.count > 5)
    for entry in entries {
      let wrong = Self.complaints(entry.request, bench.virtual.info)
      #expect(wrong.isEmpty, "\(entry.command.map { "\($0)" } ?? "?"): \(wrong.joined(separator: "; "))")
    }
    #expect(entries.first?.command == .getInfo, "getInfo comes first")
  }

  @Test("the rules can be broken: each one is seen when it is")
  func rulesBite() throws {
    let info = ModelProfile.ctap20.info
    let hash = CBORValue.bytes([UInt8](repeating: 0, count: 32))
    func get(_ more: [(Int, CBORValue?)]) -> [UInt8] {
      [2] + CBORValue.encode(.intMap([(1, .text("a.b")), (2, hash)] + more))
    }
    #expect(Self.complaints(get([]), info).isEmpty)
    #expect(Self.complaints([2, 0xA2, 0x02, 0x40, 0x01, 0x61, 0x61], info) == ["not canonical (Q29)"])
    let wrong: [[(Int, CBORValue?)]] = [
      [(6, .bytes([UInt8](repeating: 0, count: 16)))], [(6, .bytes([1])), (7, .int(1))],
      [(5, .textMap([("uv", .bool(false))]))], [(5, .textMap([("up", .bool(true))]))],
      [(5, .textMap([("plat", .bool(true))]))], [(4, .textMap([("credBlob", .bool(true))]))],
      [(3, .array([.textMap([("id", .bytes([1])), ("type", .text("public-key")), ("transports", .array([]))])]))],
    ]
    for members in wrong { #expect(!Self.complaints(get(members), info).isEmpty) }
    #expect(!Self.complaints([7], info).isEmpty)
    #expect(Self.complaints([1] + CBORValue.encode(.intMap([(1, hash)])), info).count >= 3)
  }

  @Test("a token serves one ceremony, and the probes come before it (Q43, Q53)")
  func tokens() async throws {
    let bench = try Bench(.medium)
    try await bench.setPIN()
    let id = try await bench.register().credentialID
    let list = Bench.list(30, length: 64, id: id, at: 20)
    for _ in 0..<2 {
      let key = bench.secondKey()
      bench.virtual.log.clear()
      _ = try await key.getAssertion(Bench.assertion(list), pin: bench.person)
      await key.close()
      let kinds = bench.virtual.log.entries.map { ($0.command, $0.subcommand) }
      let token = try #require(kinds.firstIndex { $0.0 == .clientPIN && ($0.1 == 5 || $0.1 == 9) })
      #expect(kinds.count { $0.0 == .clientPIN && ($0.1 == 5 || $0.1 == 9) } == 1)
      #expect(kinds[(token + 1)...].count { $0.0 == .getAssertion } == 1, "nothing but the ceremony after the token")
      #expect(kinds[..<token].contains { $0.0 == .getAssertion })
    }
  }
}
