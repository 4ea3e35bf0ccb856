// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import InteropMatrix
import SealCeremonies
import SealFormats
import WebAuthnCore

extension MatrixVerb {
  func atlas() async throws -> Outcome {
    guard let file = invocation.options["metadata"] else { throw MatrixFileError.noMetadata }
    let out = try invocation.required("out")
    let metadata = try metadata(file)
    let found = try PublishedModel.all(payload: metadata.payload, at: timeLimit)
    invocation.say(
      metadata.signer.map { "The metadata is signed by \($0)." }
        ?? "The metadata is a decoded payload: nobody vouches for it.")
    invocation.say("Predicting \(found.models.count) models from published data. No hardware is touched.")
    let predictions = await Atlas.predict(found.models)
    let page = Atlas.markdown(predictions, number: found.number, nextUpdate: found.nextUpdate)
    try invocation.write(Array(page.utf8), to: out)
    if let page = invocation.options["page"] {
      let html = AtlasPage.html(predictions, number: found.number, nextUpdate: found.nextUpdate)
      try invocation.write(Array(html.utf8), to: page)
    }
    func count(_ outcome: Prediction.Outcome) -> Int { predictions.count { $0.outcome == outcome } }
    let (works, withPIN, fails) = (count(.works), count(.worksWithPIN), count(.fails))
    return Outcome(
      text: "Wrote \(out): \(works) models work, \(withPIN) work with a PIN, \(fails) fail.".printable,
      json: .object([
        ("file", .string(out)), ("models", .int(predictions.count)), ("works", .int(works)),
        ("worksWithPIN", .int(withPIN)), ("fails", .int(fails)), ("metadataNumber", .int(found.number)),
        ("signer", metadata.signer.map { .string($0) }), ("page", invocation.options["page"].map { .string($0) }),
      ]))
  }

  /// The metadata in a file, its signature checked where it has one.
  func metadata(_ file: String) throws -> MetadataFile {
    var trust = MetadataFile.Trust.fido
    if let root = invocation.options["root"] {
      trust = .init(roots: [try Certificate(derRepresentation: AtomicFile.read(root, limit: 1 << 16))], host: nil)
    }
    let bytes = try AtomicFile.read(file, limit: 64 << 20)
    return try FileKind.reading(file, as: [], "a file of the FIDO Metadata Service") {
      try MetadataFile(bytes, trust: trust, at: timeLimit)
    }
  }

  var timeLimit: Int64? { invocation.options.has("expired-ok") ? nil : invocation.now }
}
