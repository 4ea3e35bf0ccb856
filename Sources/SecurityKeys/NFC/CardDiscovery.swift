// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

extension KeyEndpoint {
  /// A key on a PC/SC reader.
  /// - Parameters:
  ///   - reader: the reader's name, or a part of it; nil for any reader but the card faces of USB keys.
  ///   - patience: how long another program's hold on the reader is waited for.
  public static func nfc(reader: String?, patience: Duration = .seconds(5)) -> KeyEndpoint {
    cards(reader: reader, patience: patience) { () throws(TransportError) in try PCSCReaders() }
  }

  /// A key on readers that `open` gives, on a thread of their own.
  /// - Parameters:
  ///   - table: tells these readers from others of the same name.
  ///   - reader: as above.
  ///   - patience: as above.
  public static func cards(
    _ table: String = "", reader: String?, patience: Duration = .seconds(5),
    open: @escaping @Sendable () throws(TransportError) -> any CardReaders
  ) -> KeyEndpoint {
    KeyEndpoint(
      id: "pcsc|\(table)\(reader ?? "")", name: HIDNode.cleaned(reader) ?? "key on a card reader", kindName: "pcsc",
      isSimulated: reader.map(ReaderNames.isVirtual) ?? false
    ) { cancel throws(TransportError) in
      CardTransport(reader: reader, cancel: cancel, patience: patience, open: open)
    }.withNewCard { cancel throws(TransportError) in
      CardTransport(reader: reader, cancel: cancel, patience: patience, wantsNewCard: true, open: open)
    }
  }
}

/// Finds card readers, and what is on them.
public enum CardDiscovery {
  /// Every reader of pcscd, and whether a key on it can be used now.
  /// - Parameter patience: how long the service may take; one that hangs must not hold up USB keys.
  /// - Throws: ``TransportError/card(_:)``: `libraryAbsent`, `serviceAbsent`, `notPermitted`.
  public static func list(
    patience: Duration = .seconds(5)
  ) throws(TransportError) -> [(key: FoundKey, access: FoundKey.Access)] {
    let line = try CardLine { () throws(TransportError) in try PCSCReaders() }
    defer { line.giveUp() }
    let reply = try line.ask(.readers, until: .after(patience), nil, grace: .zero)
    guard case .readers(let states) = reply else { return [] }
    return states.map { (FoundKey($0), access($0)) }
  }

  static func access(_ reader: String) -> FoundKey.Access {
    (try? list())?.first { $0.key.placeName == reader }?.access ?? .gone
  }

  static func access(_ state: ReaderState) -> FoundKey.Access {
    if ReaderNames.isFaceOfUSBKey(state.name) { return .useUSB }
    if !state.hasCard { return .noCard }
    if state.isExclusive { return .inUse(by: PCSCHolders.likely()) }
    return state.isMute ? .mute : .ready
  }
}

/// What is plugged in and laid on, as it was a moment ago.
public struct Inventory: Sendable {
  /// Something that may be a key.
  public struct Entry: Sendable {
    /// What and where it is.
    public let key: FoundKey
    /// Whether it can be used.
    public let access: FoundKey.Access
  }

  /// Keys on hidraw nodes and readers of pcscd. Their ids differ.
  public let entries: [Entry]
  /// Why no readers could be looked for; nil when they could.
  public let readerProblem: CardError?

  /// Looks. Nodes are opened for a moment, readers are not touched.
  public static func now() -> Inventory {
    var problem: CardError?
    var cards: [(key: FoundKey, access: FoundKey.Access)] = []
    do throws(TransportError) { cards = try CardDiscovery.list() } catch .card(let error) { problem = error } catch {
      problem = .serviceAbsent
    }
    let access = Dictionary(cards.map { ($0.key.place, $0.access) }, uniquingKeysWith: { first, _ in first })
    let keys = FoundKey.distinguish(KeyDiscovery.list() + cards.map(\.key))
    return Inventory(
      entries: keys.map { Entry(key: $0, access: access[$0.place] ?? $0.access()) }, readerProblem: problem)
  }
}

extension FoundKey {
  /// What is on a reader.
  init(_ state: ReaderState) { self.init(reader: state.name, isSimulated: ReaderNames.isVirtual(state.name)) }
}
