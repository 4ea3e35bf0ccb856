// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CUdev
import Glibc

/// A thread that speaks with the readers, because nothing interrupts a blocked SCardTransmit.
///
/// The asker waits for an answer, for its deadline or for a cancel, whichever comes first. A thread that is given up
/// lets go of the card as soon as its reader lets go of it.
final class CardLine: Sendable {
  /// What is asked for.
  enum Request: Sendable {
    /// What there is.
    case readers
    /// What there is, once it differs from this or the milliseconds are over.
    case change(from: [ReaderState], milliseconds: Int32)
    /// The card on a reader.
    case connect(String)
    /// An APDU to the connected card.
    case transmit([UInt8])
    /// Whether the connected card was there all the time.
    case isStillThere
    /// Lets go of the connected card.
    case disconnect
  }

  /// What came of it.
  enum Reply: Sendable {
    case readers([ReaderState])
    case connected(answerToReset: [UInt8], isByteOriented: Bool)
    case bytes([UInt8])
    case flag(Bool)
    case done
    case failed(TransportError)
  }

  private struct State {
    var request: Request?
    var reply: Reply?
    var isGivenUp = false
  }

  private let state = Locked(State())
  /// Wakes the thread, and wakes who asked.
  private let asked = eventfd(0, Int32(EFD_CLOEXEC))
  private let answered = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))

  /// Starts the thread; `open` runs on it.
  init(_ open: @escaping @Sendable () throws(TransportError) -> any CardReaders) throws(TransportError) {
    guard DetachedThread.start({ [self] in serve(open) }) else { throw .system(call: "pthread_create", errno: EAGAIN) }
  }

  deinit {
    close(asked)
    close(answered)
  }

  /// Whether nobody may ask any more.
  var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

  /// Ends the thread, now or when its reader lets it.
  func giveUp() {
    state.withLock { $0.isGivenUp = true }
    eventfd_write(asked, 1)
  }

  /// Asks, and waits.
  /// - Parameters:
  ///   - deadline: when to give the line up.
  ///   - cancel: a pull leaves the answer `grace` more; nil when it has been seen already.
  /// - Throws: what the reader says; `cancelled` and `noAnswer` when the line had to be given up.
  func ask(
    _ request: Request, until deadline: Deadline, _ cancel: CancelSwitch?, grace: Duration
  ) throws(TransportError) -> Reply {
    guard !isGivenUp else { throw .card(.readerGone) }
    var count: eventfd_t = 0
    eventfd_read(answered, &count)
    state.withLock {
      $0.reply = nil
      $0.request = request
    }
    eventfd_write(asked, 1)
    var deadline = deadline
    var cancel = cancel
    var isCancelled = false
    while true {
      var waits = [
        pollfd(fd: answered, events: Int16(POLLIN), revents: 0),
        pollfd(fd: cancel?.eventDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&waits, 2, deadline.millisecondsLeft)
      if ready < 0, errno == EINTR { continue }
      if let reply = state.withLock({ $0.reply }) {
        if case .failed(let error) = reply { throw error }
        return reply
      }
      if waits[1].revents != 0 {
        isCancelled = true
        cancel = nil
        deadline = min(deadline, .after(grace))
      } else if deadline.isOver {
        giveUp()
        throw isCancelled ? .cancelled : .noAnswer(command: 0)
      }
    }
  }

  // MARK: - The thread

  private func serve(_ open: () throws(TransportError) -> any CardReaders) {
    let readers: any CardReaders
    do throws(TransportError) { readers = try open() } catch {
      return refuse(error)
    }
    var channel: (any APDUChannel)?
    while let request = next() {
      let reply: Reply
      do throws(TransportError) { reply = try Self.answer(request, readers, &channel) } catch { reply = .failed(error) }
      give(reply)
    }
    channel?.disconnect()
    readers.close()
  }

  private static func answer(
    _ request: Request, _ readers: any CardReaders, _ channel: inout (any APDUChannel)?
  ) throws(TransportError) -> Reply {
    switch request {
    case .readers: return .readers(try readers.readers())
    case .change(let known, let milliseconds):
      try readers.waitForChange(from: known, milliseconds: milliseconds)
      return .readers(try readers.readers())
    case .connect(let reader):
      channel?.disconnect()
      channel = nil
      let new = try readers.connect(reader)
      channel = new
      return .connected(answerToReset: new.answerToReset, isByteOriented: new.isByteOriented)
    case .transmit(let apdu):
      guard let channel else { throw .card(.removed) }
      return .bytes(try channel.transmit(apdu))
    case .isStillThere: return .flag(channel?.isStillThere() ?? false)
    case .disconnect:
      channel?.disconnect()
      channel = nil
      return .done
    }
  }

  /// The next request; nil when the line was given up.
  private func next() -> Request? {
    while true {
      let (request, isGivenUp) = state.withLock { s -> (Request?, Bool) in
        defer { s.request = nil }
        return (s.request, s.isGivenUp)
      }
      if isGivenUp { return nil }
      if let request { return request }
      var count: eventfd_t = 0
      eventfd_read(asked, &count)
    }
  }

  private func give(_ reply: Reply) {
    state.withLock { $0.reply = reply }
    eventfd_write(answered, 1)
  }

  /// There are no readers: everybody is told why.
  private func refuse(_ error: TransportError) {
    while next() != nil { give(.failed(error)) }
  }
}
