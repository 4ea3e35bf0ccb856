// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// A request for a browser or a phone, in the standard JSON of WebAuthn level 3, and what is needed to check the answer.
///
/// A statement's challenge is computed from its fields, here and again when the answer comes: what stands in a file is
/// never signed or believed.
public struct PasskeyRequest: Sendable {
  static let format = "sealkey.request"

  /// What is asked.
  public enum Ask: Sendable {
    /// Make a passkey that is a person's identity.
    case register(name: String, userID: [UInt8], challenge: [UInt8])
    /// Have the root of an identity sign a statement.
    case sign(Statement, DirectoryRecord)
  }

  /// What is asked.
  public let ask: Ask
  /// A virtual key had a part in the identity.
  public let isSimulated: Bool
  /// Whether the credential could be backed up when it was registered, where that is known: it never changes.
  public let backupEligible: Bool?

  private init(_ ask: Ask) {
    self.ask = ask
    isSimulated = false
    backupEligible = nil
  }

  /// Asks for a passkey for `name`.
  /// - Throws: ``CeremonyError/badName``.
  public init(registering name: String) throws(CeremonyError) {
    try Ceremony.checkName(name)
    ask = .register(name: name, userID: Random.bytes(16), challenge: Random.bytes(32))
    isSimulated = false
    backupEligible = nil
  }

  /// Asks the root of `record` to sign.
  /// - Throws: ``CeremonyError/missingCredentialID``.
  public init(
    signing statement: Statement, as record: DirectoryRecord, isSimulated: Bool = false, backupEligible: Bool? = nil
  ) throws(CeremonyError) {
    guard record.credentialID != nil else { throw .missingCredentialID }
    ask = .sign(statement, record)
    self.isSimulated = isSimulated
    self.backupEligible = backupEligible
  }

  /// PublicKeyCredentialCreationOptionsJSON or PublicKeyCredentialRequestOptionsJSON (WebAuthn level 3 section 5.1.8).
  ///
  /// - Parameter excludeList: credentials that must not be there already.
  public func options(excludeList: [[UInt8]] = []) throws -> JSONValue {
    func text(_ bytes: [UInt8]) -> JSONValue { .string(Base64.encode(bytes, .url)) }
    func descriptor(_ id: [UInt8]) -> JSONValue {
      .object([("type", .string("public-key")), ("id", text(id))])
    }
    switch ask {
    case .register(let name, let userID, let challenge):
      return .object([
        ("rp", .object([("id", .string(Seal.relyingPartyID)), ("name", .string(Seal.relyingPartyName))])),
        ("user", .object([("id", text(userID)), ("name", .string(name)), ("displayName", .string(name))])),
        ("challenge", text(challenge)),
        ("pubKeyCredParams", .array([.object([("type", .string("public-key")), ("alg", .int(-7))])])),
        ("excludeCredentials", .array(excludeList.map(descriptor))),
        (
          "authenticatorSelection",
          .object([
            ("residentKey", .string("preferred")), ("requireResidentKey", .bool(false)),
            ("userVerification", .string("preferred")),
          ])
        ), ("attestation", .string("none")),
      ])
    case .sign(let statement, let record):
      return .object([
        ("challenge", text(try statement.commitment().digest)), ("rpId", .string(Seal.relyingPartyID)),
        ("allowCredentials", .array([record.credentialID].compactMap { $0 }.map(descriptor))),
        ("userVerification", .string("preferred")),
      ])
    }
  }

  // MARK: The answer

  /// An answer that verified.
  public enum Answer: Sendable {
    /// A passkey that was made.
    case registered(Ceremony.Registered)
    /// A statement that the root signed.
    case signed(Ceremony.Signed, DirectoryRecord)
  }

  /// Takes RegistrationResponseJSON or AuthenticationResponseJSON, and checks it like any other answer.
  ///
  /// - Throws: ``PasskeyAnswerError``; ``CeremonyError``.
  public func answer(_ bytes: [UInt8]) throws -> Answer {
    let json: JSONValue
    do { json = try JSONReader.parse(bytes) } catch { throw PasskeyAnswerError.notJSON(error) }
    func field(_ name: String, in object: JSONValue?) throws(PasskeyAnswerError) -> [UInt8] {
      guard let text = object?[name]?.string else { throw .missing(name) }
      guard let bytes = Base64.decode(text, .url) else { throw .badEncoding(name) }
      return bytes
    }
    guard json["type"]?.string == "public-key" else { throw PasskeyAnswerError.missing("type") }
    let id = try field("rawId", in: json)
    guard try field("id", in: json) == id else { throw PasskeyAnswerError.idsDiffer }
    let response = json["response"]
    let clientData = try field("clientDataJSON", in: response)
    var evidence = KeyEvidence(isSimulated: isSimulated, name: "passkey", transport: "import")
    switch ask {
    case .register(let name, _, let challenge):
      // A virtual key says what it is in its attested data, whatever way its answer took.
      let object = try? AttestationObject(parsing: field("attestationObject", in: response))
      if let model = object?.authenticatorData.attestedCredentialData?.aaguid, SimulatedKey.isSimulated(aaguid: model) {
        evidence.isSimulated = true
      }
      let made = RegistrationResponse(
        credentialID: id, attestationObject: try field("attestationObject", in: response), clientDataJSON: clientData,
        evidence: evidence)
      return .registered(
        try Ceremony.verify(
          made, challenge: challenge, name: name, tier: .passkey, requiresUserVerification: false))
    case .sign(let statement, let record):
      guard id == record.credentialID else { throw CeremonyError.unexpectedCredential }
      let made = AssertionResponse(
        credentialID: id, clientDataJSON: clientData, authenticatorData: try field("authenticatorData", in: response),
        signature: try field("signature", in: response), evidence: evidence)
      let key: P256.Signing.PublicKey
      do { key = try P256.Signing.PublicKey(rawRepresentation: record.publicKey) } catch {
        throw CeremonyError.badRootKey
      }
      try Ceremony.check(
        made, challenge: try statement.commitment().digest, under: key, backupEligible: backupEligible)
      return .signed(
        Ceremony.Signed(statement: statement, assertion: StoredAssertion(made), evidence: evidence), record)
    }
  }

  // MARK: As a file, until the answer comes

  /// The file's text. Nothing in it is secret.
  public func encoded() -> [UInt8] {
    var members: [(String, JSONValue?)] = [
      ("format", .string(Self.format)), ("version", .int(LocalStore.version)),
    ]
    switch ask {
    case .register(let name, let userID, let challenge):
      members += [("name", .string(name)), ("userIDHex", .hex(userID)), ("challengeHex", .hex(challenge))]
    case .sign(let statement, let record):
      members += [
        ("statement", statement.json), ("identity", record.json), ("simulated", .bool(isSimulated)),
        ("backupEligible", backupEligible.map { .bool($0) }),
      ]
    }
    return JSONWriter.write(.object(members), .readable) + [0x0a]
  }

  /// Reads the file.
  /// - Throws: ``PasskeyAnswerError``; ``FormatError``.
  public init(parsing bytes: [UInt8]) throws {
    let json: JSONValue
    do { json = try JSONReader.parse(bytes) } catch { throw PasskeyAnswerError.notJSON(error) }
    guard json["format"]?.string == Self.format else { throw FormatError.unknownFormat(json["format"]?.string ?? "") }
    let version = json["version"]?.int ?? 0
    guard version == LocalStore.version else {
      throw FormatError.unsupportedVersion(format: Self.format, version: version)
    }
    if let statement = json["statement"], let identity = json["identity"] {
      try self.init(
        signing: Statement(json: statement), as: DirectoryRecord(json: identity),
        isSimulated: json["simulated"]?.bool ?? false, backupEligible: json["backupEligible"]?.bool)
      return
    }
    func hex(_ name: String, _ count: Int) throws(PasskeyAnswerError) -> [UInt8] {
      guard let bytes = json[name]?.string.flatMap({ Hex.decode($0) }), bytes.count == count else {
        throw .badEncoding(name)
      }
      return bytes
    }
    guard let name = json["name"]?.string else { throw PasskeyAnswerError.missing("name") }
    try Ceremony.checkName(name)
    self.init(.register(name: name, userID: try hex("userIDHex", 16), challenge: try hex("challengeHex", 32)))
  }
}

/// Why an answer of a browser or a phone cannot be read.
public enum PasskeyAnswerError: NamedError, Hashable {
  /// Not JSON.
  case notJSON(JSONError)
  /// A member is not there, or is of another kind.
  case missing(String)
  /// A member is not what its encoding should be.
  case badEncoding(String)
  /// `id` and `rawId` differ.
  case idsDiffer

  public var name: String {
    switch self {
    case .notJSON(let error): error.name
    case .missing: "missingMember"
    case .badEncoding: "badEncoding"
    case .idsDiffer: "credentialIDMismatch"
    }
  }

  public var message: String {
    switch self {
    case .notJSON(let error): error.message
    case .missing(let name): "The answer lacks the member '\(name)'."
    case .badEncoding(let name): "The member '\(name)' is not encoded as it must be."
    case .idsDiffer: "The answer names two credential IDs."
    }
  }

  public var next: String { "Save the answer exactly as PublicKeyCredential.toJSON() gives it, and import it again." }

  public var offset: Int? { if case .notJSON(let error) = self { error.offset } else { nil } }
}
