// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import Synchronization
import TestSupport
import Testing
import WebAuthnCore

/// A device's private halves as a file, plain and under a passphrase.
@Suite struct DeviceFileTests {
  let folder: TemporaryFolder
  let store: LocalStore
  static let word = "three small words"

  init() throws {
    folder = try TemporaryFolder()
    store = LocalStore(path: "\(folder.path)/data", patience: 600_000)
  }

  private var file: String { "\(store.path)/devices/laptop.device" }

  private static func saying(_ text: String) -> DeviceFile.Passphrase { { _ in SecretBytes(Array(text.utf8)) } }

  /// One changed byte anywhere in the private halves is found when the file is read, and by the check.
  @Test func damagedHalvesAreFound() async throws {
    _ = try await store.deviceOrNew("laptop")
    let good = try AtomicFile.read(file)
    let text = String(decoding: good, as: UTF8.self)
    let ends = try ["signingKey", "x25519"].map { name -> Int in
      let start = try #require(text.firstRange(of: "\"\(name)\":\"")).upperBound
      return text.utf8.distance(from: text.startIndex, to: start)
    }
    for start in ends {
      for place in stride(from: start, to: start + 40, by: 3) {
        var changed = good
        // A and B differ in the third lowest bit of X25519's first byte, which is no part of the key (RFC 7748 section 5).
        changed[place] = changed[place] <= UInt8(ascii: "B") && changed[place] >= UInt8(ascii: "A") ? 0x67 : 0x41
        try AtomicFile.write(changed, to: file, mode: 0o600)
        #expect(["deviceDamaged", "notADevice"].contains(await failure { _ = try store.device("laptop") }), "\(place)")
        #expect(!store.check().failures.isEmpty, "\(place)")
      }
    }
    // A file of Seal's, without digests, is read too; what was endorsed then tells.
    let bench = try await SoftPerson("Ada", endorsedAt: 1)
    try AtomicFile.write(secret: bench.device().encoded(), to: file)
    try await store.updatePeople { _ = try $0.take(bench.record) }
    #expect(store.check().failures.isEmpty)
    let other = try PrivateHalves(signingKey: bench.device().signingKey.clone(), bundle: PrivateBundle())
    try AtomicFile.write(secret: other.encoded(), to: file)
    #expect(store.check().failures.map(\.name) == ["halvesDoNotMatch"])
    #expect(try store.publicHalves("laptop").devicePublicKey == bench.record.deviceEndorsements[0].devicePublicKey)
  }

  @Test func aFileOfAnotherKindIsNamed() async throws {
    for text in ["", "{}", "sealkey device 1\n", "-----BEGIN PRIVATE KEY-----\n", "{\"signingKey\":1}"] {
      try AtomicFile.write(Array(text.utf8), to: "\(folder.path)/x", mode: 0o600)
      #expect(await failure { _ = try DeviceFile.read("\(folder.path)/x") } == "notADevice", "\(text)")
      #expect(await failure { _ = try DeviceFile.readOrMake("\(folder.path)/x") } == "notADevice", "\(text)")
    }
  }

  @Test func aPassphraseIsSetChangedAndRemoved() async throws {
    let made = try await store.deviceOrNew("laptop").halves
    try await store.setPassphrase(of: "laptop", from: DeviceFile.noPassphrase, to: Self.saying(Self.word))
    var status = stat()
    #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(try store.isProtected("laptop"))
    #expect(try store.publicHalves("laptop") == made, "the public side needs no passphrase")
    #expect(store.check().failures.isEmpty)
    #expect(await failure { _ = try store.device("laptop") } == "passphraseRequired")
    #expect(
      await failure { _ = try store.device("laptop", passphrase: Self.saying("three small word")) } == "wrongPassphrase"
    )
    // A person who mistypes is asked again, as often as was said.
    for (tries, expected) in [(3, nil), (2, "wrongPassphrase")] as [(Int, String?)] {
      let words = Mutex(["three small word", "two small words", Self.word])
      let ask: DeviceFile.Passphrase = { _ in
        SecretBytes(Array(words.withLock { $0.removeFirst() }.utf8))
      }
      #expect(await failure { _ = try store.device("laptop", passphrase: ask, tries: tries) } == expected)
      #expect(words.withLock { $0.count } == 3 - tries)
    }
    let opened = try store.device("laptop", passphrase: Self.saying(Self.word))
    #expect(opened.devicePublicKey == made.devicePublicKey && opened.bundle.publicKeys.bytes == made.kemBundle)
    // Nothing of the private side stands in the file.
    let text = try AtomicFile.read(file)
    for secret in [opened.signingKey.exposed(), opened.bundle.x25519.exposed()] {
      #expect(text.firstRange(of: secret) == nil)
      #expect(text.firstRange(of: Array(Base64.encode(secret).utf8.prefix(40))) == nil)
      #expect(text.firstRange(of: Array(Hex.encode(secret).utf8)) == nil)
    }
    try await store.setPassphrase(of: "laptop", from: Self.saying(Self.word), to: Self.saying("another one, long"))
    #expect(await failure { _ = try store.device("laptop", passphrase: Self.saying(Self.word)) } == "wrongPassphrase")
    #expect(
      await failure {
        try await store.setPassphrase(of: "laptop", from: Self.saying("another one, long"), to: Self.saying("short"))
      } == "unfitPassphrase")
    try await store.setPassphrase(of: "laptop", from: Self.saying("another one, long"), to: nil)
    #expect(try PublicHalves.same(store.device("laptop"), made))
  }

  /// A computer whose libcrypto has no ML-KEM-768 changes the passphrase of a device that has that side, and one that has
  /// it reads what the other wrote.
  @Test func aPassphraseIsChangedWhereLessIsKnown() async throws {
    let made = try PrivateHalves()
    let halves = try PrivateHalves(
      signingKey: made.signingKey.clone(),
      bundle: PrivateBundle(x25519: made.bundle.x25519.clone(), mlkem768Seed: .random(count: 64)))
    let own = halves.bundle.publicKeys
    let mlkem = own.mlkem768 ?? Random.bytes(MLKEM768.publicKeyByteCount)
    let whole = PublicHalves(
      devicePublicKey: halves.devicePublicKey,
      kemBundle: try #require(KEMBundle(x25519: own.x25519, mlkem768: mlkem)).bytes)
    let half = PublicHalves(devicePublicKey: halves.devicePublicKey, kemBundle: own.x25519)
    _ = try await store.deviceOrNew("laptop")
    func put(_ side: PublicHalves) throws {
      let lines = [
        "sealkey device 1", "device-public-key \(Hex.encode(side.devicePublicKey))",
        "kem-bundle \(Hex.encode(side.kemBundle))", "",
      ]
      let keys = try halves.encryptedPEM(passphrase: SecretBytes(Array(Self.word.utf8)))
      try AtomicFile.write(Array((lines.joined(separator: "\n") + "\n" + keys).utf8), to: file, mode: 0o600)
    }
    for (side, after) in [(whole, whole), (half, MLKEM768.isAvailable ? whole : half)] {
      try put(side)
      try await store.setPassphrase(of: "laptop", from: Self.saying(Self.word), to: Self.saying("another one, long"))
      #expect(try store.publicHalves("laptop") == after)
      #expect(
        try store.device("laptop", passphrase: Self.saying("another one, long")).devicePublicKey == side.devicePublicKey
      )
    }
    // Another X25519 key is another device, however much of it is written down.
    try put(
      PublicHalves(
        devicePublicKey: halves.devicePublicKey, kemBundle: try X25519.PrivateKey().publicKey.rawRepresentation))
    #expect(await failure { _ = try store.device("laptop", passphrase: Self.saying(Self.word)) } == "deviceDamaged")
  }

  /// A public side that does not belong to the keys below it, and keys that were exchanged.
  @Test func aChangedFileUnderAPassphraseIsFound() async throws {
    _ = try await store.deviceOrNew("laptop")
    _ = try await store.deviceOrNew("desk")
    for name in ["laptop", "desk"] {
      try await store.setPassphrase(of: name, from: DeviceFile.noPassphrase, to: Self.saying(Self.word))
    }
    let mine = String(decoding: try AtomicFile.read(file), as: UTF8.self)
    let other = String(decoding: try AtomicFile.read("\(store.path)/devices/desk.device"), as: UTF8.self)
    func split(_ text: String) throws -> (head: Substring, keys: Substring) {
      let start = try #require(text.firstRange(of: "-----BEGIN")).lowerBound
      return (text[..<start], text[start...])
    }
    let mixed = try String(split(mine).head + split(other).keys)
    try AtomicFile.write(Array(mixed.utf8), to: file, mode: 0o600)
    #expect(await failure { _ = try store.device("laptop", passphrase: Self.saying(Self.word)) } == "deviceDamaged")
    let cut = mine.dropLast(80)
    try AtomicFile.write(Array(cut.utf8), to: file, mode: 0o600)
    #expect(await failure { _ = try store.device("laptop", passphrase: Self.saying(Self.word)) } == "notADevice")
  }

  /// An independent reader: openssl decrypts the first key, and its public half is the device's.
  @Test func opensslReadsTheSigningKey() async throws {
    let made = try await store.deviceOrNew("laptop").halves
    try await store.setPassphrase(of: "laptop", from: DeviceFile.noPassphrase, to: Self.saying(Self.word))
    let shown = try Program.run(
      "sh",
      [
        "-c",
        "openssl pkcs8 -in '\(file)' -passin fd:0 | openssl pkey -pubout -outform DER | od -An -v -tx1 | tr -d ' \\n'",
      ],
      input: Array("\(Self.word)\n".utf8))
    #expect(shown.out.hasSuffix(Hex.encode(made.devicePublicKey)), "\(shown.err)")
    let scheme = try Program.run("sh", ["-c", "openssl asn1parse -strictpem -in '\(file)'"])
    #expect(
      scheme.out.contains("PBES2") && scheme.out.contains("1.3.6.1.4.1.11591.4.11") || scheme.out.contains("scrypt"))
    let wrong = try Program.run(
      "openssl", ["pkcs8", "-in", file, "-passin", "fd:0"], input: Array("three small word\n".utf8))
    #expect(wrong.code != 0)
  }
}

extension PublicHalves {
  /// Whether private halves have this public side.
  static func same(_ halves: borrowing PrivateHalves, _ other: PublicHalves) -> Bool {
    halves.devicePublicKey == other.devicePublicKey && halves.bundle.publicKeys.bytes == other.kemBundle
  }
}
