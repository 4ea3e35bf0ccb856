// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing

@testable import CTAPWire

@Suite("CTAP status", .arithmetic)
struct CTAPStatusTests {
  @Test("every byte has one name and a sentence")
  func everyByte() {
    var names = Set<String>()
    for byte in UInt8.min...UInt8.max {
      let status = CTAPStatus(rawValue: byte)
      #expect(names.insert(status.name).inserted)
      #expect(status.sentence.hasSuffix("."))
      #expect(!status.sentence.contains("\u{2014}"))
    }
  }

  @Test(
    "numbers are those of the standard",
    arguments: [
      (CTAPStatus.success, 0x00, "CTAP2_OK"), (.invalidCBOR, 0x12, "CTAP2_ERR_INVALID_CBOR"),
      (.credentialExcluded, 0x19, "CTAP2_ERR_CREDENTIAL_EXCLUDED"),
      (.noCredentials, 0x2E, "CTAP2_ERR_NO_CREDENTIALS"), (.pinInvalid, 0x31, "CTAP2_ERR_PIN_INVALID"),
      (.puatRequired, 0x36, "CTAP2_ERR_PUAT_REQUIRED"), (.uvInvalid, 0x3F, "CTAP2_ERR_UV_INVALID"),
      (.unauthorizedPermission, 0x40, "CTAP2_ERR_UNAUTHORIZED_PERMISSION"),
    ] as [(CTAPStatus, UInt8, String)])
  func numbers(status: CTAPStatus, byte: UInt8, name: String) {
    #expect(status.rawValue == byte)
    #expect(status.standardName == name)
  }

  @Test("bytes without a name say whose they are")
  func ranges() {
    #expect(CTAPStatus(rawValue: 0x70).name == "unknown0x70")
    #expect(CTAPStatus(rawValue: 0xE1).name == "extension0xE1")
    #expect(CTAPStatus(rawValue: 0xF1).name == "vendor0xF1")
    #expect(CTAPStatus(rawValue: 0xF1).standardName == nil)
  }
}
