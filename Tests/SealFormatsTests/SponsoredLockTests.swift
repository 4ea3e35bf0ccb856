// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

struct SponsoredVector: Decodable {
  let prf_hex: String
  let salt_hex: String
  let lock_key_hex: String
  let nonce_hex: String
  let plaintext_utf8: String
  let lockedPrivate_hex: String
}

struct SponsoredVectors: Decodable { let sponsored: [SponsoredVector] }

@Suite(.arithmetic) struct SponsoredLockTests {
  @Test(.enabled(if: Corpus.has("seal-vectors.json"), Comment(rawValue: Corpus.absent)))
  func everyVector() throws {
    for vector in try Corpus.decode("seal-vectors.json", as: SponsoredVectors.self).sponsored {
      let prf = SecretBytes(bytes(hex: vector.prf_hex))
      let (salt, blob) = (bytes(hex: vector.salt_hex), bytes(hex: vector.lockedPrivate_hex))
      #expect(try SponsoredLock.lockKey(prf: prf, salt: salt).exposed() == bytes(hex: vector.lock_key_hex))
      let halves = try SponsoredLock.unlock(blob, prf: prf, salt: salt)
      #expect(halves.encoded().exposed() == Array(vector.plaintext_utf8.utf8))
      #expect(try SponsoredLock.lock(halves, prf: prf, salt: salt, nonce: bytes(hex: vector.nonce_hex)) == blob)
    }
  }

  @Test func nothingElseOpensIt() throws {
    let halves = try PrivateHalves()
    let prf = SecretBytes.random(count: 32)
    let salt = Random.bytes(32)
    let blob = try SponsoredLock.lock(halves, prf: prf, salt: salt)
    let opened = try SponsoredLock.unlock(blob, prf: prf, salt: salt)
    #expect(opened.signingKey.exposed() == halves.signingKey.exposed())
    #expect(opened.bundle.publicKeys == halves.bundle.publicKeys)
    #expect(throws: WrapError.wrongKey) {
      _ = try SponsoredLock.unlock(blob, prf: .random(count: 32), salt: salt)
    }
    #expect(throws: WrapError.wrongKey) { _ = try SponsoredLock.unlock(blob, prf: prf, salt: Random.bytes(32)) }
    for index in blob.indices {
      var changed = blob
      changed[index] ^= 1
      #expect(throws: WrapError.wrongKey) { _ = try SponsoredLock.unlock(changed, prf: prf, salt: salt) }
    }
    for count in [0, 27, 91, 4097] {
      let error = #expect(throws: WrapError.self) {
        _ = try SponsoredLock.unlock([UInt8](repeating: 0, count: count), prf: prf, salt: salt)
      }
      #expect(error?.name == "badLock")
    }
    #expect(throws: WrapError.self) { _ = try SponsoredLock.unlock(blob, prf: .random(count: 31), salt: salt) }
    #expect(throws: WrapError.self) { _ = try SponsoredLock.unlock(blob, prf: prf, salt: [1]) }
  }

  private static let key = Base64.encode([UInt8](repeating: 1, count: 32))
  private static let bad = [
    "", "{", "{}", "[]", #"{"signingKey":"\#(key)"}"#, #"{"signingKey":"\#(key)","x25519":"AQ=="}"#,
    #"{"signingKey":"\#(key)","x25519":"\#(key)"} x"#, #"{"signingKey":"\#(key)","x25519":"\#(key)""#,
    #"{"signingKey":"\#(key)","signingKey":"\#(key)","x25519":"\#(key)"}"#,
    #"{"signingKey":"\#(key)","x25519":"\#(key)","mlkem768Seed":"\#(key)"}"#,
    #"{"signingKey":"\#(key)","x25519":null}"#, #"{"signingKey":"\#(key.dropLast())","x25519":"\#(key)"}"#,
    #"{"signingKey":"\#(key.dropLast(2))9=","x25519":"\#(key)"}"#,
    #"{"signing\u004bey":"\#(key)","x25519":"\#(key)"}"#,
    #"{"signingKey":"\#(Base64.encode([UInt8](repeating: 0, count: 32)))","x25519":"\#(key)"}"#,
    #"{"signingKey":"\#(Base64.encode([UInt8](repeating: 255, count: 32)))","x25519":"\#(key)"}"#,
    String(repeating: #"{"a":"#, count: 1000),
  ]

  @Test(arguments: bad)
  func badHalves(text: String) {
    let error = #expect(throws: WrapError.self) {
      _ = try PrivateHalves(parsing: SecretBytes(Array(text.utf8)))
    }
    #expect(error?.name == "badHalves")
  }

  @Test func readsAnyOrderAndUnknownMembers() throws {
    let text =
      #" { "x25519" : "\#(Self.key)" , "new":{"a":[1,"}",{"b":null}]}, "mlkem768Seed":null,"signingKey":"\#(Self.key)"} "#
    let halves = try PrivateHalves(parsing: SecretBytes(Array(text.utf8)))
    #expect(halves.signingKey.exposed() == [UInt8](repeating: 1, count: 32))
    let whole = halves.encoded().exposed()
    for end in whole.indices {
      #expect(throws: WrapError.self) { _ = try PrivateHalves(parsing: SecretBytes(Array(whole[..<end]))) }
    }
  }

  /// Slashes, both paddings and every character, through the hand-written reader and writer.
  @Test func base64AgreesWithTheOther() throws {
    for count in 0...67 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 197 &+ count) | ($0 % 3 == 0 ? 0xfc : 0) }
      var writer = SecretJSONWriter(capacity: 400)
      writer.append(base64: SecretBytes(bytes))
      let text = writer.finish().exposed()
      #expect(text == JSONWriter.write(.base64(bytes)))
      let read = try SecretBytes(text).withUnsafeBytes { buffer throws(WrapError) in
        var reader = SecretJSONReader(buffer)
        return try reader.base64(count: count).exposed()
      }
      #expect(read == bytes)
    }
  }

  /// `lockedPrivate` and `prfSalt` are unsigned: halves that are not the endorsed ones are refused.
  @Test func halvesMustBeTheEndorsedOnes() throws {
    let ann = try TestPerson("Ann")
    let mine = try PrivateHalves()
    let other = try PrivateHalves()
    func endorsement(_ device: [UInt8], _ bundle: [UInt8]) throws -> DeviceEndorsement {
      DeviceEndorsement(
        devicePublicKey: device, kemBundlePublicKeys: bundle,
        assertion: try ann.root.tap(.endorse(devicePublicKey: device, kemBundle: bundle)),
        createdAt: SealDate(epoch: 0))
    }
    let (device, bundle) = (mine.devicePublicKey, mine.bundle.publicKeys.bytes)
    #expect(try SponsoredLock.match(mine, endorsement(device, bundle)) == .whole)
    #expect(throws: WrapError.halvesDoNotMatch(part: "device key")) {
      _ = try SponsoredLock.match(other, endorsement(device, bundle))
    }
    #expect(throws: WrapError.halvesDoNotMatch(part: "key bundle")) {
      _ = try SponsoredLock.match(mine, endorsement(device, other.bundle.publicKeys.bytes))
    }
  }
}
