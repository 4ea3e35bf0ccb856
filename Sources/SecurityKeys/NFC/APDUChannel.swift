// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// A card on a reader, powered, for this program alone.
///
/// Used from one thread. Every call may block for as long as the reader does; ``CardLine`` keeps that away from the
/// person who waits.
public protocol APDUChannel: AnyObject {
  /// What the card said when power came.
  var answerToReset: [UInt8] { get }
  /// The card speaks T=0: no extended APDUs, and no Le beside data (ISO 7816-3 section 12).
  var isByteOriented: Bool { get }
  /// Sends one APDU and gives the response, status word last.
  /// - Throws: ``TransportError/card(_:)``.
  func transmit(_ apdu: [UInt8]) throws(TransportError) -> [UInt8]
  /// Whether the card has been there all the time since it was connected.
  func isStillThere() -> Bool
  /// Takes the power away and lets others have the reader. May be called twice.
  func disconnect()
}

/// The card readers of this computer, or of a test.
///
/// Used from one thread.
public protocol CardReaders: AnyObject {
  /// Every reader, and what is on it.
  func readers() throws(TransportError) -> [ReaderState]
  /// Waits until something differs from `known`, at most `milliseconds`.
  func waitForChange(from known: [ReaderState], milliseconds: Int32) throws(TransportError)
  /// Powers the card on a reader, for this program alone.
  /// - Throws: ``TransportError/card(_:)``: `readerInUse`, `removed` when no card is there, `unresponsive`, `readerGone`.
  func connect(_ reader: String) throws(TransportError) -> any APDUChannel
  /// Lets go of the readers.
  func close()
}

/// A reader, as it was a moment ago.
public struct ReaderState: Sendable, Hashable {
  /// Its name, as PC/SC gives it.
  public var name: String
  /// Whether a card is on it.
  public var hasCard: Bool
  /// Whether a program has the reader to itself.
  public var isExclusive: Bool
  /// Whether the card does not answer.
  public var isMute: Bool
  /// Counts cards coming and going, as far as the service does; a lift between two looks shows in it.
  public var changes: Int
  /// What the card said when power came; empty without one.
  public var answerToReset: [UInt8]
  /// The service's own word, for the next wait.
  var raw: UInt

  /// All parts at once.
  public init(
    name: String, hasCard: Bool, isExclusive: Bool = false, isMute: Bool = false, changes: Int = 0,
    answerToReset: [UInt8] = [], raw: UInt = 0
  ) {
    self.name = name
    self.hasCard = hasCard
    self.isExclusive = isExclusive
    self.isMute = isMute
    self.changes = changes
    self.answerToReset = answerToReset
    self.raw = raw
  }
}
