// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// The first byte of every CTAP2 reply (CTAP 2.1 section 8.2).
///
/// Any byte is a status: one that the standard does not name still has a ``name``, a ``sentence`` and its number.
public struct CTAPStatus: RawRepresentable, Error, Sendable, Hashable, CustomStringConvertible {
  /// The byte on the wire.
  public let rawValue: UInt8

  /// The status of any byte.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// CTAP2_OK.
  public static let success = CTAPStatus(rawValue: 0x00)
  /// CTAP1_ERR_INVALID_COMMAND.
  public static let invalidCommand = CTAPStatus(rawValue: 0x01)
  /// CTAP1_ERR_INVALID_PARAMETER.
  public static let invalidParameter = CTAPStatus(rawValue: 0x02)
  /// CTAP1_ERR_INVALID_LENGTH.
  public static let invalidLength = CTAPStatus(rawValue: 0x03)
  /// CTAP1_ERR_INVALID_SEQ.
  public static let invalidSequence = CTAPStatus(rawValue: 0x04)
  /// CTAP1_ERR_TIMEOUT.
  public static let timeout = CTAPStatus(rawValue: 0x05)
  /// CTAP1_ERR_CHANNEL_BUSY.
  public static let channelBusy = CTAPStatus(rawValue: 0x06)
  /// CTAP1_ERR_LOCK_REQUIRED.
  public static let lockRequired = CTAPStatus(rawValue: 0x0A)
  /// CTAP1_ERR_INVALID_CHANNEL.
  public static let invalidChannel = CTAPStatus(rawValue: 0x0B)
  /// CTAP2_ERR_CBOR_UNEXPECTED_TYPE.
  public static let cborUnexpectedType = CTAPStatus(rawValue: 0x11)
  /// CTAP2_ERR_INVALID_CBOR.
  public static let invalidCBOR = CTAPStatus(rawValue: 0x12)
  /// CTAP2_ERR_MISSING_PARAMETER.
  public static let missingParameter = CTAPStatus(rawValue: 0x14)
  /// CTAP2_ERR_LIMIT_EXCEEDED.
  public static let limitExceeded = CTAPStatus(rawValue: 0x15)
  /// CTAP2_ERR_UNSUPPORTED_EXTENSION (CTAP 2.0 only).
  public static let unsupportedExtension = CTAPStatus(rawValue: 0x16)
  /// CTAP2_ERR_FP_DATABASE_FULL.
  public static let fingerprintDatabaseFull = CTAPStatus(rawValue: 0x17)
  /// CTAP2_ERR_LARGE_BLOB_STORAGE_FULL.
  public static let largeBlobStorageFull = CTAPStatus(rawValue: 0x18)
  /// CTAP2_ERR_CREDENTIAL_EXCLUDED.
  public static let credentialExcluded = CTAPStatus(rawValue: 0x19)
  /// CTAP2_ERR_PROCESSING.
  public static let processing = CTAPStatus(rawValue: 0x21)
  /// CTAP2_ERR_INVALID_CREDENTIAL.
  public static let invalidCredential = CTAPStatus(rawValue: 0x22)
  /// CTAP2_ERR_USER_ACTION_PENDING.
  public static let userActionPending = CTAPStatus(rawValue: 0x23)
  /// CTAP2_ERR_OPERATION_PENDING.
  public static let operationPending = CTAPStatus(rawValue: 0x24)
  /// CTAP2_ERR_NO_OPERATIONS.
  public static let noOperations = CTAPStatus(rawValue: 0x25)
  /// CTAP2_ERR_UNSUPPORTED_ALGORITHM.
  public static let unsupportedAlgorithm = CTAPStatus(rawValue: 0x26)
  /// CTAP2_ERR_OPERATION_DENIED.
  public static let operationDenied = CTAPStatus(rawValue: 0x27)
  /// CTAP2_ERR_KEY_STORE_FULL.
  public static let keyStoreFull = CTAPStatus(rawValue: 0x28)
  /// CTAP2_ERR_NO_OPERATION_PENDING (CTAP 2.0 only).
  public static let noOperationPending = CTAPStatus(rawValue: 0x2A)
  /// CTAP2_ERR_UNSUPPORTED_OPTION.
  public static let unsupportedOption = CTAPStatus(rawValue: 0x2B)
  /// CTAP2_ERR_INVALID_OPTION.
  public static let invalidOption = CTAPStatus(rawValue: 0x2C)
  /// CTAP2_ERR_KEEPALIVE_CANCEL.
  public static let keepaliveCancel = CTAPStatus(rawValue: 0x2D)
  /// CTAP2_ERR_NO_CREDENTIALS.
  public static let noCredentials = CTAPStatus(rawValue: 0x2E)
  /// CTAP2_ERR_USER_ACTION_TIMEOUT.
  public static let userActionTimeout = CTAPStatus(rawValue: 0x2F)
  /// CTAP2_ERR_NOT_ALLOWED.
  public static let notAllowed = CTAPStatus(rawValue: 0x30)
  /// CTAP2_ERR_PIN_INVALID.
  public static let pinInvalid = CTAPStatus(rawValue: 0x31)
  /// CTAP2_ERR_PIN_BLOCKED.
  public static let pinBlocked = CTAPStatus(rawValue: 0x32)
  /// CTAP2_ERR_PIN_AUTH_INVALID.
  public static let pinAuthInvalid = CTAPStatus(rawValue: 0x33)
  /// CTAP2_ERR_PIN_AUTH_BLOCKED.
  public static let pinAuthBlocked = CTAPStatus(rawValue: 0x34)
  /// CTAP2_ERR_PIN_NOT_SET.
  public static let pinNotSet = CTAPStatus(rawValue: 0x35)
  /// CTAP2_ERR_PUAT_REQUIRED.
  public static let puatRequired = CTAPStatus(rawValue: 0x36)
  /// CTAP2_ERR_PIN_POLICY_VIOLATION.
  public static let pinPolicyViolation = CTAPStatus(rawValue: 0x37)
  /// CTAP2_ERR_PIN_TOKEN_EXPIRED (CTAP 2.0 only).
  public static let pinTokenExpired = CTAPStatus(rawValue: 0x38)
  /// CTAP2_ERR_REQUEST_TOO_LARGE.
  public static let requestTooLarge = CTAPStatus(rawValue: 0x39)
  /// CTAP2_ERR_ACTION_TIMEOUT.
  public static let actionTimeout = CTAPStatus(rawValue: 0x3A)
  /// CTAP2_ERR_UP_REQUIRED.
  public static let upRequired = CTAPStatus(rawValue: 0x3B)
  /// CTAP2_ERR_UV_BLOCKED.
  public static let uvBlocked = CTAPStatus(rawValue: 0x3C)
  /// CTAP2_ERR_INTEGRITY_FAILURE.
  public static let integrityFailure = CTAPStatus(rawValue: 0x3D)
  /// CTAP2_ERR_INVALID_SUBCOMMAND.
  public static let invalidSubcommand = CTAPStatus(rawValue: 0x3E)
  /// CTAP2_ERR_UV_INVALID.
  public static let uvInvalid = CTAPStatus(rawValue: 0x3F)
  /// CTAP2_ERR_UNAUTHORIZED_PERMISSION.
  public static let unauthorizedPermission = CTAPStatus(rawValue: 0x40)
  /// CTAP1_ERR_OTHER.
  public static let other = CTAPStatus(rawValue: 0x7F)
  /// CTAP2_ERR_SPEC_LAST.
  public static let specLast = CTAPStatus(rawValue: 0xDF)

  /// Every status that a version of the standard names, in order.
  public static let named: [CTAPStatus] = table.map(\.0)

  /// The stable name in lowerCamelCase: `pinInvalid`; `extension0xE0` and `vendor0xF1` in the ranges left to
  /// extensions and vendors; `unknown0x70` elsewhere.
  public var name: String { entry?.1 ?? "\(rangeName)\(hex)" }

  /// The name as the standard prints it, or nil when it has none.
  public var standardName: String? { entry?.2 }

  /// One plain sentence for a person.
  public var sentence: String {
    if let entry { return entry.3 }
    switch rawValue {
    case 0xE0...0xEF: return "The key reports an error of an extension (\(hex))."
    case 0xF0...0xFF: return "The key reports an error of its maker's own (\(hex))."
    default: return "The key reports an error that no standard names (\(hex))."
    }
  }

  /// The name, then the number.
  public var description: String { "\(name) (\(hex))" }

  private var hex: String {
    let digits = String(rawValue, radix: 16, uppercase: true)
    return digits.count == 1 ? "0x0\(digits)" : "0x\(digits)"
  }

  private var rangeName: String {
    switch rawValue {
    case 0xE0...0xEF: "extension"
    case 0xF0...0xFF: "vendor"
    default: "unknown"
    }
  }

  private var entry: (CTAPStatus, String, String, String)? { Self.index[rawValue] }

  private static let index = Dictionary(uniqueKeysWithValues: table.map { ($0.0.rawValue, $0) })

  private static let table: [(CTAPStatus, String, String, String)] = [
    (.success, "success", "CTAP2_OK", "The key did what it was asked."),
    (.invalidCommand, "invalidCommand", "CTAP1_ERR_INVALID_COMMAND", "The key does not know this command."),
    (
      .invalidParameter, "invalidParameter", "CTAP1_ERR_INVALID_PARAMETER",
      "The key refused a parameter of the command."
    ),
    (.invalidLength, "invalidLength", "CTAP1_ERR_INVALID_LENGTH", "The key found a length in the command to be wrong."),
    (
      .invalidSequence, "invalidSequence", "CTAP1_ERR_INVALID_SEQ",
      "The parts of the command reached the key out of order."
    ),
    (.timeout, "timeout", "CTAP1_ERR_TIMEOUT", "The command took too long to reach the key."),
    (.channelBusy, "channelBusy", "CTAP1_ERR_CHANNEL_BUSY", "The key is busy with another request."),
    (.lockRequired, "lockRequired", "CTAP1_ERR_LOCK_REQUIRED", "The key wants its channel locked first."),
    (.invalidChannel, "invalidChannel", "CTAP1_ERR_INVALID_CHANNEL", "The key does not know this channel."),
    (
      .cborUnexpectedType, "cborUnexpectedType", "CTAP2_ERR_CBOR_UNEXPECTED_TYPE",
      "The key found a value of the wrong type in the command."
    ),
    (.invalidCBOR, "invalidCBOR", "CTAP2_ERR_INVALID_CBOR", "The key could not read the command."),
    (
      .missingParameter, "missingParameter", "CTAP2_ERR_MISSING_PARAMETER",
      "The command lacks a parameter that the key needs."
    ),
    (.limitExceeded, "limitExceeded", "CTAP2_ERR_LIMIT_EXCEEDED", "The command holds more than the key can take."),
    (
      .unsupportedExtension, "unsupportedExtension", "CTAP2_ERR_UNSUPPORTED_EXTENSION",
      "The key does not know an extension in the command."
    ),
    (
      .fingerprintDatabaseFull, "fingerprintDatabaseFull", "CTAP2_ERR_FP_DATABASE_FULL",
      "The key has no room for another fingerprint."
    ),
    (
      .largeBlobStorageFull, "largeBlobStorageFull", "CTAP2_ERR_LARGE_BLOB_STORAGE_FULL",
      "The key has no room for this much data."
    ),
    (
      .credentialExcluded, "credentialExcluded", "CTAP2_ERR_CREDENTIAL_EXCLUDED",
      "This key is registered here already."
    ),
    (.processing, "processing", "CTAP2_ERR_PROCESSING", "The key is still working."),
    (.invalidCredential, "invalidCredential", "CTAP2_ERR_INVALID_CREDENTIAL", "The credential is not one of this key."),
    (.userActionPending, "userActionPending", "CTAP2_ERR_USER_ACTION_PENDING", "The key waits for the person to act."),
    (.operationPending, "operationPending", "CTAP2_ERR_OPERATION_PENDING", "The key has an operation under way."),
    (.noOperations, "noOperations", "CTAP2_ERR_NO_OPERATIONS", "The key has no operation under way."),
    (
      .unsupportedAlgorithm, "unsupportedAlgorithm", "CTAP2_ERR_UNSUPPORTED_ALGORITHM",
      "The key offers none of the signature algorithms asked for."
    ),
    (.operationDenied, "operationDenied", "CTAP2_ERR_OPERATION_DENIED", "The request was not approved on the key."),
    (.keyStoreFull, "keyStoreFull", "CTAP2_ERR_KEY_STORE_FULL", "The key has no room for another credential."),
    (.noOperationPending, "noOperationPending", "CTAP2_ERR_NO_OPERATION_PENDING", "The key has nothing to cancel."),
    (
      .unsupportedOption, "unsupportedOption", "CTAP2_ERR_UNSUPPORTED_OPTION",
      "The key does not support an option that was asked for."
    ),
    (.invalidOption, "invalidOption", "CTAP2_ERR_INVALID_OPTION", "An option that was asked for is not valid here."),
    (.keepaliveCancel, "keepaliveCancel", "CTAP2_ERR_KEEPALIVE_CANCEL", "The request was cancelled."),
    (.noCredentials, "noCredentials", "CTAP2_ERR_NO_CREDENTIALS", "The key holds none of the credentials asked for."),
    (.userActionTimeout, "userActionTimeout", "CTAP2_ERR_USER_ACTION_TIMEOUT", "The key was not touched in time."),
    (.notAllowed, "notAllowed", "CTAP2_ERR_NOT_ALLOWED", "The key does not allow this now."),
    (.pinInvalid, "pinInvalid", "CTAP2_ERR_PIN_INVALID", "The PIN is wrong."),
    (
      .pinBlocked, "pinBlocked", "CTAP2_ERR_PIN_BLOCKED",
      "The PIN is blocked for good; only a reset of the key helps, and it deletes every credential."
    ),
    (.pinAuthInvalid, "pinAuthInvalid", "CTAP2_ERR_PIN_AUTH_INVALID", "The key did not accept the proof of the PIN."),
    (
      .pinAuthBlocked, "pinAuthBlocked", "CTAP2_ERR_PIN_AUTH_BLOCKED",
      "Too many wrong PINs in a row: unplug the key and plug it in again to go on."
    ),
    (.pinNotSet, "pinNotSet", "CTAP2_ERR_PIN_NOT_SET", "The key has no PIN yet."),
    (.puatRequired, "puatRequired", "CTAP2_ERR_PUAT_REQUIRED", "The key wants the PIN or a fingerprint for this."),
    (
      .pinPolicyViolation, "pinPolicyViolation", "CTAP2_ERR_PIN_POLICY_VIOLATION",
      "The new PIN breaks the rules of the key, for example by being too short."
    ),
    (.pinTokenExpired, "pinTokenExpired", "CTAP2_ERR_PIN_TOKEN_EXPIRED", "The proof of the PIN has expired."),
    (.requestTooLarge, "requestTooLarge", "CTAP2_ERR_REQUEST_TOO_LARGE", "The command is too long for the key."),
    (.actionTimeout, "actionTimeout", "CTAP2_ERR_ACTION_TIMEOUT", "Nobody acted on the key in time."),
    (.upRequired, "upRequired", "CTAP2_ERR_UP_REQUIRED", "The key must be touched for this."),
    (.uvBlocked, "uvBlocked", "CTAP2_ERR_UV_BLOCKED", "Fingerprints are blocked; use the PIN."),
    (
      .integrityFailure, "integrityFailure", "CTAP2_ERR_INTEGRITY_FAILURE",
      "The data to be stored does not match its checksum."
    ),
    (
      .invalidSubcommand, "invalidSubcommand", "CTAP2_ERR_INVALID_SUBCOMMAND",
      "The key does not know this part of the command."
    ),
    (.uvInvalid, "uvInvalid", "CTAP2_ERR_UV_INVALID", "The fingerprint was not recognised."),
    (
      .unauthorizedPermission, "unauthorizedPermission", "CTAP2_ERR_UNAUTHORIZED_PERMISSION",
      "The key does not grant a permission that was asked for."
    ),
    (.other, "other", "CTAP1_ERR_OTHER", "The key reports an error without saying which."),
    (.specLast, "specLast", "CTAP2_ERR_SPEC_LAST", "The key reports an error without saying which."),
  ]
}
