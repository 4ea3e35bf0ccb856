// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto
import Glibc

/// Bytes that must not outlive their use: a PIN, a PRF output, a private half.
///
/// The memory is its own mapping: locked, kept out of core dumps and of child processes, and wiped when the value
/// ends. There is no description, no coding and no equality operator, so a secret cannot be printed or
/// compared by accident. Copying is deliberate: ``clone()``.
// Sendable although it holds a pointer: the value is unique (~Copyable), nothing else points at the memory, and
// shared access is read-only.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
  private let base: UnsafeMutableRawPointer
  private let mapped: Int
  /// The number of bytes.
  public private(set) var count: Int

  /// `count` zero bytes, then filled by `body`.
  public init(count: Int, initializingWith body: (UnsafeMutableRawBufferPointer) throws -> Void = { _ in }) rethrows {
    precondition(count >= 0)
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let size = max(page, (count + page - 1) / page * page)
    let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { Exhaustion.end("mmap") }
    // Best effort: RLIMIT_MEMLOCK can be tiny. `sealkey doctor` says so when it is.
    _ = mlock(memory, size)
    _ = madvise(memory, size, Int32(MADV_DONTDUMP))
    _ = madvise(memory, size, Int32(MADV_WIPEONFORK))
    self.base = memory
    self.mapped = size
    self.count = count
    do {
      try body(UnsafeMutableRawBufferPointer(start: memory, count: count))
    } catch {
      ccrypto_OPENSSL_cleanse(memory, size)
      munmap(memory, size)
      throw error
    }
  }

  /// A copy of `bytes`. The caller still owns, and should wipe, the original.
  public init(copying bytes: UnsafeRawBufferPointer) {
    self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
  }

  /// A copy of public or test bytes.
  public init(_ bytes: [UInt8]) {
    self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  /// Takes the bytes of `array` and wipes them there. Only as good as the array's uniqueness.
  public init(wiping array: inout [UInt8]) {
    self.init(count: array.count) { $0.copyBytes(from: array) }
    array.withUnsafeMutableBytes { if let p = $0.baseAddress { ccrypto_OPENSSL_cleanse(p, $0.count) } }
    array.removeAll()
  }

  deinit {
    ccrypto_OPENSSL_cleanse(base, mapped)
    munmap(base, mapped)
  }

  /// Reads the bytes in place.
  public borrowing func withUnsafeBytes<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// Changes the bytes in place.
  public mutating func withUnsafeMutableBytes<R: ~Copyable, E: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeMutableRawBufferPointer(start: base, count: count))
  }

  /// A second, independent copy.
  public borrowing func clone() -> SecretBytes {
    SecretBytes(count: count) { $0.copyMemory(from: UnsafeRawBufferPointer(start: base, count: count)) }
  }

  /// A copy of the bytes in `range`, which must lie within `0..<count`.
  public borrowing func slice(_ range: Range<Int>) -> SecretBytes {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return SecretBytes(count: range.count) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
    }
  }

  /// Shortens to the first `count` bytes and wipes the rest.
  public mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= self.count)
    ccrypto_OPENSSL_cleanse(base + count, self.count - count)
    self.count = count
  }

  /// Whether both hold the same bytes, in a time that depends on the length only.
  public borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
    count == other.count && CRYPTO_memcmp(base, other.base, count) == 0
  }

  /// The bytes as an ordinary array: only for values that are about to become public.
  public borrowing func exposed() -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: base, count: count))
  }
}
