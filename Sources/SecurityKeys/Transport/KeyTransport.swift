// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// What INIT, or a card's SELECT, tells about a key (CTAP 2.1 section 11.2.9.1.3).
public struct InitReply: Sendable, Hashable {
  /// CTAPHID protocol version, 2.
  public var protocolVersion: UInt8
  /// The device's version: major, minor, build.
  public var deviceVersion: [UInt8]
  /// Capability flags.
  public var capabilities: UInt8

  /// The key says it takes CTAPHID_CBOR.
  public var offersCBOR: Bool { capabilities & 0x04 != 0 }
  /// The key says it does not take CTAPHID_MSG.
  public var refusesMessages: Bool { capabilities & 0x08 != 0 }

  /// All parts at once.
  public init(protocolVersion: UInt8 = 2, deviceVersion: [UInt8] = [0, 0, 0], capabilities: UInt8) {
    self.protocolVersion = protocolVersion
    self.deviceVersion = deviceVersion
    self.capabilities = capabilities
  }
}

/// What a wait for an answer may do while it waits.
public struct WaitTerms {
  /// When to give up.
  public var deadline: Deadline
  /// How long a cancelled key may take to say so.
  public var drain: Duration
  /// How long a person may take to bring the key, where one must be brought.
  public var person: Duration
  /// How long a command that needs nobody may take, counted from when the key is there.
  public var command: Duration
  /// Told of each KEEPALIVE.
  public var onKeepalive: (KeepaliveStatus) -> Void
  /// Told of what a card reader wants of the person.
  public var onCard: (CardWish) -> Void

  /// Terms without anybody listening.
  public init(
    deadline: Deadline, drain: Duration = .seconds(1), person: Duration = .zero, command: Duration = .seconds(5),
    onCard: @escaping (CardWish) -> Void = { _ in }, onKeepalive: @escaping (KeepaliveStatus) -> Void = { _ in }
  ) {
    self.deadline = deadline
    self.drain = drain
    self.person = person
    self.command = command
    self.onCard = onCard
    self.onKeepalive = onKeepalive
  }
}

/// Carries whole messages to one key and back: HID, PC/SC, a recording. Blocking, and only ever used on the key's own
/// thread.
///
/// One call is one exchange. When the deadline passes or the switch is pulled while the key works, the transport
/// cancels the key, waits for its word, and throws `timedOut` or `cancelled`; if the touch won the race, the answer is
/// returned all the same.
public protocol KeyTransport: AnyObject {
  /// `hidraw`, `pcsc`, `udp` or `virtual`.
  var kindName: String { get }
  /// Whether the other end is known to be no real key.
  var isSimulated: Bool { get }
  /// The longest request in bytes.
  var maximumRequestByteCount: Int { get }
  /// Opens, or opens again, the conversation.
  func initialise(_ terms: WaitTerms) throws(TransportError) -> InitReply
  /// Sends a request and waits for the answer. CBOR: command byte and map out, status byte and map back. Message: an
  /// APDU out, data and status word back.
  func exchange(
    _ command: CTAPHIDCommand, _ payload: [UInt8], _ terms: WaitTerms
  ) throws(TransportError) -> [UInt8]
  /// An answer was none: the next exchange begins the channel afresh.
  func distrust()
  /// Begins the channel afresh and says whether nothing was left in it: an answer too many means that each answer
  /// before may have been the answer to another question.
  func wasInStep(_ terms: WaitTerms) throws(TransportError) -> Bool
  /// Ends the conversation. May be called twice.
  func close()
}

/// Wires on which question and answer cannot come apart.
extension KeyTransport {
  public func distrust() {}
  public func wasInStep(_ terms: WaitTerms) throws(TransportError) -> Bool { true }
}
