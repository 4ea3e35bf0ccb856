// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// CBOR, JSON, DER, and what WebAuthn builds of them.
extension FuzzTarget {
  static let dataTargets: [FuzzTarget] = [
    FuzzTarget(
      "cbor", ["WebAuthnCore/CBOR/"],
      seeds: { $0.registrations.map(\.attestationObject) + $0.infos + [[0xa0], [0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]] }
    ) { input in
      if let item = attempt({ () throws(CBORError) in try CBORDecoder.decodeAll(input) }) {
        let written = CBORValue.encode(item.rewritten)
        let second = again("CBOR") { () throws(CBORError) in try CBORDecoder.decodeAll(written) }
        must(CBORValue.encode(second.rewritten) == written, "canonical CBOR changes when it is written again")
        LibcborComparison.compare(item, input)
      }
      let strict = attempt { () throws(CBORError) in try CBORDecoder.decodeAll(input, profile: .seal) }
      if strict != nil {
        must(
          attempt { () throws(CBORError) in try CBORDecoder.decodeAll(input) } != nil,
          "what Seal's profile reads, the wider one reads")
      }
    },
    FuzzTarget("json", ["WebAuthnCore/JSON/", "WebAuthnCore/Encoding.swift"], seeds: { $0.jsonTexts }) { input in
      guard let value = attempt({ () throws(JSONError) in try JSONReader.parse(input) }) else { return }
      for style in [JSONWriter.Style.compact, .sorted, .sortedPretty, .readable] {
        let written = JSONWriter.write(value, style)
        let second = again("JSON") { () throws(JSONError) in try JSONReader.parse(written) }
        must(JSONWriter.write(second, style) == written, "JSON changes when it is written again")
      }
      // Two layouts of one value mean the same.
      let flat = JSONWriter.write(value, .sorted)
      let round = again("JSON") { () throws(JSONError) in try JSONReader.parse(JSONWriter.write(value, .sortedPretty)) }
      must(JSONWriter.write(round, .sorted) == flat, "layout changes meaning")
    },
    FuzzTarget(
      "encoding", ["WebAuthnCore/Encoding.swift", "WebAuthnCore/PrintableText.swift"], limit: 512,
      seeds: { _ in ["00ff", "AbCd", "AAECAw==", "AAEC-_8", "\u{1b}[31m\u{202e}"].map { Array($0.utf8) } }
    ) { input in
      let text = String(decoding: input, as: UTF8.self)
      if let bytes = Hex.decode(text) { must(Hex.encode(bytes) == text.lowercased(), "hexadecimal") }
      for form in [Base64.Form.standard, .url] {
        if let bytes = Base64.decode(text, form) { must(Base64.encode(bytes, form) == text, "base64 has one form") }
      }
      must(Hex.decode(Hex.encode(input)) == input, "hexadecimal of any bytes")
      must(Base64.decode(Base64.encode(input, .url), .url) == input, "base64 of any bytes")
      must(text.printable.printable == text.printable, "printable text is printable")
    },
    FuzzTarget("client-data", ["WebAuthnCore/ClientData.swift"], seeds: { $0.clientData }) { input in
      guard let data = attempt({ () throws(ClientDataError) in try ClientData(parsing: input) }) else { return }
      must(data.json == input, "client data keeps its bytes")
      guard let type = ClientData.CeremonyType(rawValue: data.type),
        let challenge = Base64.decode(data.challenge, .url), let origin = data.origin
      else { return }
      let made = ClientData(
        type: type, challenge: challenge, origin: origin, crossOrigin: data.crossOrigin ?? false)
      let second = again("client data") { () throws(ClientDataError) in try ClientData(parsing: made.json) }
      must(second.type.isExactly(data.type) && second.challenge.isExactly(data.challenge), "client data")
      must(second.origin?.isExactly(origin) == true, "the origin survives being written")
    },
    FuzzTarget(
      "authenticator-data", ["WebAuthnCore/AuthenticatorData.swift"], seeds: { $0.authenticatorData }
    ) { input in
      guard let data = attempt({ () throws(AuthenticatorDataError) in try AuthenticatorData(parsing: input) }) else {
        return
      }
      // Every byte has its place: put together again, the parts are the input.
      var parts = data.rpIdHash + [data.flags.rawValue] + withUnsafeBytes(of: data.signCount.bigEndian, Array.init)
      if let new = data.attestedCredentialData {
        let count = new.credentialID.count
        parts += new.aaguid + [UInt8(count >> 8), UInt8(count & 255)] + new.credentialID + new.publicKeyBytes
        _ = attempt { () throws(COSEKeyError) in try CredentialPublicKey(cose: new.publicKeyItem) }
      }
      if let map = data.extensions { parts += input[map.range] }
      must(parts == input, "authenticator data is the sum of its parts")
      _ = data.flags.summary
    },
    FuzzTarget("cose", ["WebAuthnCore/COSEKey.swift"], limit: 2048, seeds: { $0.coseKeys }) { input in
      guard let item = attempt({ () throws(CBORError) in try CBORDecoder.decodeAll(input) }),
        let key = attempt({ () throws(COSEKeyError) in try CredentialPublicKey(cose: item) })
      else { return }
      must(!key.isValidSignature([0x30, 6, 2, 1, 1, 2, 1, 1], for: [1]), "no key signed this")
      _ = key.formatFault(of: input)
      guard case .es256(let point) = key else { return }
      let written = CBORValue.encode(CredentialPublicKey.cose(es256: point))
      let second = again("COSE") { () throws(CBORError) in try CBORDecoder.decodeAll(written) }
      must(
        again("COSE") { () throws(COSEKeyError) in try CredentialPublicKey(cose: second) } == key, "a COSE key stays")
    },
    FuzzTarget(
      "der", ["CryptoCore/DERItem.swift", "CryptoCore/ECDSASignature.swift"], limit: 2048,
      seeds: { $0.signatures + $0.certificates }
    ) { input in
      for size in [32, 48, 66] {
        if let signature = attempt({ () throws(SignatureFormatError) in
          try ECDSASignature(derRepresentation: input, byteCount: size)
        }) {
          must(signature.derRepresentation == input, "a signature has one DER form")
          must(signature.rawRepresentation.count == 2 * size, "r and s have the curve's size")
        }
      }
      func walk(_ item: DERItem, _ depth: Int) -> Int {
        _ = item.smallInteger
        guard depth < 64 else { return 1 }
        return 1 + (item.children ?? []).reduce(0) { $0 + walk($1, depth + 1) }
      }
      if let items = DERItem.sequence(input) {
        must(items.reduce(0) { $0 + walk($1, 0) } <= input.count + 1, "every element takes a byte at least")
      }
    },
    FuzzTarget(
      "certificate", ["CryptoCore/Certificate.swift", "CryptoCore/CertificatePath.swift"], limit: 4096,
      seeds: { $0.certificates }
    ) { input in
      guard
        let certificate = attempt({ () throws(CertificateError) in try Certificate(derRepresentation: input) })
      else { return }
      _ = (certificate.version, certificate.isAuthority, certificate.notAfter, certificate.notBefore)
      _ = certificate.subject.text + certificate.issuer.text
      for oid in ["1.3.6.1.4.1.45724.1.1.4", "2.5.29.17", "1.2.840.113635.100.8.2"] { _ = certificate.extension(oid) }
      for scheme in [Certificate.SignatureScheme.es256, .es384, .es512, .edDSA, .rs256, .rs1] {
        must(!certificate.isValidSignature([1, 2, 3], for: [4], scheme), "no certificate signed this")
      }
      _ = attempt { () throws(CertificateError) in
        try CertificatePath.verify([certificate], roots: [certificate], at: 1_800_000_000)
      }
    },
  ]
}
