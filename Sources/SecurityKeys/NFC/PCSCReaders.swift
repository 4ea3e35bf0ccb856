// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc

/// The readers of pcscd.
final class PCSCReaders: CardReaders {
  private let library: PCSCLibrary
  private var context: Int?

  /// Joins the service.
  /// - Throws: ``TransportError/card(_:)``: `libraryAbsent`, `serviceAbsent`, `notPermitted`.
  init(_ library: Result<PCSCLibrary, CardError> = PCSCLibrary.system) throws(TransportError) {
    switch library {
    case .success(let found): self.library = found
    case .failure(let error): throw .card(error)
    }
    var context = 0
    let status = self.library.establishContext(PCSC.scopeSystem, nil, nil, &context)
    guard status == 0 else { throw .card(PCSC.failure(status, reader: "")) }
    self.context = context
  }

  deinit { close() }

  func close() {
    if let context { _ = library.releaseContext(context) }
    context = nil
  }

  func readers() throws(TransportError) -> [ReaderState] {
    let names = try names()
    guard !names.isEmpty else { return [] }
    return try states(names.map { ReaderState(name: $0, hasCard: false) }, milliseconds: 0, watchesReaders: false)
  }

  func waitForChange(from known: [ReaderState], milliseconds: Int32) throws(TransportError) {
    do throws(TransportError) {
      _ = try states(known, milliseconds: milliseconds, watchesReaders: true)
    } catch .card(.readerGone) {
      // A change as good as any.
    }
  }

  func connect(_ reader: String) throws(TransportError) -> any APDUChannel {
    guard let context else { throw .card(.serviceAbsent) }
    var handle = 0
    var active: UInt = 0
    let status = library.connect(
      context, reader, PCSC.shareExclusive, PCSC.protocolT0 | PCSC.protocolT1, &handle, &active)
    guard status == 0 else { throw .card(PCSC.failure(status, reader: reader)) }
    return PCSCChannel(library, handle: handle, isByteOriented: active == PCSC.protocolT0, reader: reader)
  }

  private func names() throws(TransportError) -> [String] {
    guard let context else { throw .card(.serviceAbsent) }
    // A reader may come between the two calls.
    for _ in 0..<8 {
      var count: UInt = 0
      var status = library.listReaders(context, nil, nil, &count)
      if UInt32(truncatingIfNeeded: status) == 0x8010_002E { return [] }
      guard status == 0, count <= 1 << 16 else { throw .card(PCSC.failure(status, reader: "")) }
      var buffer = [CChar](repeating: 0, count: Int(count) + 1)
      status = library.listReaders(context, nil, &buffer, &count)
      switch UInt32(truncatingIfNeeded: status) {
      case 0: break
      case 0x8010_0008: continue
      case 0x8010_002E: return []
      default: throw .card(PCSC.failure(status, reader: ""))
      }
      // Names end with NUL, the list with an empty one.
      return buffer.prefix(Int(min(count, UInt(buffer.count)))).split(separator: 0).map {
        String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self)
      }
    }
    return []
  }

  /// SCardGetStatusChange. Its array of SCARD_READERSTATE is laid out by hand: name, user data, current state, event
  /// state, length of the answer to reset, each a machine word, and 33 bytes of it.
  private func states(
    _ known: [ReaderState], milliseconds: Int32, watchesReaders: Bool
  ) throws(TransportError) -> [ReaderState] {
    guard let context else { throw .card(.serviceAbsent) }
    let word = MemoryLayout<UInt>.size
    let stride = (5 * word + PCSC.maximumATR + word - 1) / word * word
    let names = known.map(\.name) + (watchesReaders ? [PCSC.newReaders] : [])
    let pointers = names.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    let table = UnsafeMutableRawPointer.allocate(byteCount: max(1, names.count) * stride, alignment: word)
    defer { table.deallocate() }
    memset(table, 0, names.count * stride)
    for (i, pointer) in pointers.enumerated() {
      table.storeBytes(of: UInt(bitPattern: pointer), toByteOffset: i * stride, as: UInt.self)
      let before = i < known.count ? known[i].raw & ~PCSC.stateChanged : 0
      table.storeBytes(of: before, toByteOffset: i * stride + 2 * word, as: UInt.self)
    }
    let status = library.getStatusChange(context, UInt(max(0, milliseconds)), table, UInt(names.count))
    switch UInt32(truncatingIfNeeded: status) {
    // Done, or nothing happened in time.
    case 0, 0x8010_000A: break
    default: throw .card(PCSC.failure(status, reader: ""))
    }
    return known.indices.compactMap { i in
      let event = table.load(fromByteOffset: i * stride + 3 * word, as: UInt.self)
      guard event & PCSC.stateUnknown == 0 else { return nil }
      let hasCard = event & PCSC.statePresent != 0
      let length = hasCard ? min(table.load(fromByteOffset: i * stride + 4 * word, as: UInt.self), 33) : 0
      let atr = (0..<Int(length)).map { table.load(fromByteOffset: i * stride + 5 * word + $0, as: UInt8.self) }
      return ReaderState(
        name: known[i].name, hasCard: hasCard, isExclusive: event & PCSC.stateExclusive != 0,
        isMute: event & PCSC.stateMute != 0, changes: Int(event >> 16 & 0xFFFF), answerToReset: atr, raw: event)
    }
  }
}

/// A card that pcscd gave to this program alone.
final class PCSCChannel: APDUChannel {
  let answerToReset: [UInt8]
  let isByteOriented: Bool
  private let library: PCSCLibrary
  private let reader: String
  private var handle: Int?
  private var buffer = [UInt8](repeating: 0, count: PCSC.maximumResponse)

  init(_ library: PCSCLibrary, handle: Int, isByteOriented: Bool, reader: String) {
    self.library = library
    self.handle = handle
    self.isByteOriented = isByteOriented
    self.reader = reader
    var length = UInt(PCSC.maximumATR)
    var atr = [UInt8](repeating: 0, count: PCSC.maximumATR)
    let status = library.status(handle, nil, nil, nil, nil, &atr, &length)
    answerToReset = status == 0 ? Array(atr.prefix(Int(min(length, UInt(PCSC.maximumATR))))) : []
  }

  deinit { disconnect() }

  func transmit(_ apdu: [UInt8]) throws(TransportError) -> [UInt8] {
    guard let handle else { throw .card(.removed) }
    // SCARD_IO_REQUEST: the protocol, and the structure's own size.
    let request = [isByteOriented ? PCSC.protocolT0 : PCSC.protocolT1, UInt(2 * MemoryLayout<UInt>.size)]
    var length = UInt(buffer.count)
    let status = library.transmit(handle, request, apdu, UInt(apdu.count), nil, &buffer, &length)
    guard status == 0 else {
      // The service forgets the handles of a reader that is gone.
      if UInt32(truncatingIfNeeded: status) == 0x8010_0003 { throw .card(.readerGone) }
      let failure = PCSC.failure(status, reader: reader)
      // A lift shows first as a command that did not get through; the service sees it at its next look.
      if case .transmission = failure, isSoonGone(handle) { throw .card(.removed) }
      throw .card(failure)
    }
    // Some drivers call a command to a card that is gone a success, with nothing in it.
    if length < 2, isSoonGone(handle) { throw .card(.removed) }
    return Array(buffer.prefix(Int(min(length, UInt(buffer.count)))))
  }

  /// Whether the service finds the card gone at one of its next looks, 400 ms apart.
  private func isSoonGone(_ handle: Int) -> Bool {
    for _ in 0..<10 {
      guard isStillThere() else { return true }
      usleep(100_000)
    }
    return false
  }

  func isStillThere() -> Bool {
    guard let handle else { return false }
    var length: UInt = 0
    return library.status(handle, nil, nil, nil, nil, nil, &length) == 0
  }

  func disconnect() {
    // A reset forgets the selection and every token. A card that is gone has forgotten; resetting it makes pcscd 1.9 lose
    // sight of the next one, when that comes within its 400 ms.
    if let handle { _ = library.disconnect(handle, isStillThere() ? PCSC.resetCard : PCSC.leaveCard) }
    handle = nil
  }
}
