// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

extension MatrixPage {
  /// How every page begins, up to and with the beginning of its body.
  static func head(_ title: String, style: String) -> String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(title)</title>
    <style>
    \(style)
    </style>
    </head>
    <body>
    """
  }

  /// Text from a record: it must not become markup.
  static func escaped(_ text: String) -> String {
    var out = ""
    for scalar in text.printable.unicodeScalars {
      switch scalar {
      // Plain signs: a computer without a font of pictures shows boxes for the others, and so does its printer.
      case "\u{2705}": out += "✓"
      case "\u{274C}": out += "✗"
      case "\u{26A0}": out += "!"
      case "\u{FE0F}": break
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "'": out += "&#39;"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }

  static let style = """
    :root { color-scheme: light; }
    body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 90rem; padding: 1rem; color: #1a1a1a; background: #fff; }
    h1, h2, h3 { line-height: 1.2; }
    .wide { overflow-x: auto; }
    table { border-collapse: collapse; font-size: 0.9rem; }
    th, td { border: 1px solid #999; padding: 0.3rem 0.5rem; text-align: left; vertical-align: top; }
    td.works { background: #d9f2dc; } td.sometimes { background: #fff0c2; } td.fails { background: #fbd9d9; } td.notDone { background: #eee; }
    .runs { table-layout: fixed; width: 100%; font-size: 0.75rem; } .runs th, .runs td { padding: 0.25rem; overflow-wrap: anywhere; }
    .runs small { font-size: 0.7rem; } .runs th:first-child { width: 9%; }
    dl { display: grid; grid-template-columns: minmax(7rem, 12rem) 1fr; gap: 0.2rem 1rem; }
    dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
    code { font-size: 0.85rem; overflow-wrap: anywhere; }
    svg { width: 100%; max-width: 40rem; font: 12px system-ui, sans-serif; }
    rect.first { fill: #345; } rect.rest { fill: #9bd; }
    .practice { background: #fff0c2; padding: 0.1rem 0.4rem; border: 1px solid #a80; }
    strong.practice { display: inline-block; }
    @media screen and (max-width: 60rem) {
      .runs, .runs tbody, .runs tr, .runs td { display: block; } .runs thead { display: none; }
      .runs, .runs small { font-size: 0.95rem; } .runs tr { margin-bottom: 1rem; border-bottom: 1px solid #999; } .runs td { border-bottom: 0; }
      .runs td::before { content: attr(data-name) ": "; font-weight: 600; } }
    @media print { @page { size: landscape; margin: 12mm; } body { max-width: none; padding: 0; font-size: 10pt; } .wide { overflow: visible; }
      section { break-before: page; } tr { break-inside: avoid; }
      table { font-size: 8pt; } .runs, .runs small { font-size: 6.5pt; } td, th { padding: 1pt 2pt; print-color-adjust: exact; }
      a { color: inherit; text-decoration: none; } }
    """
}
