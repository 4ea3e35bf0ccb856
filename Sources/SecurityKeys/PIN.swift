// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CUnistring
import CryptoCore

/// What to tell a person who is asked for a PIN.
public struct PINRequest: Sendable, Hashable {
  /// Which key it is for.
  public var keyName: String
  /// Tries left before the key locks for good; nil when the key does not say.
  public var triesLeft: Int?
  /// The shortest PIN the key takes, in code points.
  public var minimumLength: Int
  /// The PIN given just before was wrong, and cost a try.
  public var lastWasWrong: Bool
  /// The PIN given just before is one that this key has refused already: it was not sent and cost nothing.
  public var lastWasRepeated: Bool
  /// The key was lifted and laid on again, and nothing has shown that it is the same: an answer that was given before is
  /// for the key before.
  public var mayBeAnotherKey: Bool

  /// All parts at once.
  public init(
    keyName: String, triesLeft: Int?, minimumLength: Int, lastWasWrong: Bool = false, lastWasRepeated: Bool = false,
    mayBeAnotherKey: Bool = false
  ) {
    self.mayBeAnotherKey = mayBeAnotherKey
    self.lastWasWrong = lastWasWrong
    self.lastWasRepeated = lastWasRepeated
    self.keyName = keyName
    self.triesLeft = triesLeft
    self.minimumLength = minimumLength
  }

  /// Why `pin` cannot be what is asked for, found out without the key; nil when it may be sent.
  /// - Returns: ``SecurityKeyError/pinTooShort(minimum:)`` or ``SecurityKeyError/pinUnusable``.
  public func objection(to pin: borrowing SecretBytes) -> SecurityKeyError? {
    do throws(SecurityKeyError) {
      _ = try CheckedPIN(pin, minimumLength: minimumLength)
      return nil
    } catch { return error }
  }
}

/// Asks a person for a PIN. It is called at most once an act, for one key, and the answer is never kept; a key that was made
/// with `asksAgain` calls it again after a wrong PIN.
public typealias PINProvider = @Sendable (PINRequest) async throws -> SecretBytes

/// Where an act gets its PIN from: the person is asked when it is first needed, and never twice.
final class PINSource {
  let provider: PINProvider?
  /// What the person typed, for as long as the act lasts.
  var answer: CheckedPIN?
  /// The last one was wrong.
  var lastWasWrong = false
  /// How often in a row a PIN was given that the key has refused before.
  var repetitions = 0

  init(_ provider: PINProvider?) { self.provider = provider }
}

/// A PIN that has passed the checks that cost no try, with the NUL that libfido2 wants after it.
final class CheckedPIN: Sendable {
  private let terminated: SecretBytes

  /// Brings the PIN into Normalisation Form C, then checks length and form (CTAP 2.1 section 6.5.1): code points, not
  /// bytes, and at most 63 bytes. A PIN that another program has set with the same letters is the same PIN, however this
  /// keyboard makes them.
  /// - Throws: ``SecurityKeyError/pinTooShort(minimum:)``, ``SecurityKeyError/pinUnusable``.
  init(_ given: borrowing SecretBytes, minimumLength: Int) throws(SecurityKeyError) {
    let pin = try Self.normalised(given)
    let count = pin.count
    let points: Int? = pin.withUnsafeBytes { bytes in
      guard bytes.count <= 63, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), Self.isUTF8(bytes) else { return nil }
      // Continuation bytes do not begin a code point.
      return bytes.reduce(0) { $0 + ($1 & 0xC0 != 0x80 ? 1 : 0) }
    }
    guard let points else { throw .pinUnusable }
    guard points >= max(4, minimumLength) else { throw .pinTooShort(minimum: max(4, minimumLength)) }
    terminated = pin.withUnsafeBytes { source in
      SecretBytes(count: count + 1) { $0.copyMemory(from: source) }
    }
  }

  /// Asks the person.
  static func ask(_ provider: PINProvider, _ request: PINRequest) async throws -> CheckedPIN {
    try CheckedPIN(await provider(request), minimumLength: request.minimumLength)
  }

  /// Whether both are the same PIN, in a time that depends on the length only.
  func isEqual(to other: CheckedPIN) -> Bool { terminated.isEqual(to: other.terminated) }

  /// The PIN for C, for the duration of `body`.
  func withCString<R>(_ body: (UnsafePointer<CChar>?) -> R) -> R {
    terminated.withUnsafeBytes { body($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
  }

  /// The left half of the PIN's SHA-256, 16 bytes: what is sent to a key, encrypted (CTAP 2.1 section 6.5.5.7).
  func leftHash() -> SecretBytes {
    var hash = SHA256.secretHash(terminated.slice(0..<(terminated.count - 1)))
    hash.truncate(to: 16)
    return hash
  }

  /// Normalisation Form C, from locked memory into locked memory. ASCII is in it already.
  private static func normalised(_ pin: borrowing SecretBytes) throws(SecurityKeyError) -> SecretBytes {
    let isPlain = pin.withUnsafeBytes { $0.allSatisfy { $0 < 0x80 } }
    if isPlain { return pin.clone() }
    // Form C can be three times as long at most (Unicode Standard Annex 15, table 9).
    guard pin.count <= 128, pin.withUnsafeBytes({ isUTF8($0) }) else { throw .pinUnusable }
    var length = 3 * 128
    var isDone = false
    var normal = SecretBytes(count: length) { room in
      isDone = pin.withUnsafeBytes { cunistring_nfc($0.baseAddress, $0.count, room.baseAddress, &length) } == 1
    }
    guard isDone, length <= normal.count else { throw .pinUnusable }
    normal.truncate(to: length)
    return normal
  }

  /// Validates in place: a String would leave copies behind.
  private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue: continue
      case .emptyInput: return true
      case .error: return false
      }
    }
  }
}
