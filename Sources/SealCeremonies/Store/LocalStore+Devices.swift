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
    guard isGood, AbandonedFile.parse(name) == nil else { throw .badDeviceName(name) }
    return "\(devicesPath)/\(name).device"
  }

  /// A device's private halves.
  /// - Parameter tries: how often the passphrase is asked for while it is the wrong one.
  /// - Throws: ``StoreError``: `deviceNotFound`, `badDeviceName`; ``FileError``; ``DeviceError``; what `passphrase` throws.
  public func device(
    _ name: String, passphrase: DeviceFile.Passphrase = DeviceFile.noPassphrase, tries: Int = 1
  ) throws -> PrivateHalves {
    let file = try devicePath(name)
    do { return try DeviceFile.read(file, passphrase: passphrase, tries: tries) } catch FileError.notFound {
      throw StoreError.deviceNotFound(name)
    }
  }

  /// The public side of a device; no passphrase is needed.
  public func publicHalves(_ name: String) throws -> PublicHalves {
    let file = try devicePath(name)
    do { return try DeviceFile.publicHalves(file) } catch FileError.notFound { throw StoreError.deviceNotFound(name) }
  }

  /// Whether a device is under a passphrase.
  public func isProtected(_ name: String) throws -> Bool {
    let file = try devicePath(name)
    do { return try DeviceFile.isProtected(file) } catch { throw StoreError.deviceNotFound(name) }
  }

  /// Keeps a device under a name that is free.
  /// - Parameter passphrase: what its private halves are encrypted with; nil leaves them plain.
  /// - Throws: ``FileError/exists(path:)``, ``StoreError/badDeviceName(_:)``, ``DeviceError/unfitPassphrase``.
  public func keep(
    _ halves: borrowing PrivateHalves, as name: String, passphrase: consuming SecretBytes? = nil
  ) async throws {
    let file = try devicePath(name)
    let text = try DeviceFile.encoded(halves, passphrase: passphrase)
    try await locked {
      try Self.makeFolder(devicesPath)
      try AtomicFile.write(secret: text, to: file, replacing: false)
    }
  }

  /// Sets, changes or removes a device's passphrase.
  ///
  /// - Parameters:
  ///   - passphrase: asked for the one that there is.
  ///   - tries: how often that one is asked for while it is wrong.
  ///   - new: asked for the new one; nil removes it.
  /// - Throws: ``StoreError``; ``FileError``; ``DeviceError``; what the two throw. The file is as before then.
  public func setPassphrase(
    of name: String, from passphrase: DeviceFile.Passphrase, tries: Int = 1, to new: DeviceFile.Passphrase?
  ) async throws {
    let file = try devicePath(name)
    let before = try publicHalves(name)
    let text = try rewritten(name, file, before, passphrase, tries, new)
    try await locked {
      // Somebody may have put another device there while the question stood.
      guard try publicHalves(name) == before else { throw FileError.exists(path: file) }
      try AtomicFile.write(secret: text, to: file)
    }
  }

  private func rewritten(
    _ name: String, _ file: String, _ before: PublicHalves, _ passphrase: DeviceFile.Passphrase, _ tries: Int,
    _ new: DeviceFile.Passphrase?
  ) throws -> SecretBytes {
    let halves = try device(name, passphrase: passphrase, tries: tries)
    guard let new else { return try DeviceFile.encoded(halves, passphrase: nil) }
    return try DeviceFile.encoded(halves, passphrase: try new(file), known: before)
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
