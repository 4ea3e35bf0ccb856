// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// The atlas as one self-contained page: no script, nothing from a network, readable on a phone and on paper.
public enum AtlasPage {
  /// The page of some predictions.
  /// - Parameters:
  ///   - number: the metadata's own number.
  ///   - nextUpdate: when it is to be replaced.
  public static func html(_ predictions: [Prediction], number: Int64, nextUpdate: String) -> String {
    let counts = [Prediction.Outcome.works, .worksWithPIN, .fails, .unknown].map { outcome in
      (outcome, predictions.count { $0.outcome == outcome })
    }.filter { $0.1 > 0 }
    return """
      \(MatrixPage.head("An atlas of published keys", style: MatrixPage.style + "\n" + style))
      <h1>An atlas of published keys</h1>
      <p class="practice"><strong>Predicted from published data. No hardware was touched.</strong></p>
      <p>Each model's getInfo, as its maker published it in the FIDO Metadata Service (number \(number), to be replaced on
      \(MatrixPage.escaped(nextUpdate))), was given to a virtual key, and Seal's ceremonies were run on it. <em>Works</em> says
      that they work with such a getInfo, not that a key of that model was ever in our hands.</p>
      <ul>
      \(counts.map { "<li>\(mark($0.0)): \($0.1)</li>" }.joined(separator: "\n"))
      </ul>
      <table class="atlas">
      <thead><tr><th scope="col">Model</th><th scope="col">Firmware</th><th scope="col">Prediction</th>\
      <th scope="col">Commands for 1,000 ids</th><th scope="col">Why, and what else</th></tr></thead>
      <tbody>
      \(predictions.map(row).joined(separator: "\n"))
      </tbody>
      </table>
      </body>
      </html>

      """
  }

  private static func row(_ p: Prediction) -> String {
    let firmware = p.model.info.firmwareVersion.map { "\($0)" } ?? "–"
    return
      "<tr><th scope=\"row\">\(MatrixPage.escaped(p.model.name))<br><small>\(Hex.encode(p.model.aaguid))</small></th>"
      + "<td data-name=\"Firmware\">\(firmware)</td>"
      + "<td data-name=\"Prediction\" class=\"\(cssClass(p.outcome))\">\(mark(p.outcome))</td>"
      + "<td data-name=\"Commands for 1,000 ids\">\(p.probes.map { "\($0)" } ?? "–")</td>"
      + "<td data-name=\"Why\">\(p.reasons.map(MatrixPage.escaped).joined(separator: "<br>"))</td></tr>"
  }

  private static func mark(_ outcome: Prediction.Outcome) -> String {
    switch outcome {
    case .works: "✓ works"
    case .worksWithPIN: "✓ works with PIN"
    case .fails: "✗ fails"
    case .unknown: "– unknown"
    }
  }

  private static func cssClass(_ outcome: Prediction.Outcome) -> String {
    switch outcome {
    case .works: "works"
    case .worksWithPIN: "sometimes"
    case .fails: "fails"
    case .unknown: "notDone"
    }
  }

  private static let style = """
    .atlas th[scope=row] { font-weight: 600; } .atlas small { font-weight: 400; overflow-wrap: anywhere; }
    @media screen and (max-width: 40rem) {
      .atlas, .atlas tbody, .atlas tr, .atlas th, .atlas td { display: block; } .atlas thead { display: none; }
      .atlas tr { margin-bottom: 1rem; } .atlas th, .atlas td { border-bottom: 0; } .atlas tr { border-bottom: 1px solid #999; }
      .atlas td::before { content: attr(data-name) ": "; font-weight: 600; } }
    """
}
