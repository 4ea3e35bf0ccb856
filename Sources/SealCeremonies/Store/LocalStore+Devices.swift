// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealFormats

/// This computer's devices, by name.
extension LocalStore {
  /// The names of the devices kept here.
  public var deviceNames: [String] {
    Self.names(in: devicesPath).filter { $0.hasSuffix(".device") }.map { String($0.dropLast(7)) }
  }

  private func devicePath(_ name: String) throws(StoreError) -> String {
    let isGood =
      (1...64).contains(name.utf8.count) && !name.hasPrefix(".")
      && name.utf8.allSatisfy {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || [0x2d, 0x2e, 0x5f].contains($0)
      }
    guard isGood, !Self.isLeftover(name) else { throw .badDeviceName(name) }
    return "\(devicesPath)/\(name).device"
  }

  /// A device's private halves.
  /// - Throws: ``StoreError``: `deviceNotFound`, `badDeviceName`; ``FileError``; ``WrapError``.
  public func device(_ name: String) throws -> PrivateHalves {
    let file = try devicePath(name)
    do { return try DeviceFile.read(file) } catch FileError.notFound { throw StoreError.deviceNotFound(name) }
  }

  /// The public side of a device.
  public func publicHalves(_ name: String) throws -> PublicHalves { PublicHalves(try device(name)) }

  /// Keeps a device under a name that is free.
  /// - Throws: ``FileError/exists(path:)``, ``StoreError/badDeviceName(_:)``.
  public func keep(_ halves: borrowing PrivateHalves, as name: String) async throws {
    let file = try devicePath(name)
    let text = halves.encoded()
    try await locked {
      try Self.makeFolder(devicesPath)
      try AtomicFile.write(secret: text, to: file, replacing: false)
    }
  }

  /// The device of that name; made first when there is none.
  public func deviceOrNew(_ name: String) async throws -> (halves: PublicHalves, isNew: Bool) {
    do { return (try publicHalves(name), false) } catch StoreError.deviceNotFound {
      let made = try PrivateHalves()
      try await keep(made, as: name)
      return (PublicHalves(made), true)
    }
  }
}
