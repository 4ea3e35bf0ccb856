// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SecurityKeys
import WebAuthnCore

/// Asks for a PIN with a pinentry program: curses, GNOME, Qt or whatever the system has.
struct Pinentry {
  /// Its name, looked for in PATH, or its path.
  let program: String
  /// How long a person may take. A window that nobody sees must not hold the key for ever.
  var patience = Duration.seconds(300)

  /// Words for the person.
  struct Words {
    var description: String
    var prompt = "PIN:"
    var error: String?
    /// Asks for the PIN a second time, where the program can.
    var again: String?
  }

  /// What was typed.
  /// - Throws: ``PinentryError``.
  func ask(_ words: Words) throws(PinentryError) -> SecretBytes {
    let terminal = Self.terminalPath()
    let assuan = try Assuan(program, terminal: terminal)
    for (option, value) in Self.options(terminal) {
      try optional(assuan, "OPTION \(option)=\(AssuanReplies.escaped(value))")
    }
    try optional(assuan, "SETTIMEOUT \(patience.components.seconds)")
    try optional(assuan, "SETTITLE sealkey")
    try assuan.send("SETDESC \(AssuanReplies.escaped(words.description.printableLines))")
    try assuan.send("SETPROMPT \(AssuanReplies.escaped(words.prompt))")
    if let error = words.error { try optional(assuan, "SETERROR \(AssuanReplies.escaped(error.printableLines))") }
    var asksTwice = false
    if let again = words.again {
      asksTwice = try optional(assuan, "SETREPEAT \(AssuanReplies.escaped(again))")
      if asksTwice { try optional(assuan, "SETREPEATERROR \(AssuanReplies.escaped("The two are not the same."))") }
    }
    let pin = try assuan.getPIN(within: patience + .seconds(10))
    guard let again = words.again, !assuan.wasRepeated, pin.count > 0 else { return pin }
    // It takes the command and does not repeat: the curses one is like that.
    try assuan.send("SETPROMPT \(AssuanReplies.escaped(again))")
    if asksTwice { try optional(assuan, "SETREPEAT") }
    let second = try assuan.getPIN(within: patience + .seconds(10))
    guard pin.isEqual(to: second) else { throw .differs }
    return pin
  }

  /// A command that some programs do not know: it is done without then.
  @discardableResult
  private func optional(_ assuan: Assuan, _ command: String) throws(PinentryError) -> Bool {
    do {
      try assuan.send(command)
      return true
    } catch {
      if case .refused = error { return false }
      throw error
    }
  }

  private static func options(_ terminal: String?) -> [(String, String)] {
    func variable(_ names: String...) -> String? {
      names.lazy.compactMap { getenv($0).map { String(cString: $0) } }.first { !$0.isEmpty }
    }
    return [
      ("ttyname", terminal), ("ttytype", variable("TERM")), ("lc-ctype", variable("LC_ALL", "LC_CTYPE", "LANG")),
      ("lc-messages", variable("LC_ALL", "LC_MESSAGES", "LANG")), ("display", variable("DISPLAY")),
      ("wayland-display", variable("WAYLAND_DISPLAY")),
    ].compactMap { name, value in value.map { (name, $0) } }
  }

  /// The terminal that the person sits at, by a name that another program can open.
  private static func terminalPath() -> String? {
    for descriptor: Int32 in [0, 2, 1] {
      var name = [CChar](repeating: 0, count: 256)
      if isatty(descriptor) == 1, ttyname_r(descriptor, &name, name.count) == 0 {
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      }
    }
    if Terminal.isThere { return "/dev/tty" }
    return getenv("GPG_TTY").map { String(cString: $0) }
  }

  /// The pinentry of this system, when a person could see it: there is a display to open a window on.
  static func found() -> Pinentry? { Desktop.program("pinentry").map { Pinentry(program: $0) } }
}
