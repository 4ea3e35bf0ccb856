// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// A COSE algorithm number (RFC 9053 and the IANA registry). Unknown numbers stay numbers.
public struct COSEAlgorithm: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  public let rawValue: Int64
  public init(rawValue: Int64) { self.rawValue = rawValue }

  /// ECDSA with SHA-256 on P-256, the only one on Seal's own paths.
  public static let es256 = COSEAlgorithm(rawValue: -7)
  /// EdDSA; Ed25519 or Ed448 by curve.
  public static let edDSA = COSEAlgorithm(rawValue: -8)
  /// ECDSA with SHA-384 on P-384.
  public static let es384 = COSEAlgorithm(rawValue: -35)
  /// ECDSA with SHA-512 on P-521.
  public static let es512 = COSEAlgorithm(rawValue: -36)
  /// ML-DSA-44 (RFC 9964).
  public static let mlDSA44 = COSEAlgorithm(rawValue: -48)
  /// ML-DSA-65.
  public static let mlDSA65 = COSEAlgorithm(rawValue: -49)
  /// ML-DSA-87.
  public static let mlDSA87 = COSEAlgorithm(rawValue: -50)
  /// RSASSA-PKCS1-v1_5 with SHA-256.
  public static let rs256 = COSEAlgorithm(rawValue: -257)
  /// ECDH-ES with HKDF-256: what a key-agreement key carries.
  public static let ecdhESHKDF256 = COSEAlgorithm(rawValue: -25)

  private static let names: [Int64: String] = [
    -7: "ES256", -8: "EdDSA", -25: "ECDH-ES+HKDF-256", -35: "ES384", -36: "ES512", -37: "PS256", -38: "PS384",
    -39: "PS512", -47: "ES256K", -257: "RS256", -258: "RS384", -259: "RS512", -65535: "RS1", -9: "ESP256",
    -19: "Ed25519", -53: "Ed448", -48: "ML-DSA-44", -49: "ML-DSA-65", -50: "ML-DSA-87",
  ]
  /// The registered name, or the number.
  public var description: String { Self.names[rawValue] ?? String(rawValue) }
}

/// A credential's public key, from its COSE form (RFC 9052 section 7).
public enum CredentialPublicKey: Sendable, Hashable {
  /// ES256.
  case es256(P256.Signing.PublicKey)
  /// ES384.
  case es384(P384.Signing.PublicKey)
  /// ES512.
  case es512(P521.Signing.PublicKey)
  /// EdDSA on Curve25519.
  case ed25519(Ed25519.PublicKey)
  /// EdDSA on Curve448, 57 bytes.
  case ed448([UInt8])
  /// RS256, modulus and exponent as they stood.
  case rs256(modulus: [UInt8], exponent: [UInt8])
  /// ML-DSA with one of its three parameter sets. Read everywhere, verified where libcrypto has it.
  case mlDSA(MLDSA, [UInt8])
  /// An algorithm this program cannot verify.
  case other(COSEAlgorithm)

  /// Reads a COSE key strictly: key type, curve and coordinate sizes must fit the algorithm.
  /// - Throws: ``COSEKeyError``.
  public init(cose: CBORItem) throws(COSEKeyError) {
    guard cose.map != nil else { throw .notAMap(offset: cose.range.lowerBound) }
    guard let algorithmItem = cose[3] else { throw .missing(label: 3, offset: cose.range.lowerBound) }
    guard let number = algorithmItem.int else { throw .wrongType(label: 3, offset: algorithmItem.range.lowerBound) }
    let algorithm = COSEAlgorithm(rawValue: number)
    switch algorithm {
    case .es256:
      self = .es256(
        try Self.point(cose, curve: 1, 32) { raw throws(CryptoError) in
          try P256.Signing.PublicKey(rawRepresentation: raw)
        })
    case .es384:
      self = .es384(
        try Self.point(cose, curve: 2, 48) { raw throws(CryptoError) in
          try P384.Signing.PublicKey(rawRepresentation: raw)
        })
    case .es512:
      self = .es512(
        try Self.point(cose, curve: 3, 66) { raw throws(CryptoError) in
          try P521.Signing.PublicKey(rawRepresentation: raw)
        })
    case .edDSA:
      try Self.expect(cose, label: 1, 1)
      let x = try Self.bytes(cose, label: -2)
      switch try Self.integer(cose, label: -1) {
      case 6:
        do { self = .ed25519(try Ed25519.PublicKey(rawRepresentation: x)) } catch {
          throw .badPublicKey(offset: cose.range.lowerBound)
        }
      case 7:
        guard x.count == 57 else { throw .badPublicKey(offset: cose.range.lowerBound) }
        self = .ed448(x)
      case let curve: throw .unsupportedCurve(curve, offset: cose.range.lowerBound)
      }
    case .rs256:
      try Self.expect(cose, label: 1, 3)
      let (n, e) = (try Self.bytes(cose, label: -1), try Self.bytes(cose, label: -2))
      guard RS256.canUse(modulus: n, exponent: e) else { throw .badPublicKey(offset: cose.range.lowerBound) }
      self = .rs256(modulus: n, exponent: e)
    case .mlDSA44: self = try Self.mlDSA(cose, .mlDSA44)
    case .mlDSA65: self = try Self.mlDSA(cose, .mlDSA65)
    case .mlDSA87: self = try Self.mlDSA(cose, .mlDSA87)
    default: self = .other(algorithm)
    }
  }

  /// The algorithm.
  public var algorithm: COSEAlgorithm {
    switch self {
    case .es256: .es256
    case .es384: .es384
    case .es512: .es512
    case .ed25519, .ed448: .edDSA
    case .rs256: .rs256
    case .mlDSA(.mlDSA44, _): .mlDSA44
    case .mlDSA(.mlDSA65, _): .mlDSA65
    case .mlDSA(.mlDSA87, _): .mlDSA87
    case .other(let algorithm): algorithm
    }
  }

  /// Whether `signature` is this key's over `message`. False for an algorithm this program cannot verify: ask
  /// ``canVerify`` first.
  public func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
    switch self {
    case .es256(let key): key.isValidSignature(signature, for: message)
    case .es384(let key): key.isValidSignature(signature, for: message)
    case .es512(let key): key.isValidSignature(signature, for: message)
    case .ed25519(let key): key.isValidSignature(signature, for: message)
    case .ed448(let key): (try? Ed448.isValidSignature(signature, for: message, publicKey: key)) ?? false
    case .rs256(let n, let e):
      (try? RS256.isValidSignature(signature, for: message, modulus: n, exponent: e)) ?? false
    case .mlDSA(let set, let key):
      (try? set.isValidSignature(signature, for: message, publicKey: key)) ?? false
    case .other: false
    }
  }

  /// Whether this program, with this machine's libcrypto, can verify the algorithm.
  public var canVerify: Bool {
    switch self {
    case .mlDSA(let set, _): set.isAvailable
    case .other: false
    default: true
    }
  }

  /// The DER fault of an ECDSA signature, if it has one.
  public func formatFault(of signature: [UInt8]) -> SignatureFormatError? {
    let size: Int
    switch self {
    case .es256: size = 32
    case .es384: size = 48
    case .es512: size = 66
    default: return nil
    }
    do {
      _ = try ECDSASignature(derRepresentation: signature, byteCount: size)
      return nil
    } catch { return error }
  }

  /// The canonical COSE form of an ES256 key.
  public static func cose(es256 key: P256.Signing.PublicKey) -> CBORValue {
    .intMap([
      (1, .int(2)), (3, .int(-7)), (-1, .int(1)), (-2, .bytes(Array(key.rawRepresentation.prefix(32)))),
      (-3, .bytes(Array(key.rawRepresentation.suffix(32)))),
    ])
  }

  private static func point<Key>(
    _ cose: CBORItem, curve: Int64, _ size: Int, _ make: ([UInt8]) throws(CryptoError) -> Key
  ) throws(COSEKeyError) -> Key {
    try expect(cose, label: 1, 2)
    let found = try integer(cose, label: -1)
    guard found == curve else { throw .unsupportedCurve(found, offset: cose.range.lowerBound) }
    let x = try bytes(cose, label: -2)
    let y = try bytes(cose, label: -3)
    guard x.count == size, y.count == size else {
      throw .coordinateLength(x: x.count, y: y.count, offset: cose.range.lowerBound)
    }
    do { return try make(x + y) } catch { throw .badPublicKey(offset: cose.range.lowerBound) }
  }

  /// Key type AKP, the public key under -1 (RFC 9964 section 3).
  private static func mlDSA(_ cose: CBORItem, _ set: MLDSA) throws(COSEKeyError) -> CredentialPublicKey {
    try expect(cose, label: 1, 7)
    let key = try bytes(cose, label: -1)
    guard key.count == set.publicKeyByteCount else { throw .badPublicKey(offset: cose.range.lowerBound) }
    return .mlDSA(set, key)
  }

  private static func integer(_ cose: CBORItem, label: Int64) throws(COSEKeyError) -> Int64 {
    guard let item = cose[label] else { throw .missing(label: label, offset: cose.range.lowerBound) }
    guard let number = item.int else { throw .wrongType(label: label, offset: item.range.lowerBound) }
    return number
  }

  private static func bytes(_ cose: CBORItem, label: Int64) throws(COSEKeyError) -> [UInt8] {
    guard let item = cose[label] else { throw .missing(label: label, offset: cose.range.lowerBound) }
    guard let bytes = item.bytes else { throw .wrongType(label: label, offset: item.range.lowerBound) }
    return bytes
  }

  private static func expect(_ cose: CBORItem, label: Int64, _ value: Int64) throws(COSEKeyError) {
    guard try integer(cose, label: label) == value else {
      throw .keyTypeDoesNotFit(offset: cose.range.lowerBound)
    }
  }
}

/// Why a COSE key cannot be used.
public enum COSEKeyError: NamedError, Hashable {
  /// Not a map.
  case notAMap(offset: Int)
  /// A label that must be there is not.
  case missing(label: Int64, offset: Int)
  /// A label's value is of the wrong type.
  case wrongType(label: Int64, offset: Int)
  /// kty does not fit the algorithm.
  case keyTypeDoesNotFit(offset: Int)
  /// crv does not fit the algorithm.
  case unsupportedCurve(Int64, offset: Int)
  /// x or y is not exactly as long as the curve's coordinates (RFC 9053 section 7.1.1).
  case coordinateLength(x: Int, y: Int, offset: Int)
  /// The numbers are not a key.
  case badPublicKey(offset: Int)

  public var name: String {
    switch self {
    case .notAMap: "coseKeyNotAMap"
    case .missing(let label, _): "coseKeyMissing(\(label))"
    case .wrongType(let label, _): "coseKeyWrongType(\(label))"
    case .keyTypeDoesNotFit: "coseKeyTypeDoesNotFit"
    case .unsupportedCurve(let curve, _): "unsupportedCurve(\(curve))"
    case .coordinateLength: "coordinateLength"
    case .badPublicKey: "badPublicKey"
    }
  }

  public var message: String {
    switch self {
    case .notAMap: "The public key is not a COSE key."
    case .missing(let label, _): "The public key lacks its member \(label)."
    case .wrongType(let label, _): "The public key's member \(label) is of the wrong type."
    case .keyTypeDoesNotFit: "The public key's type does not fit its algorithm."
    case .unsupportedCurve(let curve, _): "The public key is on a curve that does not fit its algorithm (\(curve))."
    case .coordinateLength(let x, let y, _): "The public key's coordinates have wrong lengths: \(x) and \(y) bytes."
    case .badPublicKey: "The public key is not a valid point."
    }
  }

  public var next: String { "Register the key again; if it stays, note the key's model and report it." }

  public var offset: Int? {
    switch self {
    case .notAMap(let o), .missing(_, let o), .wrongType(_, let o), .keyTypeDoesNotFit(let o),
      .unsupportedCurve(_, let o), .coordinateLength(_, _, let o), .badPublicKey(let o):
      o
    }
  }
}
