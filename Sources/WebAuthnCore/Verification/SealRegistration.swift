// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// A registration read exactly as Seal reads it (FORMATS.md 5b): same order, same names, same leniency.
///
/// Verification is ``RegistrationVerifier``'s; this one answers "what will Seal make of these bytes?".
public struct SealRegistration: Sendable {
  /// The credential ID inside the authenticator data.
  public let credentialID: [UInt8]
  /// The public key, x and y normalised, 64 bytes.
  public let publicKey: P256.Signing.PublicKey
  /// The coordinates' lengths as the key wrote them.
  public let coordinateLengths: (x: Int, y: Int)
  /// The algorithm the key wrote, if any.
  public let algorithm: Int64?
  /// The curve the key wrote, if any.
  public let curve: Int64?

  /// Reads an attestation object.
  /// - Throws: ``SealRegistrationError``.
  public init(attestationObject: [UInt8]) throws(SealRegistrationError) {
    let top: CBORItem
    // Seal ignores what follows the map; so does this reader, and RegistrationVerifier does not.
    do { top = try CBORDecoder.decode(attestationObject, profile: .seal) } catch { throw .cbor(error) }
    guard let data = top["authData"]?.bytes else { throw .noAuthData }
    guard data.count > 37, data[32] & 0x40 != 0 else { throw .noAttestedCredential }
    guard data.count >= 55 else { throw .malformedAuthData }
    let length = Int(data[53]) << 8 | Int(data[54])
    guard (1...1023).contains(length), length < data.count - 55 else { throw .malformedAuthData }
    let key: CBORItem
    do { key = try CBORDecoder.decode(data, at: 55 + length, profile: .seal) } catch { throw .cbor(error) }
    if let item = key[3] {
      guard item.int == -7 else { throw .unsupportedAlgorithm(item.int ?? 0) }
    }
    if let item = key[-1] {
      guard item.int == 1 else { throw .unsupportedCurve(item.int ?? 0) }
    }
    guard let x = key[-2]?.bytes, let y = key[-3]?.bytes else { throw .missingCoordinates }
    let raw = try Self.normalise(x) + Self.normalise(y)
    do { publicKey = try P256.Signing.PublicKey(rawRepresentation: raw) } catch { throw .badPublicKey }
    credentialID = Array(data[55..<(55 + length)])
    coordinateLengths = (x.count, y.count)
    algorithm = key[3]?.int
    curve = key[-1]?.int
  }

  /// Seal's coordinate rule: leading zeros off while longer than 32, zeros on while shorter.
  static func normalise(_ coordinate: [UInt8]) throws(SealRegistrationError) -> [UInt8] {
    var value = coordinate[...]
    while value.count > 32, value.first == 0 { value = value.dropFirst() }
    guard value.count <= 32 else { throw .oversizedCoordinate }
    return [UInt8](repeating: 0, count: 32 - value.count) + value
  }
}

/// Seal's own names for a registration it cannot use.
public enum SealRegistrationError: NamedError, Hashable {
  /// CBOR that Seal does not read.
  case cbor(CBORError)
  /// `authData` is missing or not bytes.
  case noAuthData
  /// No credential in the authenticator data.
  case noAttestedCredential
  /// The lengths inside the authenticator data do not fit.
  case malformedAuthData
  /// `alg` is there and not ES256.
  case unsupportedAlgorithm(Int64)
  /// `crv` is there and not P-256.
  case unsupportedCurve(Int64)
  /// x or y is missing or not bytes.
  case missingCoordinates
  /// A coordinate is longer than 32 bytes even without leading zeros.
  case oversizedCoordinate
  /// The point is not on the curve.
  case badPublicKey

  public var name: String {
    switch self {
    case .cbor(let error): error.name
    case .noAuthData: "noAuthData"
    case .noAttestedCredential: "noAttestedCredential"
    case .malformedAuthData: "malformedAuthData"
    case .unsupportedAlgorithm(let value): "unsupportedAlgorithm(\(value))"
    case .unsupportedCurve(let value): "unsupportedCurve(\(value))"
    case .missingCoordinates: "missingCoordinates"
    case .oversizedCoordinate: "oversizedCoordinate"
    case .badPublicKey: "badPublicKey"
    }
  }

  public var message: String {
    switch self {
    case .cbor(let error): "The registration cannot be read. \(error.message)"
    case .noAuthData: "The registration holds no authenticator data."
    case .noAttestedCredential: "The registration holds no new credential."
    case .malformedAuthData: "The registration's authenticator data is malformed."
    case .unsupportedAlgorithm(let value):
      "The key made a credential of another algorithm (\(value)); Seal takes ES256."
    case .unsupportedCurve(let value): "The key made a credential on another curve (\(value)); Seal takes P-256."
    case .missingCoordinates: "The credential's public key is incomplete."
    case .oversizedCoordinate: "The credential's public key has a coordinate that is too long."
    case .badPublicKey: "The credential's public key is not a valid point."
    }
  }

  public var next: String { "Register again, with another key if it stays; note the key's model for the test matrix." }

  public var offset: Int? { if case .cbor(let error) = self { error.offset } else { nil } }
}
