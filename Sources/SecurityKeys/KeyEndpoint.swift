// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// Where a key can be reached, before anything is opened. A value that can be handed about.
public struct KeyEndpoint: Sendable {
  /// Names the endpoint on this computer, for remembering what was seen there: a node, a reader, a port.
  public let id: String
  /// What to call the key.
  public let name: String
  /// `hidraw`, `pcsc`, `udp` or `virtual`.
  public let kindName: String
  /// Whether the other end is known to be no real key.
  public let isSimulated: Bool
  /// Opens the wire. Runs on the key's own thread.
  private(set) var connect: @Sendable (CancelSwitch) throws(TransportError) -> any KeyTransport
  /// The same, for a card that is laid on the reader from then on; nil where a key is touched.
  private var connectToNewCard: (@Sendable (CancelSwitch) throws(TransportError) -> any KeyTransport)?
  /// Told of everything on the wire, on the key's own thread.
  private(set) var observer: KeyObserver?
  /// The one PIN/UV auth protocol that is used, where the key lists it.
  private(set) var onlyPINProtocol: Int?

  /// An endpoint that `connect` opens.
  public init(
    id: String, name: String, kindName: String, isSimulated: Bool,
    connect: @escaping @Sendable (CancelSwitch) throws(TransportError) -> any KeyTransport
  ) {
    self.id = id
    self.name = name
    self.kindName = kindName
    self.isSimulated = isSimulated
    self.connect = connect
  }

  /// The same place, where a card that lies there already does not count.
  var forNewCard: KeyEndpoint {
    var copy = self
    if let connectToNewCard { copy.connect = connectToNewCard }
    return copy
  }

  /// The same place, with a way to wait for a card that is laid there.
  func withNewCard(
    _ connect: @escaping @Sendable (CancelSwitch) throws(TransportError) -> any KeyTransport
  ) -> KeyEndpoint {
    var copy = self
    copy.connectToNewCard = connect
    return copy
  }

  /// CTAPHID reports on a descriptor that `open` gives: the virtual key in this process, or anything that imitates one.
  public static func reports(
    id: String, name: String, kindName: String, isSimulated: Bool, shape: ReportChannel.Shape = .usual,
    refusal: TransportError = .unplugged,
    open: @escaping @Sendable () throws(TransportError) -> Int32
  ) -> KeyEndpoint {
    KeyEndpoint(id: id, name: name, kindName: kindName, isSimulated: isSimulated) {
      cancel throws(TransportError) in
      HIDTransport(
        reports: ReportChannel(owning: try open(), shape: shape, refusal: refusal), cancel: cancel, kindName: kindName,
        isSimulated: isSimulated)
    }
  }
}

/// Looks on while a key works: for evidence and for timing. Called on the key's own thread, so it must be quick.
public struct KeyObserver: Sendable {
  /// An event, when it happens.
  public var event: @Sendable (KeyEvent) -> Void
  /// A request and the raw reply, status byte first. PINs in it are encrypted.
  public var exchange: @Sendable (_ request: [UInt8], _ reply: [UInt8]) -> Void

  /// An observer of both.
  public init(
    event: @escaping @Sendable (KeyEvent) -> Void,
    exchange: @escaping @Sendable (_ request: [UInt8], _ reply: [UInt8]) -> Void
  ) {
    self.event = event
    self.exchange = exchange
  }
}

extension KeyEndpoint {
  /// The same place, with somebody looking on.
  public func observed(by observer: KeyObserver) -> KeyEndpoint {
    var copy = self
    copy.observer = observer
    return copy
  }

  /// The same place, where a key that lists PIN/UV auth protocol `number` is spoken to with that one only.
  public func using(pinProtocol number: Int) -> KeyEndpoint {
    var copy = self
    copy.onlyPINProtocol = number
    return copy
  }
}
