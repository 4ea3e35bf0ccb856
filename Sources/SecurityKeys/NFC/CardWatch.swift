// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc

/// Something happened to a card reader.
public enum CardChange: Sendable, Hashable {
  /// A reader is there now.
  case readerAppeared(FoundKey)
  /// A reader is there no more.
  case readerGone(FoundKey)
  /// A card was laid on a reader.
  case cardLaid(FoundKey)
  /// A card was lifted off a reader.
  case cardLifted(FoundKey)
  /// Readers cannot be watched, and why. They are tried again.
  case unavailable(CardError)
}

/// Watches card readers, and cards come and go on them.
public enum CardWatch {
  /// First every reader that is there, then each change as it happens, until the reader of the stream stops reading.
  public static func changes() -> AsyncStream<CardChange> {
    changes { () throws(TransportError) in try PCSCReaders() }
  }

  static func changes(
    _ open: @escaping @Sendable () throws(TransportError) -> any CardReaders
  ) -> AsyncStream<CardChange> {
    let (stream, continuation) = AsyncStream.makeStream(of: CardChange.self)
    let stop = CancelSwitch()
    continuation.onTermination = { _ in stop.pull() }
    let started = DetachedThread.start {
      var watcher = Watcher()
      while !stop.isPulled {
        do throws(TransportError) { try watcher.watch(try open(), stop) { continuation.yield($0) } } catch {
          watcher.lose(error) { continuation.yield($0) }
        }
        // The service may be started, or started anew.
        var waits = [pollfd(fd: stop.eventDescriptor, events: Int16(POLLIN), revents: 0)]
        poll(&waits, 1, 2000)
      }
      continuation.finish()
    }
    if !started { continuation.finish() }
    return stream
  }

  private struct Watcher {
    private var present: [ReaderState] = []
    private var problem: CardError?

    mutating func watch(
      _ readers: any CardReaders, _ stop: CancelSwitch, _ tell: (CardChange) -> Void
    ) throws(TransportError) {
      defer { readers.close() }
      while !stop.isPulled {
        let now = try readers.readers()
        problem = nil
        for change in CardWatch.changes(from: present, to: now) { tell(change) }
        present = now
        try readers.waitForChange(from: now, milliseconds: 500)
      }
    }

    mutating func lose(_ error: TransportError, _ tell: (CardChange) -> Void) {
      for change in CardWatch.changes(from: present, to: []) { tell(change) }
      present = []
      guard case .card(let error) = error, error != problem else { return }
      problem = error
      tell(.unavailable(error))
    }
  }

  /// What happened between two looks: first what went, then what came. A count that has moved on while a card is there
  /// both times tells of a lift in between.
  static func changes(from old: [ReaderState], to new: [ReaderState]) -> [CardChange] {
    var result: [CardChange] = []
    for before in old {
      let after = new.first { $0.name == before.name }
      let isSameCard = after.map { $0.hasCard && $0.changes == before.changes } ?? false
      if before.hasCard, !isSameCard { result.append(.cardLifted(FoundKey(before))) }
      if after == nil { result.append(.readerGone(FoundKey(before))) }
    }
    for after in new {
      let before = old.first { $0.name == after.name }
      if before == nil { result.append(.readerAppeared(FoundKey(after))) }
      let isSameCard = before.map { $0.hasCard && $0.changes == after.changes } ?? false
      if after.hasCard, !isSameCard { result.append(.cardLaid(FoundKey(after))) }
    }
    return result
  }
}
