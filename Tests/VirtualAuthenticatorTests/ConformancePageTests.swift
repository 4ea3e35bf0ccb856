// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import Testing

/// docs/CONFORMANCE.md names tests; each must be there.
@Suite("Conformance page")
struct ConformancePageTests {
  private static let root: String = {
    var parts = #filePath.split(separator: "/")
    parts.removeLast(3)
    return "/" + parts.joined(separator: "/")
  }()

  private static func text(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func sources(_ folder: String, _ suffix: String) -> String {
    guard let directory = opendir(folder) else { return "" }
    defer { closedir(directory) }
    var all = ""
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasSuffix(suffix) { all += text("\(folder)/\(name)") }
    }
    return all
  }

  /// What stands between straight double quotes in the table rows and the last paragraph.
  private static func quoted(_ page: String) -> [String] {
    let parts = page.split(separator: "\"", omittingEmptySubsequences: false)
    return stride(from: 1, to: parts.count, by: 2).map { parts[$0].split(separator: "\n").joined(separator: " ") }
  }

  @Test("every test that the conformance page names is there")
  func names() {
    let page = Self.text("\(Self.root)/docs/CONFORMANCE.md")
    let tests =
      Self.sources("\(Self.root)/Tests/VirtualAuthenticatorTests", ".swift")
      + Self.sources("\(Self.root)/Tests/CTAPWireTests", ".swift")
    let named = Self.quoted(page)
    #expect(named.count > 100)
    for name in Set(named) {
      #expect(
        ["@Test(\"\(name)\"", "@Suite(\"\(name)\")", "    \"\(name)\","].contains { tests.contains($0) },
        "\(name)")
    }
  }

  @Test("every scenario of the independent client that it names is there")
  func scenarios() {
    let page = Self.text("\(Self.root)/docs/CONFORMANCE.md")
    let client = Self.text("\(Self.root)/Tests/Integration/python/client.py")
    let named = page.split(separator: "Client: ").dropFirst().map {
      $0.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    }
    #expect(named.count > 10)
    for name in Set(named) {
      let isThere = client.contains("\ndef \(name)(port):")
      #expect(isThere, "\(name)")
    }
  }
}
