// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// What a virtual key has been asked, counted by the key itself.
public final class CommandLog: Sendable {
  /// One request.
  public struct Entry: Sendable, Hashable {
    /// What kind of request.
    public enum Kind: Sendable, Hashable {
      /// A CTAP2 command; nil when the byte is none that this key knows.
      case ctap2(CTAPCommand?)
      /// A U2F APDU, by its instruction byte.
      case u2f(instruction: UInt8)
    }

    /// What kind.
    public let kind: Kind
    /// The subcommand of clientPIN, credentialManagement, bioEnrollment and config.
    public let subcommand: Int?
    /// The request as it came: command byte and map, or the APDU. PINs in it are encrypted.
    public let request: [UInt8]
    /// The CTAP2 status; nil for U2F.
    public internal(set) var status: CTAPStatus?
    /// The U2F status word; nil for CTAP2.
    public internal(set) var statusWord: StatusWord?
    /// How often the person was asked.
    public internal(set) var waits = 0

    /// The CTAP2 command.
    public var command: CTAPCommand? { if case .ctap2(let command) = kind { command } else { nil } }
  }

  private let state = Locked<[Entry]>([])

  /// An empty log.
  public init() {}

  /// Every request since the start or the last ``clear()``.
  public var entries: [Entry] { state.withLock { $0 } }

  /// How many requests of this command there were.
  public func count(_ command: CTAPCommand) -> Int { entries.count { $0.command == command } }

  /// Forgets everything.
  public func clear() { state.withLock { $0 = [] } }

  func append(_ entry: Entry) { state.withLock { $0.append(entry) } }
}
