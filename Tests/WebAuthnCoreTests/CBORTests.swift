// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// What the reader takes and what it refuses, each under its name and at its offset.
@Suite(.arithmetic) struct CBORTests {
  /// One input and what must be said of it.
  struct Refusal: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let input: [UInt8]
    let error: CBORError
    var profile = CBORDecoder.Profile.ctap

    init(_ what: String, _ hex: String, _ error: CBORError, _ profile: CBORDecoder.Profile = .ctap) {
      testDescription = what
      input = bytes(hex: hex)
      self.error = error
      self.profile = profile
    }
  }

  static let refusals: [Refusal] = [
    Refusal("empty", "", .truncated(offset: 0)),
    Refusal("cut integer", "19ff", .truncated(offset: 0)),
    Refusal("cut 64-bit integer", "1bffffffffffffff", .truncated(offset: 0)),
    Refusal("byte string longer than input", "44010203", .truncated(offset: 0)),
    Refusal("byte string of 2^31", "5a80000000", .truncated(offset: 0)),
    Refusal("byte string of 2^63 - 1", "5b7fffffffffffffff", .truncated(offset: 0)),
    Refusal("byte string of 2^63", "5b8000000000000000", .tooLarge(offset: 0)),
    Refusal("byte string of 2^64 - 1", "5bffffffffffffffff", .tooLarge(offset: 0)),
    Refusal("text of 2^63", "7b8000000000000000", .tooLarge(offset: 0)),
    Refusal("array of 2^63 - 1", "9b7fffffffffffffff", .truncated(offset: 0)),
    Refusal("array of 2^63", "9b8000000000000000", .tooLarge(offset: 0)),
    Refusal("map of 2^62", "bb4000000000000000", .truncated(offset: 0)),
    Refusal("map of 2^63 - 1", "bb7fffffffffffffff", .truncated(offset: 0)),
    Refusal("map of 2^64 - 1", "bbffffffffffffffff", .tooLarge(offset: 0)),
    Refusal("array longer than input", "830102", .truncated(offset: 0)),
    Refusal("map with a key and no value", "a101", .truncated(offset: 0)),
    Refusal("map cut inside a value", "a1014201", .truncated(offset: 2)),
    Refusal("indefinite bytes", "5f4101ff", .unsupported(0x5f, offset: 0)),
    Refusal("indefinite text", "7f6161ff", .unsupported(0x7f, offset: 0)),
    Refusal("indefinite array", "9f01ff", .unsupported(0x9f, offset: 0)),
    Refusal("indefinite map", "bf0101ff", .unsupported(0xbf, offset: 0)),
    Refusal("a break alone", "ff", .unsupported(0xff, offset: 0)),
    Refusal("reserved additional information 28", "1c", .unsupported(0x1c, offset: 0)),
    Refusal("reserved additional information 30", "5e", .unsupported(0x5e, offset: 0)),
    Refusal("the same key twice", "a201010102", .duplicateKey(offset: 3)),
    Refusal("the same key in two lengths", "a20101180102", .duplicateKey(offset: 3)),
    Refusal("the same text key in two lengths", "a261610178016102", .duplicateKey(offset: 4)),
    Refusal("the same negative key twice", "a22001380002", .duplicateKey(offset: 3)),
    Refusal("trailing bytes", "0100", .trailingBytes(offset: 1)),
    Refusal("Seal: a tag", "c000", .unsupported(0xc0, offset: 0), .seal),
    Refusal("Seal: true", "f5", .unsupported(0xf5, offset: 0), .seal),
    Refusal("Seal: null", "f6", .unsupported(0xf6, offset: 0), .seal),
    Refusal("Seal: a half float", "f93c00", .unsupported(0xf9, offset: 0), .seal),
    Refusal("Seal: text that is not UTF-8", "62c328", .notUTF8(offset: 0), .seal),
  ]

  @Test(arguments: refusals) func refuses(_ refusal: Refusal) {
    do {
      let item = try CBORDecoder.decodeAll(refusal.input, profile: refusal.profile)
      Issue.record("accepted as \(item.value)")
    } catch {
      #expect(error == refusal.error)
      #expect(error.offset == refusal.error.offset)
    }
  }

  @Test(arguments: [CBORDecoder.Profile.ctap, .seal]) func nesting(_ profile: CBORDecoder.Profile) throws {
    func nested(_ depth: Int, _ head: [UInt8]) -> [UInt8] { Array(repeatElement(head, count: depth).joined()) + [0] }
    _ = try CBORDecoder.decodeAll(nested(16, [0x81]), profile: profile)
    #expect(throws: CBORError.tooDeep(offset: 17)) {
      try CBORDecoder.decodeAll(nested(17, [0x81]), profile: profile)
    }
    #expect(throws: CBORError.tooDeep(offset: 17)) {
      try CBORDecoder.decodeAll(nested(100_000, [0x81]), profile: profile)
    }
    #expect(throws: CBORError.tooDeep(offset: 33)) {
      try CBORDecoder.decodeAll(nested(100_000, [0xa1, 0x00]), profile: profile)
    }
    if profile.allowsMajor6And7 {
      #expect(throws: CBORError.tooDeep(offset: 17)) { try CBORDecoder.decodeAll(nested(100_000, [0xc0])) }
    }
  }

  /// Arrays that promise as much as the input can hold, inside one another: refused without the memory they claim.
  @Test func nestedPromises() {
    let input =
      Array(repeatElement([0x9a, 0x00, 0x02, 0x00, 0x00] as [UInt8], count: 16).joined())
      + [UInt8](repeating: 0x40, count: 0x2_0000 + 100)
    // The innermost array is satisfied; the one around it then runs out.
    #expect(throws: CBORError.self) { try CBORDecoder.decodeAll(input) }
  }

  /// RFC 8949 appendix A, the entries within the profile.
  @Test func appendixA() throws {
    func value(_ hex: String) throws -> CBORItem { try CBORDecoder.decodeAll(bytes(hex: hex)) }
    #expect(try value("1bffffffffffffffff").unsigned == UInt64.max)
    #expect(try value("1bffffffffffffffff").int == nil)
    #expect(try value("3bffffffffffffffff").int == nil)
    #expect(try value("3b7fffffffffffffff").int == Int64.min)
    #expect(try value("3903e7").int == -1000)
    #expect(try value("1903e8").int == 1000)
    #expect(try value("4401020304").bytes == [1, 2, 3, 4])
    #expect(try value("64f0908591").text == "\u{10151}")
    #expect(try value("8301820203820405").array?.count == 3)
    #expect(try value("a26161016162820203")["b"]?.array?.last?.int == 3)
    #expect(try value("f4").bool == false)
    #expect(try value("f5").bool == true)
    if case .float(let d) = try value("f97bff").value { #expect(d == 65504) } else { Issue.record("not a half") }
    if case .float(let d) = try value("fa47c35000").value {
      #expect(d == 100_000)
    } else {
      Issue.record("not a single")
    }
    if case .float(let d) = try value("fbc010666666666666").value {
      #expect(d == -4.1)
    } else {
      Issue.record("not a double")
    }
    if case .tag(let tag, let inner) = try value("c11a514b67b0").value {
      #expect(tag == 1)
      #expect(inner.int == 1_363_896_240)
    } else {
      Issue.record("not a tag")
    }
  }

  /// Real keys write integers long, leave maps unsorted and cut names in the middle of a letter.
  @Test func readsLeniently() throws {
    #expect(try CBORDecoder.decodeAll(bytes(hex: "1800")).int == 0)
    #expect(try CBORDecoder.decodeAll(bytes(hex: "5900020102")).bytes == [1, 2])
    let map = try CBORDecoder.decodeAll(bytes(hex: "a3626161016161020103"))
    #expect(map.map?.map(\.value.int) == [1, 2, 3])
    #expect(map[1]?.int == 3)
    let cut = try CBORDecoder.decodeAll(bytes(hex: "6361c328"))
    #expect(cut.text == "a\u{fffd}(")
    #expect(!cut.isValidUTF8)
  }

  /// Two names that read the same after repair are still two names.
  @Test func namesThatAreNotUTF8AreToldApart() throws {
    #expect(try CBORDecoder.decodeAll(bytes(hex: "a261c30161c402")).map?.count == 2)
    #expect(throws: CBORError.duplicateKey(offset: 4)) { try CBORDecoder.decodeAll(bytes(hex: "a261c30161c302")) }
  }

  /// A member is found by the bytes of its name, not by what Unicode calls equivalent.
  @Test func membersAreFoundExactly() throws {
    let map = try CBORDecoder.decodeAll(CBORValue.encode(.textMap([("\u{212A}", .int(1))])))
    #expect(map["K"] == nil)
    #expect(map["\u{212A}"]?.int == 1)
  }

  @Test func offsetsAreOfTheWholeInput() throws {
    let input = bytes(hex: "ffff" + "a2016161024200ff" + "00")
    let item = try CBORDecoder.decode(input, at: 2)
    #expect(item.range == 2..<10)
    #expect(item[1]?.range == 4..<6)
    #expect(item[2]?.range == 7..<10)
    #expect(throws: CBORError.truncated(offset: 11)) { try CBORDecoder.decode(input, at: 11) }
  }
}
