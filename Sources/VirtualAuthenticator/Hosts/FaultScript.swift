// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// One thing that goes wrong, and when.
public struct Fault: Sendable, Hashable {
  /// Which way a packet goes.
  public enum Direction: Sendable, Hashable, CaseIterable {
    /// From the host to the key.
    case toKey
    /// From the key to the host.
    case toHost
  }

  /// What becomes of one packet.
  public enum PacketAction: Sendable, Hashable {
    /// It is lost.
    case drop
    /// It comes so many milliseconds late, and everything after it too.
    case delay(milliseconds: Int64)
    /// Only its first bytes arrive.
    case truncate(to: Int)
    /// One bit is wrong; bit 0 is the lowest of the first byte.
    case flipBit(Int)
    /// It comes twice.
    case duplicate
    /// The key is pulled out just before it.
    case unplug
  }

  /// What becomes of one command.
  public enum CommandAction: Sendable, Hashable {
    /// Answered with this status and not done.
    case status(CTAPStatus)
    /// Answered with an error of CTAPHID and not done.
    case hidError(CTAPHIDErrorCode)
    /// Done, but answered only so many milliseconds later, with keepalives in between.
    case delay(milliseconds: Int64)
    /// Done, but the reply is lost.
    case noReply
    /// Done, but only the first bytes of the reply are sent, as a whole message.
    case truncateReply(to: Int)
    /// Done, but one bit of the reply is wrong.
    case flipReplyBit(Int)
    /// Done, but the reply is these bytes.
    case replaceReply([UInt8])
    /// CANCEL has no effect while it is being done.
    case ignoreCancel
    /// The key is pulled out before it is done.
    case unplug
  }

  enum Kind: Sendable, Hashable {
    case packet(Direction, index: Int, PacketAction)
    case command(index: Int, CommandAction)
  }

  let kind: Kind

  /// Something happens to the packet of that number, counted from 0 for each direction.
  public static func packet(_ direction: Direction, _ index: Int, _ action: PacketAction) -> Fault {
    Fault(kind: .packet(direction, index: index, action))
  }

  /// Something happens to the CTAP or U2F command of that number, counted from 0.
  public static func command(_ index: Int, _ action: CommandAction) -> Fault {
    Fault(kind: .command(index: index, action))
  }
}

/// The faults of one host, and how far it has come.
public final class FaultScript: Sendable {
  private struct State {
    var faults: [Fault]
    var packets: [Fault.Direction: Int] = [:]
    var commands = 0
    var fired = 0
  }

  private let state: Locked<State>

  /// A script; an empty one lets everything pass.
  public init(_ faults: [Fault] = []) { state = Locked(State(faults: faults)) }

  /// Adds a fault; its number counts from the start of the host.
  public func add(_ fault: Fault) { state.withLock { $0.faults.append(fault) } }

  /// Packets seen so far in a direction.
  public func packets(_ direction: Fault.Direction) -> Int { state.withLock { $0.packets[direction] ?? 0 } }
  /// Commands seen so far.
  public var commands: Int { state.withLock { $0.commands } }
  /// How many faults have happened.
  public var fired: Int { state.withLock { $0.fired } }

  func nextPacket(_ direction: Fault.Direction) -> [Fault.PacketAction] {
    state.withLock { s in
      let index = s.packets[direction] ?? 0
      s.packets[direction] = index + 1
      let actions = s.faults.compactMap { fault -> Fault.PacketAction? in
        if case .packet(direction, index, let action) = fault.kind { action } else { nil }
      }
      s.fired += actions.count
      return actions
    }
  }

  func nextCommand() -> [Fault.CommandAction] {
    state.withLock { s in
      let index = s.commands
      s.commands += 1
      let actions = s.faults.compactMap { fault -> Fault.CommandAction? in
        if case .command(index, let action) = fault.kind { action } else { nil }
      }
      s.fired += actions.count
      return actions
    }
  }
}
