// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// Every algorithm in scope, on keys and signatures made by python's cryptography.
@Suite(.arithmetic) struct AlgorithmTests {
  /// One key and its signature over ``message``.
  struct Vector: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let key: [UInt8]
    let signature: [UInt8]
    init(_ name: String, key: String, signature: String) {
      testDescription = name
      self.key = bytes(hex: key)
      self.signature = bytes(hex: signature)
    }
  }

  static let message = Array("authenticator data and hash".utf8)

  @Test(arguments: vectors) func verifies(_ vector: Vector) throws {
    let key = try CredentialPublicKey(cose: try CBORDecoder.decodeAll(vector.key))
    #expect(key.canVerify)
    #expect(key.formatFault(of: vector.signature) == nil)
    #expect(key.isValidSignature(vector.signature, for: Self.message))
    #expect(!key.isValidSignature(vector.signature, for: Self.message + [0]))
    #expect(!key.isValidSignature(vector.signature + [0], for: Self.message))
    #expect(!key.isValidSignature([], for: Self.message))
    for i in vector.signature.indices {
      var changed = vector.signature
      changed[i] ^= 0x01
      #expect(!key.isValidSignature(changed, for: Self.message), "byte \(i)")
    }
    #expect(key.algorithm.description == (vector.testDescription.hasPrefix("Ed") ? "EdDSA" : vector.testDescription))
  }

  /// A key of one algorithm never verifies another's signature.
  @Test func algorithmsAreKeptApart() throws {
    for vector in Self.vectors {
      let key = try CredentialPublicKey(cose: try CBORDecoder.decodeAll(vector.key))
      for other in Self.vectors where other.testDescription != vector.testDescription {
        #expect(!key.isValidSignature(other.signature, for: Self.message))
      }
    }
  }

  /// Every truncation of a COSE key, and every key with one member gone, is refused.
  @Test(arguments: vectors) func incompleteKeys(_ vector: Vector) throws {
    let whole = try CBORDecoder.decodeAll(vector.key)
    for member in whole.map ?? [] {
      let rest = (whole.map ?? []).filter { $0.key.int != member.key.int }
      let item = try CBORDecoder.decodeAll(CBORValue.encode(.map(rest.map { ($0.key.rewritten, $0.value.rewritten) })))
      do {
        _ = try CredentialPublicKey(cose: item)
        Issue.record("accepted without \(member.key.int ?? 0)")
      } catch {
        #expect(error.name == "coseKeyMissing(\(member.key.int ?? 0))")
      }
    }
  }

  /// Coordinates and moduli of wrong sizes, and curves that do not fit.
  @Test(arguments: [
    ("Ed25519 of 31 bytes", "a40101032720062141" + "00", "badPublicKey"),
    ("EdDSA on P-256", "a4010103272001214100", "unsupportedCurve(1)"),
    ("EdDSA on X25519", "a4010103272004214100", "unsupportedCurve(4)"),
    ("EdDSA with text for kty and crv (QUIRKS D5)", "a401634f4b500327206745643235353139214100", "coseKeyWrongType(1)"),
    ("EdDSA on an EC key", "a4010203272006214100", "coseKeyTypeDoesNotFit"),
    ("Ed448 of one byte", "a4010103272007214100", "badPublicKey"),
    ("RS256 with n of 8 bits", "a40103033901002041ff2143010001", "badPublicKey"),
    ("RS256 with e of text", "a40103033901002041ff216101", "coseKeyWrongType(-2)"),
    ("not a map", "80", "coseKeyNotAMap"),
    ("an empty map", "a0", "coseKeyMissing(3)"),
  ])
  func badKeys(_ what: String, _ hex: String, _ name: String) throws {
    let item = try CBORDecoder.decodeAll(bytes(hex: hex))
    do {
      let key = try CredentialPublicKey(cose: item)
      Issue.record("accepted as \(key)")
    } catch {
      #expect(error.name == name)
    }
  }

  /// An algorithm nobody knows keeps its number.
  @Test func unknownAlgorithmsStayNumbers() throws {
    let key = try CredentialPublicKey(cose: try CBORDecoder.decodeAll(bytes(hex: "a20101033a00010fff")))
    #expect(key.algorithm.rawValue == -69632)
    #expect(key.algorithm.description == "-69632")
    #expect(!key.canVerify)
    #expect(!key.isValidSignature([], for: []))
  }

  @Test func coseFormOfAKey() throws {
    let key = TestRegistration.fixedKey
    let written = CBORValue.encode(CredentialPublicKey.cose(es256: key))
    #expect(try CredentialPublicKey(cose: CBORDecoder.decodeAll(written)) == .es256(key))
    #expect(written.starts(with: bytes(hex: "a5010203262001215820")))
  }

  static let vectors: [Vector] = [
    Vector(
      "ES256",
      key: "a5010203262001215820883df6c9ee1f029450dc3446b4cabe291b34da8db30e66a97af8a4137d71c25e225820"
        + "9e2e6a272b0d5035579ab94d82c6757b96c2af5fd6369aa2285db0d7ffda9dcd",
      signature:
        "304602210092414cb4db7f20c2fba27550b5f968f14326c2fb4c5f0b2fe10bab96e01cdba802210089aa8c2e62bcc2b4860fe30fc350eb252d5913d045e77e42d1a601544e1d0b2d"
    ),
    Vector(
      "ES384",
      key: "a501020338222002215830c81a692ff460a1a02b64ad5105b94697b9da9166e205cc9151c0f2c6c7a9ab60381b"
        + "f2a7871bd14c7582e141eae8c9d02258301496695ee4c58853602a94c12260fd2561390836feb13c6989bff595"
        + "e69ae029e8cea9e384a68378a7858de1255e1f6a",
      signature:
        "3065023041da31274cf68803872636c41b12c9cee6088bcbaa4dcab993804e1bd4dc1a1b6d7e935f1020f528b2bae154588b8fa2023100f5794b739d310323e4611e5e05418a87caafe824530419331834b668dc91b98bbcb4a247381367a82bb9321fb0ed4f0f"
    ),
    Vector(
      "ES512",
      key: "a5010203382320032158420126fd591b7b539a4452cac068f9df02362d9925c6f383fd990799e9f9545a196b51"
        + "9f674246f897800f4e112837955d394f31a994ace612c3b4a793d8741f54b16a225842017f72fad6853adda91b"
        + "d74a68b90c4637906f683ea9a82283fc4c7d0fb0f6f53dfc79bd547f8aef04a82fb3e7c4a72417782de8651975"
        + "9e62d78f1fb62e4030270d",
      signature:
        "30818702420121239893813634033ce06b895c9240be725edb64c8d176afa5a6f33363f070d207130acd8f37e5a6e7b0c7da9b5b888d228fd6c3c4b4537302caa4a48e71f5b4fc024163584ef7c506f82be06078ef35e93412e177ab4ebe35dad70ac0305137fc5d3cfbfa9445144092959d30dd6e327d9b94c91c17b722d13f106511856e7826dc8da4"
    ),
    Vector(
      "Ed25519",
      key: "a401010327200621582079db290679ce4d9d519ec80b110c46b394a2fa793c04615aba6e98e04377378a",
      signature:
        "f064406fabc1b563673f2e06ec1e68f6259695f35e43f555bea9cb1fc147c2c853930c22bb630d9e32eb865b2dc2153ad2b71e3a83c5e17b16cc622d5aa4800c"
    ),
    Vector(
      "Ed448",
      key: "a4010103272007215839de806a3dcff38b2de5e743ee9ab979e690b1230467056910799c05dbb51cb2f7b6cb26"
        + "5f84d98f84bbbf34333b7d85a0057ffcbab39602cd80",
      signature:
        "c892de748df1aafb99c0fbe481a8d92de75a20679748983f81051471e9a070ce2ab87af4a3db6cd751ead3e6fcc3c17914adbec2aa1f83160093c9d055d66a5ac993581fa60c0ea23469062b723b16cc7ecbedecec84615035aaafc6127d8f84862397c02d32551f7bfa2e601de970411d00"
    ),
    Vector(
      "RS256",
      key: "a401030339010020590100c96b83d4d8a9ccabc0bcc3c88f1676f57603f9a29a6bb591099490f0e4ee1584a67d"
        + "4ed74dbc3017bda6522d06a6f069af3dc4944ef0e30e1bb9b012b0e99c93acd1bfccba978d38e3411dd7dd8ff1"
        + "e304d2eaeca72e5e6b8fdb80a1e6b5079945b4584afc202bd977145b7ea24fd19935566a0912288c7ea4bf367d"
        + "5a54f9d6631e9c1e9fad188b60cca6b27124182005a9bea812ecc70b5cdce532cb91c9fc5034eb2aae6382112c"
        + "78ebca0c8d76d5005b2f1114927b6f75fb1a1427cf30c0d7214fe1f1790dc9975caceed2939109b898a81575b9"
        + "cb8cc9e3ba3979b886792ebad310693c88b2f74a871b912e251f28ff7e4a43e21ea936428ce49907c917214301"
        + "0001",
      signature:
        "b4003b233498b748df0fc37debab97fe49a34ba8e3d5088d71e70789acf5bd069c179ca08c875016b15cc7583aee68c455121e6f051f7221cfb7ddd4028cf77f0511543ae231d61d3d97c5e177dff0c582f6ae4fd2b44e205be233089e888b81c1f0740846585e452c0804af62eca25b6d9dc1707c9710328ca7ea1836cfdbf0f95855207eb84eb1a928ef46c96994cc4476288b2295ec73b87e3fec3eb822aff4a6ec5b3a6206abd44e11cf0421b20a2bebb26b5ccf1c7bd5a50446c2f0b7fb9a2dbc43d147bf5a2facbf6597f572623c1e53cf8ac79a4ad321eeaed21e79982f639ee10ba1120df8613a69e070f53f61769ed9ac24ea890a2e9dc28a8e1261"
    ),
  ]
}
