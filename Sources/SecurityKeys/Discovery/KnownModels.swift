// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Names by USB numbers, for keys that carry no name of their own.
enum KnownModels {
  /// The model, or at least the maker where the vendor number is one maker's own; nil when neither is known.
  static func name(vendorID: UInt16, productID: UInt16) -> String? {
    models[UInt32(vendorID) << 16 | UInt32(productID)]
      ?? makers[vendorID].map { "\($0) \(HIDNode.hex(productID))" }
  }

  /// Every vendor number in the tables.
  static var vendors: Set<UInt16> { Set(makers.keys).union(models.keys.map { UInt16($0 >> 16) }) }

  private static let makers: [UInt16: String] = [
    0x096E: "Feitian", 0x1050: "Yubico", 0x18D1: "Google", 0x1A44: "VASCO", 0x1E0D: "Neowave", 0x1EA8: "Excelsecu",
    0x24DC: "JaCarta", 0x2581: "Plug-up", 0x2ABE: "Bluink", 0x2C97: "Ledger", 0x2CCF: "Hypersecu", 0x311F: "TrustKey",
    0x32A3: "GoTrust", 0x349E: "Token2", 0x534C: "Trezor",
  ]

  private static let models: [UInt32: String] = [
    0x0483_A2AC: "ellipticSecure MIRKey", 0x058B_022D: "Infineon FIDO", 0x06CB_0088: "Kensington VeriMark",
    0x096E_0850: "Feitian ePass FIDO", 0x096E_085A: "Feitian MultiPass FIDO", 0x096E_0866: "Feitian BioPass K33",
    0x096E_0867: "Feitian BioPass K43", 0x096E_0880: "Hypersecu HyperFIDO", 0x1050_0120: "Security Key by Yubico",
    0x1050_0402: "YubiKey FIDO", 0x1050_0403: "YubiKey OTP+FIDO", 0x1050_0406: "YubiKey FIDO+CCID",
    0x1050_0407: "YubiKey OTP+FIDO+CCID", 0x10C4_8ACF: "U2F Zero", 0x1209_5070: "Solo", 0x1209_53C1: "Trezor",
    0x1209_BEEE: "Solo 2", 0x18D1_5026: "Google Titan (U2F)", 0x18D1_9470: "Google Titan v2",
    0x1D50_60FC: "OnlyKey", 0x1FC9_F143: "GoTrust Idem Key", 0x20A0_4287: "Nitrokey FIDO U2F",
    0x20A0_42B1: "Nitrokey FIDO2", 0x20A0_42B2: "Nitrokey 3", 0x20A0_42B3: "Safetech SafeKey", 0x20A0_42D4: "CanoKey",
    0x311F_4A1A: "TrustKey G310", 0x311F_4A2A: "TrustKey G310H/G320H", 0x311F_4C2A: "TrustKey G320",
    0x311F_5C2F: "eWBM Goldengate G500", 0x311F_A6E9: "TrustKey T120", 0x311F_A7F9: "TrustKey T110",
    0x311F_F47C: "eWBM Goldengate G450", 0x32A3_3201: "GoTrust Idem Key", 0x4C4D_F703: "Longmai mFIDO",
  ]
}
