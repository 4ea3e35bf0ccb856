// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// A device of this computer: a file, readable by its owner alone, that holds the private halves. Plain, they are as Seal
/// writes them, with digests of the public side; under a passphrase they are PKCS#8 keys in PEM, below the public side.
public enum DeviceFile {
  /// Asks for a passphrase; the text says what it is for.
  public typealias Passphrase = @Sendable (String) throws -> SecretBytes

  private static let title = "sealkey device 1"
  /// Far more than the three keys need.
  private static let limit = 1 << 16

  /// Nobody to ask.
  public static let noPassphrase: Passphrase = { throw DeviceError.passphraseRequired(path: $0) }

  /// Reads a device file; asks for the passphrase when there is one.
  /// - Parameter tries: how often it is asked for while it is the wrong one.
  /// - Throws: ``FileError``; ``DeviceError``; what `passphrase` throws.
  public static func read(
    _ path: String, passphrase: Passphrase = noPassphrase, tries: Int = 1
  ) throws -> PrivateHalves {
    let text = try AtomicFile.readSecret(path, limit: limit)
    guard let (halves, pem) = protected(text, path) else { return try plain(text, path) }
    guard let halves else { throw DeviceError.notADevice(path: path, reason: "its first lines do not read") }
    for _ in 1..<max(1, tries) {
      do { return try opened(pem, halves, try passphrase(path), path) } catch DeviceError.wrongPassphrase { continue }
    }
    return try opened(pem, halves, try passphrase(path), path)
  }

  private static func opened(
    _ pem: String, _ halves: PublicHalves, _ word: consuming SecretBytes, _ path: String
  ) throws -> PrivateHalves {
    do {
      let opened = try PrivateHalves(encryptedPEM: pem, passphrase: word)
      guard PublicHalves(opened).isSide(of: halves) else { throw DeviceError.halvesDiffer(path: path) }
      return opened
    } catch let error as WrapError {
      throw error == .wrongKey
        ? DeviceError.wrongPassphrase(path: path) : DeviceError.notADevice(path: path, reason: error.message)
    }
  }

  /// The public side of a device, for which no passphrase is needed.
  /// - Throws: ``FileError``; ``DeviceError``.
  public static func publicHalves(_ path: String) throws -> PublicHalves {
    let text = try AtomicFile.readSecret(path, limit: limit)
    guard let (halves, _) = protected(text, path) else { return PublicHalves(try plain(text, path)) }
    guard let halves else { throw DeviceError.notADevice(path: path, reason: "its first lines do not read") }
    return halves
  }

  /// Whether the file's private halves are under a passphrase.
  /// - Throws: ``FileError``.
  public static func isProtected(_ path: String) throws(FileError) -> Bool {
    protected(try AtomicFile.readSecret(path, limit: limit), path) != nil
  }

  /// Makes a device and writes its file; an existing file is never replaced.
  /// - Throws: ``FileError``, ``WrapError``.
  public static func make(_ path: String) throws -> PrivateHalves {
    let halves = try PrivateHalves()
    try AtomicFile.write(secret: encoded(halves, passphrase: nil), to: path, replacing: false)
    return halves
  }

  /// The device in the file; made first when there is none.
  public static func readOrMake(_ path: String) throws -> (halves: PublicHalves, isNew: Bool) {
    do {
      return (try publicHalves(path), false)
    } catch FileError.notFound {
      return (PublicHalves(try make(path)), true)
    }
  }

  /// The file's text.
  /// - Parameter known: the public side as it was written before: a libcrypto without ML-KEM-768 does not recompute the
  ///   whole of it.
  /// - Throws: ``DeviceError/unfitPassphrase``; ``CryptoError``.
  static func encoded(
    _ halves: borrowing PrivateHalves, passphrase: consuming SecretBytes?, known: PublicHalves? = nil
  ) throws -> SecretBytes {
    switch passphrase {
    case .none: return halves.encodedWithDigests()
    case .some(let word):
      guard (minimumPassphrase...maximumPassphrase).contains(word.count) else { throw DeviceError.unfitPassphrase }
      var side = PublicHalves(halves)
      if let known, side.isSide(of: known), known.kemBundle.count > side.kemBundle.count { side = known }
      let lines = [
        title, "device-public-key \(Hex.encode(side.devicePublicKey))", "kem-bundle \(Hex.encode(side.kemBundle))", "",
      ]
      let text = lines.joined(separator: "\n") + "\n" + (try halves.encryptedPEM(passphrase: word))
      return SecretBytes(Array(text.utf8))
    }
  }

  /// Bytes that a passphrase has at least.
  public static let minimumPassphrase = 8
  /// Bytes that a passphrase has at most.
  public static let maximumPassphrase = 1024

  private static func plain(_ text: borrowing SecretBytes, _ path: String) throws -> PrivateHalves {
    do { return try PrivateHalves(parsing: text) } catch WrapError.badHalves(let reason) {
      throw DeviceError.notADevice(path: path, reason: reason)
    } catch WrapError.halvesDoNotMatch { throw DeviceError.halvesDiffer(path: path) }
  }

  /// The two parts of a file under a passphrase, neither of them secret; nil when it is none.
  private static func protected(
    _ text: borrowing SecretBytes, _ path: String
  ) -> (halves: PublicHalves?, pem: String)? {
    guard text.withUnsafeBytes({ $0.starts(with: Array((title + "\n").utf8)) }) else { return nil }
    let whole = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    func value(_ name: String) -> [UInt8]? {
      let line = whole.split(separator: "\n").first { $0.hasPrefix(name + " ") }
      return line.flatMap { Hex.decode(String($0.dropFirst(name.count + 1))) }
    }
    guard let key = value("device-public-key"), let bundle = value("kem-bundle"), key.count == 65,
      (try? KEMBundle(parsing: bundle)) != nil
    else { return (nil, whole) }
    return (PublicHalves(devicePublicKey: key, kemBundle: bundle), whole)
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

  /// Whether these, which were recomputed, are those that were written down; a libcrypto without ML-KEM-768 recomputes
  /// the X25519 side alone, and writes no more than that down.
  func isSide(of written: PublicHalves) -> Bool {
    guard devicePublicKey == written.devicePublicKey else { return false }
    if kemBundle == written.kemBundle { return true }
    guard let mine = try? KEMBundle(parsing: kemBundle), let theirs = try? KEMBundle(parsing: written.kemBundle) else {
      return false
    }
    // One of them is without the ML-KEM-768 side: that is no other key.
    let isPart = theirs.mlkem768 == nil || mine.mlkem768 == nil && !MLKEM768.isAvailable
    return isPart && mine.x25519 == theirs.x25519
  }
}
