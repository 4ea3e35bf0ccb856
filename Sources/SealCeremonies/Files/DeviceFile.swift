// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats

/// A device of this computer: a file, readable by its owner alone, that holds the private halves as Seal writes them.
public enum DeviceFile {
  /// Reads a device file.
  /// - Throws: ``FileError``, ``WrapError``.
  public static func read(_ path: String) throws -> PrivateHalves {
    try PrivateHalves(parsing: AtomicFile.readSecret(path))
  }

  /// Makes a device and writes its file; an existing file is never replaced.
  /// - Throws: ``FileError``, ``WrapError``.
  public static func make(_ path: String) throws -> PrivateHalves {
    let halves = try PrivateHalves()
    try AtomicFile.write(secret: halves.encoded(), to: path, replacing: false)
    return halves
  }

  /// The device in the file; made first when there is none.
  public static func readOrMake(_ path: String) throws -> (halves: PublicHalves, isNew: Bool) {
    do {
      return (PublicHalves(try read(path)), false)
    } catch FileError.notFound {
      return (PublicHalves(try make(path)), true)
    }
  }
}

/// The public side of a device: what an endorsement is over.
public struct PublicHalves: Sendable, Hashable {
  /// 65 bytes.
  public let devicePublicKey: [UInt8]
  /// 32 or 1,220 bytes.
  public let kemBundle: [UInt8]

  init(_ halves: borrowing PrivateHalves) {
    devicePublicKey = halves.devicePublicKey
    kemBundle = halves.bundle.publicKeys.bytes
  }

  /// From bytes that a person gave.
  public init(devicePublicKey: [UInt8], kemBundle: [UInt8]) {
    self.devicePublicKey = devicePublicKey
    self.kemBundle = kemBundle
  }
}
