// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// A list of OSSL_PARAM whose contents live, and are wiped, with it.
struct Parameters: ~Copyable {
  private var list: [OSSL_PARAM] = []
  private var storage: [UnsafeMutableRawBufferPointer] = []

  deinit {
    for buffer in storage {
      ccrypto_OPENSSL_cleanse(buffer.baseAddress, buffer.count)
      buffer.deallocate()
    }
  }

  /// A UTF-8 string.
  mutating func text(_ key: StaticString, _ value: StaticString) {
    // Both are static: nothing to keep.
    let bytes = UnsafeMutableRawPointer(mutating: value.utf8Start).assumingMemoryBound(to: CChar.self)
    list.append(OSSL_PARAM_construct_utf8_string(Self.name(key), bytes, value.utf8CodeUnitCount))
  }

  /// An octet string.
  mutating func octets(_ key: StaticString, _ value: [UInt8]) { value.withUnsafeBytes { octets(key, $0) } }

  /// An octet string.
  mutating func octets(_ key: StaticString, _ value: UnsafeRawBufferPointer) {
    let copy = keep(value.count)
    copy.copyMemory(from: value)
    list.append(OSSL_PARAM_construct_octet_string(Self.name(key), copy.baseAddress, value.count))
  }

  /// An unsigned integer given as big-endian bytes.
  mutating func integer(_ key: StaticString, bigEndian value: UnsafeRawBufferPointer) {
    let copy = keep(value.count)
    // OSSL_PARAM integers are in the machine's order.
    for i in 0..<value.count { copy[i] = value[value.count - 1 - i] }
    let bytes = copy.baseAddress?.assumingMemoryBound(to: UInt8.self)
    list.append(OSSL_PARAM_construct_BN(Self.name(key), bytes, value.count))
  }

  /// The terminated list, for the duration of `body`.
  func withPointer<R>(_ body: (UnsafeMutablePointer<OSSL_PARAM>?) -> R) -> R {
    var terminated = list + [OSSL_PARAM_construct_end()]
    return terminated.withUnsafeMutableBufferPointer { body($0.baseAddress) }
  }

  private mutating func keep(_ count: Int) -> UnsafeMutableRawBufferPointer {
    // At least one byte, so that an empty value still has an address.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 8)
    storage.append(buffer)
    return buffer
  }

  private static func name(_ key: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(key.utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
