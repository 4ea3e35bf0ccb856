// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SecurityKeys

/// Where a PIN comes from. It goes from the descriptor into locked memory and nowhere else.
enum PINEntry {
  /// Asks on the terminal without echo, or reads `descriptor`.
  static func provider(_ descriptor: Int32?, isQuiet: Bool) -> PINProvider {
    { request in
      if let descriptor { return try line(descriptor) }
      return try terminal(request)
    }
  }

  /// Asks for a new PIN: twice on a terminal, once from a descriptor.
  static func newPIN(_ descriptor: Int32?) -> PINProvider {
    { request in
      if let descriptor { return try line(descriptor) }
      let first = try terminal(request, "New PIN of")
      let second = try terminal(request, "The same PIN again, of")
      guard first.isEqual(to: second) else { throw PINCommandError.differs }
      return first
    }
  }

  /// One line from a descriptor.
  private static func line(_ descriptor: Int32) throws(PINEntryError) -> SecretBytes {
    var failure: PINEntryError?
    var total = 0
    // A PIN has at most 63 bytes; one more shows that it is too long.
    var pin = SecretBytes(count: 65) { room in
      while total < room.count {
        let count = read(descriptor, room.baseAddress.map { $0 + total }, 1)
        if count < 0, errno == EINTR { continue }
        if count < 0 { failure = .unreadable(errno: errno) }
        if count <= 0 || room[total] == 0x0a { break }
        total += 1
      }
    }
    if let failure { throw failure }
    pin.truncate(to: total)
    guard total > 0 else { throw .empty }
    return pin
  }

  private static func terminal(_ request: PINRequest, _ what: String = "PIN of") throws -> SecretBytes {
    do {
      let terminal = try Terminal()
      let tries = request.triesLeft.map { $0 == 1 ? ", 1 try left" : ", \($0) tries left" } ?? ""
      terminal.write("\(what) \(request.keyName) (at least \(request.minimumLength) characters\(tries)): ")
      // A PIN has at most 63 bytes; one more shows that it is too long.
      let pin = try terminal.line(limit: 65, hidden: true)
      guard pin.count > 0 else { throw PINEntryError.empty }
      return pin
    } catch TerminalError.absent { throw SecurityKeyError.pinRequired } catch TerminalError.interrupted {
      throw CancellationError()
    } catch TerminalError.ended { throw PINEntryError.empty }
  }
}

/// A PIN for the acts of one run: asked for once, kept in locked memory, wiped when the run lets go of it.
actor RememberedPIN {
  private final class Box: Sendable {
    let pin: SecretBytes
    init(_ pin: consuming SecretBytes) { self.pin = pin }
  }

  private let provider: PINProvider
  private var box: Box?

  init(_ provider: @escaping PINProvider) { self.provider = provider }

  func ask(_ request: PINRequest) async throws -> SecretBytes {
    if let box { return box.pin.clone() }
    let asked = Box(try await provider(request))
    box = asked
    return asked.pin.clone()
  }
}

/// Why no PIN came.
enum PINEntryError: NamedError, Hashable {
  /// Nothing was typed.
  case empty
  /// The descriptor cannot be read.
  case unreadable(errno: Int32)

  var name: String {
    switch self {
    case .empty: "pinEmpty"
    case .unreadable: "pinUnreadable"
    }
  }
  var message: String {
    switch self {
    case .empty: "No PIN was given, so nothing was tried."
    case .unreadable(let code): "The PIN could not be read: \(String(cString: strerror(code)))."
    }
  }
  var next: String { "Run the command again and give the PIN." }
  var kind: FaultKind { .userVerification }
}
