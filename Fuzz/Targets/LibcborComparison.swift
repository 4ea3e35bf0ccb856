// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCbor
import WebAuthnCore

/// What this program reads, compared item by item with what libcbor's tree builder makes of the same bytes: another
/// decoder than the streaming one that we stand on, with lengths, nesting and copies of its own.
enum LibcborComparison {
  static func compare(_ item: CBORItem, _ input: [UInt8]) {
    guard !hasOwnReading(item) else { return }
    var result = cbor_load_result()
    let tree = input.withUnsafeBufferPointer { cbor_load($0.baseAddress, $0.count, &result) }
    guard var tree else {
      must(false, "libcbor refuses what is read here, code \(result.error.code.rawValue) at \(result.error.position)")
      return
    }
    defer {
      var freed: UnsafeMutablePointer<cbor_item_t>? = tree
      cbor_decref(&freed)
    }
    must(Int(result.read) == input.count, "libcbor reads as many bytes")
    must(isSame(item, tree), "libcbor reads something else")
    withExtendedLifetime(tree) { tree = $0 }
  }

  /// Simple values and short tags that libcbor does not know, and text that it checks in its own way.
  private static func hasOwnReading(_ item: CBORItem) -> Bool {
    switch item.value {
    case .simple, .tag: true
    case .text: !item.isValidUTF8
    case .array(let elements): elements.contains(where: hasOwnReading)
    case .map(let entries): entries.contains { hasOwnReading($0.key) || hasOwnReading($0.value) }
    default: false
    }
  }

  private static func isSame(_ item: CBORItem, _ other: UnsafeMutablePointer<cbor_item_t>) -> Bool {
    switch item.value {
    case .unsigned(let n): return cbor_isa_uint(other) && cbor_get_int(other) == n
    case .negative(let n): return cbor_isa_negint(other) && cbor_get_int(other) == n
    case .bytes(let bytes):
      return cbor_isa_bytestring(other) && cbor_bytestring_is_definite(other)
        && bytes.elementsEqual(
          UnsafeBufferPointer(start: cbor_bytestring_handle(other), count: Int(cbor_bytestring_length(other))))
    case .text(let text):
      return cbor_isa_string(other) && cbor_string_is_definite(other)
        && text.utf8.elementsEqual(
          UnsafeBufferPointer(start: cbor_string_handle(other), count: Int(cbor_string_length(other))))
    case .array(let elements):
      guard cbor_isa_array(other), Int(cbor_array_size(other)) == elements.count,
        elements.isEmpty || cbor_array_handle(other) != nil
      else { return false }
      return elements.enumerated().allSatisfy { index, element in
        cbor_array_handle(other)?[index].map { isSame(element, $0) } ?? false
      }
    case .map(let entries):
      guard cbor_isa_map(other), Int(cbor_map_size(other)) == entries.count else { return false }
      return entries.enumerated().allSatisfy { index, entry in
        guard let pair = cbor_map_handle(other)?[index], let key = pair.key, let value = pair.value else {
          return false
        }
        return isSame(entry.key, key) && isSame(entry.value, value)
      }
    case .bool(let flag): return cbor_is_bool(other) && cbor_ctrl_value(other) == (flag ? 21 : 20)
    case .null: return cbor_is_null(other)
    case .undefined: return cbor_is_undef(other)
    case .float(let number):
      guard cbor_is_float(other) else { return false }
      let found = cbor_float_get_float(other)
      return found == number || (found.isNaN && number.isNaN)
    case .tag, .simple: return true
    }
  }
}
