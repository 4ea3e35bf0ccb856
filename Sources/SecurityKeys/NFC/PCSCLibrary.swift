// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// libpcsclite, opened when it is first needed. Nothing is linked: without it only card readers are missing.
struct PCSCLibrary: Sendable {
  /// PC/SC's DWORD and LONG are C's long on Linux.
  typealias Status = Int
  typealias EstablishContext =
    @convention(c) (UInt, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutablePointer<Int>?) -> Status
  typealias ReleaseContext = @convention(c) (Int) -> Status
  typealias ListReaders =
    @convention(c) (Int, UnsafePointer<CChar>?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<UInt>?) -> Status
  typealias GetStatusChange = @convention(c) (Int, UInt, UnsafeMutableRawPointer?, UInt) -> Status
  typealias Connect =
    @convention(c) (
      Int, UnsafePointer<CChar>?, UInt, UInt, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<UInt>?
    ) -> Status
  typealias Disconnect = @convention(c) (Int, UInt) -> Status
  typealias CardStatus =
    @convention(c) (
      Int, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<UInt>?, UnsafeMutablePointer<UInt>?,
      UnsafeMutablePointer<UInt>?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt>?
    ) -> Status
  typealias Transmit =
    @convention(c) (
      Int, UnsafeRawPointer?, UnsafePointer<UInt8>?, UInt, UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?,
      UnsafeMutablePointer<UInt>?
    ) -> Status

  let establishContext: EstablishContext
  let releaseContext: ReleaseContext
  let listReaders: ListReaders
  let getStatusChange: GetStatusChange
  let connect: Connect
  let disconnect: Disconnect
  let status: CardStatus
  let transmit: Transmit

  /// The library of this computer. It stays open.
  static let system = Result<PCSCLibrary, CardError> { () throws(CardError) in
    try PCSCLibrary(file: "libpcsclite.so.1")
  }

  /// Opens a library and finds all functions.
  /// - Throws: ``CardError/libraryAbsent``, ``CardError/libraryUnusable(_:)``.
  init(file: String) throws(CardError) {
    guard let handle = dlopen(file, RTLD_NOW | RTLD_LOCAL) else { throw .libraryAbsent }
    func symbol(_ name: String) throws(CardError) -> UnsafeMutableRawPointer {
      guard let found = dlsym(handle, name) else { throw .libraryUnusable(name) }
      return found
    }
    // A function's address is what dlsym gives; the types are those of winscard.h.
    establishContext = unsafeBitCast(try symbol("SCardEstablishContext"), to: EstablishContext.self)
    releaseContext = unsafeBitCast(try symbol("SCardReleaseContext"), to: ReleaseContext.self)
    listReaders = unsafeBitCast(try symbol("SCardListReaders"), to: ListReaders.self)
    getStatusChange = unsafeBitCast(try symbol("SCardGetStatusChange"), to: GetStatusChange.self)
    connect = unsafeBitCast(try symbol("SCardConnect"), to: Connect.self)
    disconnect = unsafeBitCast(try symbol("SCardDisconnect"), to: Disconnect.self)
    status = unsafeBitCast(try symbol("SCardStatus"), to: CardStatus.self)
    transmit = unsafeBitCast(try symbol("SCardTransmit"), to: Transmit.self)
  }
}

/// PC/SC's numbers (pcsclite.h) that matter here.
enum PCSC {
  static let scopeSystem: UInt = 2
  static let shareExclusive: UInt = 1
  static let protocolT0: UInt = 1
  static let protocolT1: UInt = 2
  static let resetCard: UInt = 1
  static let leaveCard: UInt = 0
  static let stateChanged: UInt = 0x0002
  static let stateUnknown: UInt = 0x0004
  static let statePresent: UInt = 0x0020
  static let stateExclusive: UInt = 0x0080
  static let stateMute: UInt = 0x0200
  /// Stands for readers that come and go.
  static let newReaders = #"\\?PnP?\Notification"#
  static let maximumATR = 33
  /// Room for the largest extended response.
  static let maximumResponse = 65538

  /// What became of a call that is not about a card.
  static func failure(_ status: Int, reader: String) -> CardError {
    let code = UInt32(truncatingIfNeeded: status)
    switch code {
    // No service, service stopped, invalid handle or context (a service that was started anew).
    case 0x8010_001D, 0x8010_001E, 0x8010_0003: return .serviceAbsent
    // A call about no reader fails so when the service ends in the middle of it.
    case 0x8010_0013 where reader.isEmpty: return .serviceAbsent
    case 0x8010_006A: return .notPermitted
    case 0x8010_0009, 0x8010_0017, 0x8010_002E: return .readerGone
    case 0x8010_000B: return .readerInUse(reader: reader, by: PCSCHolders.likely())
    // No smart card, removed card.
    case 0x8010_000C, 0x8010_0069: return .removed
    // Unresponsive, unpowered, protocol mismatch.
    case 0x8010_0066, 0x8010_0067, 0x8010_000F: return .unresponsive(reader: reader)
    default: return .transmission(code: code)
    }
  }
}

/// Which program may hold a reader. pcscd does not tell; programs that use its library are the ones to ask.
enum PCSCHolders {
  /// The programs that have PC/SC's library in use, at most three, as far as /proc lets this user see; the daemon itself
  /// does not count.
  static func likely() -> String? {
    guard let directory = opendir("/proc") else { return nil }
    defer { closedir(directory) }
    var found: [String] = []
    while found.count < 3, let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard let process = Int32(name), process != getpid() else { continue }
      let maps = SystemNodes.contents("/proc/\(process)/maps", limit: 1 << 20)
      guard String(decoding: maps, as: UTF8.self).contains("/libpcsclite.so") else { continue }
      let comm = SystemNodes.contents("/proc/\(process)/comm", limit: 64)
      let program = HIDNode.cleaned(String(decoding: comm, as: UTF8.self)) ?? "a program"
      found.append("\(program) (process \(process))")
    }
    return found.isEmpty ? nil : found.joined(separator: " or ")
  }
}
