// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// The one strict JSON reader of the package.
///
/// FoundationEssentials keeps the first of two members with the same name and Python the last, so a file could mean
/// two things; here it is refused. So are a byte-order mark, half surrogates, and anything after the value.
public enum JSONReader {
  /// What is let in.
  public struct Limits: Sendable {
    /// The deepest nesting; the top value has depth 0.
    public var maximumDepth: Int
    /// The largest input in bytes.
    public var maximumByteCount: Int
    /// Limits for anything a key, a browser or a person hands over.
    public static let standard = Limits(maximumDepth: 32, maximumByteCount: 16 << 20)
    /// Other limits.
    public init(maximumDepth: Int, maximumByteCount: Int) {
      self.maximumDepth = maximumDepth
      self.maximumByteCount = maximumByteCount
    }
  }

  /// The one value that `input` is.
  /// - Throws: ``JSONError``.
  public static func parse(_ input: [UInt8], limits: Limits = .standard) throws(JSONError) -> JSONValue {
    guard input.count <= limits.maximumByteCount else { throw .tooLarge(offset: limits.maximumByteCount) }
    guard !input.starts(with: [0xef, 0xbb, 0xbf]) else { throw .byteOrderMark }
    var scanner = JSONScanner(input: input, maximumDepth: limits.maximumDepth)
    scanner.skipSpace()
    let value = try scanner.value(depth: 0)
    scanner.skipSpace()
    guard scanner.position == input.count else { throw .trailingBytes(offset: scanner.position) }
    return value
  }
}
