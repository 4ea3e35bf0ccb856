// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A recipient's key table, encrypted. It names its recipient nowhere.
public struct KeyTable: SealShape, Hashable {
  public static let shapeName = "key table"

  /// Its random name.
  public var tableID: String
  /// The epoch of its release wraps.
  public var epoch: UInt64
  /// Its key, wrapped to the owner's devices.
  public var ownerWraps: [WrapEnvelope]
  /// Its key under the Estate Key, wrapped to the recipient's devices.
  public var releaseWraps: [WrapEnvelope]
  /// AES-256-GCM: nonce (12), data, tag (16).
  public var ciphertext: [UInt8]

  /// All members at once.
  public init(
    tableID: String, epoch: UInt64, ownerWraps: [WrapEnvelope], releaseWraps: [WrapEnvelope], ciphertext: [UInt8]
  ) {
    self.tableID = tableID
    self.epoch = epoch
    self.ownerWraps = ownerWraps
    self.releaseWraps = releaseWraps
    self.ciphertext = ciphertext
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    tableID = try m.string("tableID")
    epoch = try m.unsigned("epoch")
    ownerWraps = try m.list("ownerWraps")
    releaseWraps = try m.list("releaseWraps")
    ciphertext = try m.base64("ciphertext")
  }

  public var json: JSONValue {
    .object([
      ("tableID", .string(tableID)), ("epoch", .int(epoch)), ("ownerWraps", .array(ownerWraps.map(\.json))),
      ("releaseWraps", .array(releaseWraps.map(\.json))), ("ciphertext", .base64(ciphertext)),
    ])
  }
}
