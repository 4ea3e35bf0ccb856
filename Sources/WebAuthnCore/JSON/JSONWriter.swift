// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Writes JSON as Swift's JSONEncoder does: `/` becomes `\/`, and the pretty form puts ` : ` between name and value.
public enum JSONWriter {
  /// How the text is laid out.
  public struct Style: Sendable {
    /// Members in the order of their names' UTF-8 bytes, or as given.
    public var sortsMembers: Bool
    /// On many lines with two spaces a level, or on one.
    public var isPretty: Bool
    /// Write `\/` for `/`.
    public var escapesSlashes: Bool
    /// Any combination.
    public init(sortsMembers: Bool = false, isPretty: Bool = false, escapesSlashes: Bool = true) {
      self.sortsMembers = sortsMembers
      self.isPretty = isPretty
      self.escapesSlashes = escapesSlashes
    }
    /// One line, members as given.
    public static let compact = Style()
    /// One line, members sorted: Seal's payloads.
    public static let sorted = Style(sortsMembers: true)
    /// Many lines, members sorted: Seal's capsules.
    public static let sortedPretty = Style(sortsMembers: true, isPretty: true)
    /// Many lines, members as given, slashes plain: for people.
    public static let readable = Style(isPretty: true, escapesSlashes: false)
  }

  /// The UTF-8 text of `value`.
  public static func write(_ value: JSONValue, _ style: Style = .compact) -> [UInt8] {
    var out: [UInt8] = []
    append(value, style, 0, &out)
    return out
  }

  private static func append(_ value: JSONValue, _ style: Style, _ depth: Int, _ out: inout [UInt8]) {
    switch value.kind {
    case .null: out += "null".utf8
    case .bool(let b): out += (b ? "true" : "false").utf8
    case .number(let n): out += n.utf8
    case .string(let s): append(s, style, &out)
    case .array(let a):
      list("[", "]", a, style, depth, &out) { append($0, style, depth + 1, &$1) }
    case .object(let members):
      let ordered =
        style.sortsMembers
        ? members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) } : members
      list("{", "}", ordered, style, depth, &out) { member, out in
        append(member.name, style, &out)
        out += (style.isPretty ? " : " : ":").utf8
        append(member.value, style, depth + 1, &out)
      }
    }
  }

  private static func list<Element>(
    _ open: String, _ close: String, _ elements: [Element], _ style: Style, _ depth: Int, _ out: inout [UInt8],
    _ each: (Element, inout [UInt8]) -> Void
  ) {
    func line(_ depth: Int, _ out: inout [UInt8]) {
      guard style.isPretty else { return }
      out.append(0x0a)
      out += [UInt8](repeating: 0x20, count: depth * 2)
    }
    out += open.utf8
    if elements.isEmpty, style.isPretty { out.append(0x0a) }
    for (i, element) in elements.enumerated() {
      if i > 0 { out.append(UInt8(ascii: ",")) }
      line(depth + 1, &out)
      each(element, &out)
    }
    line(depth, &out)
    out += close.utf8
  }

  private static func append(_ text: String, _ style: Style, _ out: inout [UInt8]) {
    out.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): out += #"\""#.utf8
      case UInt8(ascii: "\\"): out += #"\\"#.utf8
      case UInt8(ascii: "/") where style.escapesSlashes: out += #"\/"#.utf8
      case 8: out += #"\b"#.utf8
      case 9: out += #"\t"#.utf8
      case 10: out += #"\n"#.utf8
      case 12: out += #"\f"#.utf8
      case 13: out += #"\r"#.utf8
      case 0..<0x20: out += "\\u00\(Hex.encode([byte]))".utf8
      default: out.append(byte)
      }
    }
    out.append(UInt8(ascii: "\""))
  }
}
