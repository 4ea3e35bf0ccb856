// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SecurityKeys
import VirtualAuthenticator
import WebAuthnCore

// CoreBenchmark   what can be measured in one process, as one JSON object: bulk verification of assertions, and the
//                 exchanges and bytes of ceremonies with a card. Benchmarks/bench.py runs it.

func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func threadTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func number(_ value: Double) -> JSONValue { JSONValue(.number("\((value * 100).rounded() / 100)")) }

/// Assertions by a few keys, each over a challenge of its own, as a directory's refresh has them.
struct Assertions: Sendable {
  struct One: Sendable {
    let key: CredentialPublicKey
    let verifier: AssertionVerifier
    let data: [UInt8]
    let client: [UInt8]
    let signature: [UInt8]

    var isGood: Bool {
      verifier.problems(authenticatorData: data, clientDataJSON: client, signature: signature, publicKey: key).isEmpty
    }
  }

  let all: [One]

  init(_ count: Int) throws {
    var made: [One] = []
    for _ in 0..<8 {
      let key = try P256.Signing.PrivateKey()
      for _ in 0..<(count / 8) {
        let challenge = Random.bytes(32)
        let client = ClientData(type: .get, challenge: challenge, origin: "https://example.org")
        let data = SHA256.hash(Array("example.org".utf8)) + [0x05, 0, 0, 0, 1]
        made.append(
          One(
            key: .es256(key.publicKey), verifier: AssertionVerifier(rpID: "example.org", challenge: challenge),
            data: data, client: client.json, signature: try key.signature(for: data + client.hash)))
      }
    }
    all = made
  }

  /// Assertions verified in a second of this thread's processor time.
  func perSecondAndCore() -> Double {
    let start = threadTime()
    var done = 0
    while threadTime() - start < 2 { done += all.count { $0.isGood } }
    return Double(done) / (threadTime() - start)
  }

  /// Assertions verified in a second by two tasks.
  func perSecondOnTwoCores() async -> Double {
    let start = now()
    let halves = [all[..<(all.count / 2)], all[(all.count / 2)...]]
    let done = await withTaskGroup(of: Int.self) { group in
      for half in halves { group.addTask { (0..<8).reduce(0) { sum, _ in sum + half.count { $0.isGood } } } }
      return await group.reduce(0, +)
    }
    return Double(done) / (now() - start)
  }
}

/// A reader with one virtual card on it.
final class OneReader: CardReaders {
  let card: VirtualCard
  init(_ card: VirtualCard) { self.card = card }

  func readers() -> [ReaderState] {
    [ReaderState(name: "Reader", hasCard: true, changes: 1, answerToReset: card.answerToReset)]
  }
  func waitForChange(from known: [ReaderState], milliseconds: Int32) { usleep(UInt32(max(0, milliseconds)) * 1000) }
  func connect(_ reader: String) -> any APDUChannel {
    card.reset()
    return Channel(card)
  }
  func close() {}

  final class Channel: APDUChannel {
    let card: VirtualCard
    init(_ card: VirtualCard) { self.card = card }
    var answerToReset: [UInt8] { card.answerToReset }
    var isByteOriented: Bool { false }
    func transmit(_ apdu: [UInt8]) throws(TransportError) -> [UInt8] {
      guard let reply = card.transmit(apdu) else { throw .card(.removed) }
      return reply
    }
    func isStillThere() -> Bool { true }
    func disconnect() { card.powerOff() }
  }
}

/// One ceremony on a card: opening included.
func onCard(_ pin: String?) async throws -> [(String, JSONValue?)] {
  let card = VirtualCard(try VirtualAuthenticator())
  let id = "bench-\(pin ?? "")"
  func session<R: Sendable>(_ body: (SecurityKey, KeySession) async throws -> R) async throws -> (R, JSONValue) {
    let before = (card.exchanges, card.bytesExchanged, card.key.log.entries.count)
    let key = SecurityKey(.cards(id, reader: nil) { () throws(TransportError) in OneReader(card) })
    let result = try await body(key, KeySession(key) { _ in SecretBytes(Array((pin ?? "").utf8)) })
    await key.close()
    return (
      result,
      .object([
        ("exchanges", .int(card.exchanges - before.0)), ("bytes", .int(card.bytesExchanged - before.1)),
        ("keyCommands", .int(card.key.log.entries.count - before.2)),
      ])
    )
  }
  if let pin { _ = try await session { key, _ in try await key.setPIN(SecretBytes(Array(pin.utf8))) } }
  let (made, registered) = try await session { _, session in
    try await session.makeCredential(
      RegistrationRequest(
        rpID: "example.org", rpName: "E", origin: "https://example.org", challenge: Random.bytes(32),
        userID: Random.bytes(16), userName: "u", userDisplayName: "U", excludeList: [], isDiscoverable: false,
        userVerification: pin == nil ? .discouraged : .required, enablesPRF: true))
  }
  func tap(_ allowList: [[UInt8]], _ salts: PRFSalts?) async throws -> JSONValue {
    let (_, counted) = try await session { _, session in
      try await session.getAssertion(
        AssertionRequest(
          rpID: "example.org", origin: "https://example.org", challenge: Random.bytes(32),
          allowList: allowList.map { CredentialDescriptor(id: $0) },
          userVerification: pin == nil ? .discouraged : .required, prfSalts: salts))
    }
    return counted
  }
  return [
    ("register", registered), ("tap", try await tap([made.credentialID], nil)),
    ("prf", try await tap([made.credentialID], PRFSalts(first: Random.bytes(32)))),
  ]
}

let assertions = try Assertions(512)
let one = assertions.perSecondAndCore()
let two = await assertions.perSecondOnTwoCores()
let result = JSONValue.object([
  ("assertionsPerSecondPerCore", number(one)), ("assertionsPerSecondOnTwoCores", number(two)),
  ("card", .object(try await onCard(nil))), ("cardWithPIN", .object(try await onCard("2468"))),
])
print(String(decoding: JSONWriter.write(result), as: UTF8.self))
