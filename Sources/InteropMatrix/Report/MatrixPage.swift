// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// One self-contained page: no script, nothing from a network, readable on a phone and on paper.
public enum MatrixPage {
  /// The page of some runs. Simulated runs are marked wherever they stand.
  public static func html(_ runs: [MatrixSheet.Run]) -> String {
    let sections = runs.enumerated().map { section($1, number: $0 + 1) }.joined()
    let hasPractice = runs.contains { !SimulationSigns.of($0.record).isEmpty }
    return """
      \(head("Security keys and Seal", style: style))
      <h1>Security keys and Seal</h1>
      \(hasPractice ? "<p class=\"practice\">Some of these runs were made with virtual keys, for practice. Each says so.</p>\n" : "")<p>\(introduction(runs))</p>
      \(runs.isEmpty ? "" : table(runs))\(differences(runs))\(sections)</body>
      </html>

      """
  }

  private static func introduction(_ runs: [MatrixSheet.Run]) -> String {
    let real = runs.count { SimulationSigns.of($0.record).isEmpty }
    return real == 0
      ? "No real key has been measured yet."
      : "\(real) \(real == 1 ? "run" : "runs") of real keys. Each cell follows from recorded bytes."
  }

  // MARK: - The table

  private static func table(_ runs: [MatrixSheet.Run]) -> String {
    let heads = ["Key", "Firmware", "PIN set?", "Transport"] + MatrixStep.allCases.map(\.title)
    let rows = runs.enumerated().map { number, run in
      let sheet = run.record.cells.sheet
      let evaluation = Evaluation(run.record)
      let facts =
        ["<a href=\"#run\(number + 1)\">\(escaped(sheet[0]))</a>\(badge(run))"]
        + sheet[1...3].map(escaped)
      let cells = MatrixStep.allCases.map { step -> String in
        let name = escaped(step.title)
        guard let finding = evaluation.finding(step) else {
          return "<td class=\"notDone\" data-name=\"\(name)\">– not run</td>"
        }
        return "<td class=\"\(finding.mark.rawValue)\" data-name=\"\(name)\">\(result(finding))</td>"
      }
      let first = zip(heads, facts).map { "<td data-name=\"\($0)\">\($1)</td>" }
      return "<tr>" + first.joined() + cells.joined() + "</tr>\n"
    }
    return """
      <h2>All runs</h2>
      <table class="runs">
      <thead><tr>\(heads.map { "<th scope=\"col\">\(escaped($0))</th>" }.joined())</tr></thead>
      <tbody>
      \(rows.joined())</tbody>
      </table>

      """
  }

  /// The sign and its word, and why, where there is a why.
  private static func result(_ finding: StepFinding) -> String {
    "\(escaped(finding.mark.sign)) \(finding.mark.word)"
      + (finding.reason.map { "<br><small>\(escaped($0))</small>" } ?? "")
  }

  private static func badge(_ run: MatrixSheet.Run) -> String {
    SimulationSigns.of(run.record).isEmpty ? "" : " <strong class=\"practice\">simulated</strong>"
  }

  // MARK: - One key

  private static func section(_ run: MatrixSheet.Run, number: Int) -> String {
    let record = run.record
    let evaluation = Evaluation(record)
    let cells = record.cells
    var facts: [(String, String)] = [
      ("Firmware", record.firmwareText), ("Transport", record.key.transportName),
      ("PIN set?", cells.sheet[2]),
      ("Begun", MatrixDate.text(record.startedAt)), ("Algorithm, curve, x, y", cells.sheet[5]),
      ("Limits", cells.further[2]), ("PRF equality", cells.further[3]),
      ("Attestation", cells.further[5]),
      ("State after", cells.further[6]), ("Record", run.file),
    ]
    if let info = evaluation.info {
      facts.append(("AAGUID", Hex.encode(info.aaguid)))
      facts.append(("Versions", info.versions.joined(separator: ", ")))
      facts.append(("Extensions", info.extensions.joined(separator: ", ")))
      facts.append(
        (
          "Options",
          info.options.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value ? "yes" : "no")" }
            .joined(separator: ", ")
        ))
    }
    if let tester = record.tester { facts.append(("Tester", tester)) }
    let host = record.hosts.map {
      "\($0.kernel), libfido2 \($0.libfido2)\($0.pcscd.map { ", pcscd \($0)" } ?? "")"
    }
    facts.append(("Computers", host.joined(separator: "; ")))
    let rows = evaluation.findings.map { finding in
      let notes = finding.notes.map { note in
        FailurePattern.explanation(of: note).map { "\(note): \($0)" } ?? note
      }
      let why = ([finding.explanation].compactMap { $0 } + notes).map(escaped).joined(separator: "<br>")
      return "<tr><th scope=\"row\">\(escaped(finding.step.title))</th>"
        + "<td class=\"\(finding.mark.rawValue)\">\(result(finding))</td>"
        + "<td><code>\(escaped(finding.telemetry ?? "–"))</code></td><td>\(why)</td></tr>\n"
    }
    return """
      <section id="run\(number)">
      <h2>\(escaped(record.key.name))\(badge(run))</h2>
      <dl>
      \(facts.map { "<dt>\(escaped($0))</dt><dd>\(escaped($1))</dd>" }.joined(separator: "\n"))
      </dl>
      <div class="wide"><table>
      <thead><tr><th scope="col">Step</th><th scope="col">Result</th><th scope="col">Seal's log line</th><th scope="col">What it points to</th></tr></thead>
      <tbody>
      \(rows.joined())</tbody>
      </table></div>
      \(plot(evaluation))</section>

      """
  }

  /// A bar for each step: to the first sign that a touch is wanted, and on to the answer.
  private static func plot(_ evaluation: Evaluation) -> String {
    let timed = evaluation.findings.filter { $0.duration != nil && $0.step != .cancel }
    guard let longest = timed.compactMap(\.duration).max(), longest > 0 else { return "" }
    let height = timed.count * 18
    let bars = timed.enumerated().map { row, finding -> String in
      let duration = finding.duration ?? 0
      let first = min(finding.firstKeepalive ?? duration, duration)
      let (wait, all) = (first * 300 / longest, duration * 300 / longest)
      return """
        <text x="0" y="\(row * 18 + 13)">\(escaped(finding.step.title))</text>
        <rect class="first" x="230" y="\(row * 18 + 3)" width="\(max(1, wait))" height="12"/>
        <rect class="rest" x="\(230 + wait)" y="\(row * 18 + 3)" width="\(max(0, all - wait))" height="12"/>
        <text x="\(236 + max(1, all))" y="\(row * 18 + 13)">\(duration) ms</text>

        """
    }
    return """
      <h3>Times</h3>
      <p><small>Dark: until the key first asked for a touch. Light: until its answer, the person's time included.</small></p>
      <svg role="img" aria-label="Milliseconds for each step" viewBox="0 0 620 \(height)">
      \(bars.joined())</svg>

      """
  }

  // MARK: - Differences

  /// Runs of one model side by side: two firmware versions, or two transports.
  private static func differences(_ runs: [MatrixSheet.Run]) -> String {
    var found = ""
    for (number, second) in runs.enumerated() {
      let aaguid = Evaluation(second.record).info?.aaguid
      let isPractice = !SimulationSigns.of(second.record).isEmpty
      let earlier = runs[..<number].last { run in
        // All virtual keys have one AAGUID; their models have names.
        Evaluation(run.record).info?.aaguid == aaguid && (!isPractice || run.record.key.name == second.record.key.name)
      }
      guard aaguid != nil, let first = earlier else { continue }
      let lines = RunDifference(first.record, second.record).differences
      guard !lines.isEmpty else { continue }
      let rows = lines.map {
        "<tr><th scope=\"row\">\(escaped($0.what))</th><td>\(escaped($0.first))</td><td>\(escaped($0.second))</td></tr>\n"
      }
      found += """
        <h3>\(escaped(second.record.key.name))</h3>
        <div class="wide"><table>
        <thead><tr><th scope="col">What</th><th scope="col">\(escaped(first.file))</th><th scope="col">\(escaped(second.file))</th></tr></thead>
        <tbody>
        \(rows.joined())</tbody>
        </table></div>

        """
    }
    return found.isEmpty ? "" : "<h2>Differences between runs of one model</h2>\n" + found
  }
}
