// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// Why a cryptographic operation did not give what was asked.
public enum CryptoError: NamedError, Hashable {
  /// A public key's bytes are not a point of the curve, or have the wrong length.
  case badPublicKey
  /// A private key's bytes are not a scalar of the curve, or have the wrong length.
  case badPrivateKey
  /// An authenticated decryption did not authenticate: wrong key, or changed data.
  case authenticationFailed
  /// An argument has a length the algorithm does not take.
  case badLength(what: String, count: Int)
  /// A key agreement gave the all-zero result, which means a bad peer key.
  case agreementFailed
  /// This machine's libcrypto does not offer the algorithm.
  case unavailable(String)
  /// libcrypto refused for a reason of its own; `function` is where.
  case failed(function: String)

  public var name: String {
    switch self {
    case .badPublicKey: "badPublicKey"
    case .badPrivateKey: "badPrivateKey"
    case .authenticationFailed: "authenticationFailed"
    case .badLength: "badLength"
    case .agreementFailed: "agreementFailed"
    case .unavailable: "algorithmUnavailable"
    case .failed: "cryptoFailed"
    }
  }

  public var message: String {
    switch self {
    case .badPublicKey: "The public key is not a valid key."
    case .badPrivateKey: "The private key is not a valid key."
    case .authenticationFailed: "The data could not be opened: the key is wrong or the data was changed."
    case .badLength(let what, let count): "The \(what) has a wrong length: \(count) bytes."
    case .agreementFailed: "The other side's key gives no shared secret."
    case .unavailable(let algorithm): "This computer's OpenSSL does not offer \(algorithm)."
    case .failed(let function): "OpenSSL's \(function) failed."
    }
  }

  public var next: String {
    switch self {
    case .unavailable: "Use a system with OpenSSL 3.5 or later, such as Debian 13."
    case .failed: "Try again; if it stays, check that the system's OpenSSL works."
    default: "Check that the right file, key and data were given."
    }
  }

  /// A failure inside libcrypto. Empties its error queue, so that nothing of this call is blamed on a later one.
  static func openssl(_ function: String) -> CryptoError {
    ERR_clear_error()
    return .failed(function: function)
  }

  /// Any other failure, with libcrypto's error queue emptied.
  static func clearing(_ error: CryptoError) -> CryptoError {
    ERR_clear_error()
    return error
  }
}
