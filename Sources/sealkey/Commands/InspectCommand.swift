// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let inspect = Command(
    "inspect", "Decode and explain WebAuthn, COSE, CTAP or Seal bytes.", operands: ["FILE|-|HEX|BASE64"],
    examples: ["sealkey inspect a36366...", "sealkey inspect getinfo.bin --json"]
  ) { invocation in
    let input = try invocation.operand("What to inspect")
    // A file that another command reads is not taken for bytes; one with secrets in it is not read at all.
    if access(input, F_OK) == 0, let found = FileKind.of(input), !found.kind.isArtefact {
      throw WrongFile(path: input, what: found.what, wanted: "a file of WebAuthn, COSE or CTAP bytes", use: found.use)
    }
    let bytes = try read(input)
    if let artefact = try? Artefact(parsing: bytes) { return explain(artefact) }
    guard let explanation = Explainer.explain(bytes) else {
      throw InspectError.unknownBytes(count: bytes.count, broken: brokenOff(bytes))
    }
    var lines = [explanation.kind + ", \(bytes.count) bytes"]
    for field in explanation.fields {
      let place = field.offset.map { String($0) } ?? ""
      let meaning = field.meaning.isEmpty ? "" : "  (\(field.meaning))"
      lines.append(
        String(repeating: " ", count: max(0, 6 - place.count))
          + "\(place)  \(field.name): \(shown(field.value))\(meaning)")
    }
    if let key = explanation.publicKey { lines.append("P-256 public key: \(Hex.encode(key))") }
    if let fault = explanation.fault {
      lines.append("Wrong with it: \(fault.message)\(fault.offset.map { " (at byte \($0))" } ?? "") [\(fault.name)]")
    }
    return Outcome(text: lines.joined(separator: "\n"), json: explanation.json, code: explanation.fault == nil ? 0 : 1)
  }

  /// Where bytes that begin as a map of CBOR, by itself or in a CTAP reply (status 0 in front), stop to be one.
  private static func brokenOff(_ bytes: [UInt8]) -> CBORError? {
    let start = bytes.first == 0 ? 1 : 0
    guard bytes.count > start, bytes[start] & 0xE0 == 0xA0 else { return nil }
    do throws(CBORError) {
      let end = try CBORDecoder.decode(bytes, at: start).range.upperBound
      return end < bytes.count ? .trailingBytes(offset: end) : nil
    } catch { return error }
  }

  /// The longest value that is shown whole: that of a certificate, and of a post-quantum key.
  private static let longest = 8192

  private static func shown(_ value: String) -> String {
    let rest = value.unicodeScalars.count - longest
    guard rest > 0 else { return value }
    return String(String.UnicodeScalarView(value.unicodeScalars.prefix(longest)))
      + " ... (\(rest) more; --json has all)"
  }

  private static func explain(_ artefact: Artefact) -> Outcome {
    var lines = ["\(artefact.kind.rawValue)\(artefact.isSimulated ? " (simulated)" : ""), a file of Seal's"]
    let json = try? JSONReader.parse(artefact.seal)
    for member in json?.object ?? [] {
      lines.append(
        "  \(member.name): \(String(decoding: artefact.seal[member.value.range].prefix(160), as: UTF8.self))")
    }
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        ("kind", .string(artefact.kind.rawValue)), ("simulated", .bool(artefact.isSimulated)), ("seal", json),
      ]))
  }

  /// A file, stdin, or the bytes themselves in one of three encodings. A file's text in an encoding is decoded too.
  private static func read(_ input: String) throws -> [UInt8] {
    if input == "-" { return decoded(try AtomicFile.readStandardInput()) }
    if access(input, F_OK) == 0 { return decoded(try AtomicFile.read(input)) }
    guard let bytes = text(input) else { throw FileError.notFound(path: input) }
    return bytes
  }

  private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.first != UInt8(ascii: "{"), let string = String(validating: bytes, as: UTF8.self),
      let found = text(string.filter { !$0.isWhitespace })
    else { return bytes }
    return found
  }

  private static func text(_ string: String) -> [UInt8]? {
    guard !string.isEmpty else { return nil }
    return Hex.decode(string) ?? Base64.decode(string) ?? Base64.decode(string, .url)
  }
}

/// Why bytes could not be explained.
enum InspectError: NamedError, Hashable {
  case unknownBytes(count: Int, broken: CBORError?)

  var name: String { "unknownBytes" }
  var offset: Int? { if case .unknownBytes(_, let broken?) = self { broken.offset } else { nil } }
  var message: String {
    if case .unknownBytes(0, _) = self { return "There is nothing to inspect: the input is empty." }
    if case .unknownBytes(_, let broken?) = self {
      return "These bytes begin as a map of CBOR and do not go on as one. \(broken.message)"
    }
    return "These bytes are nothing that sealkey knows."
  }
  var next: String {
    "Give an attestation object, authenticator data, client data, a COSE key, getInfo or a file of Seal's."
  }
}
