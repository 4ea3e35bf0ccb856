// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// Requests with a list, as they go over the wire: to send where one token serves a whole search, and to know their
/// size before libfido2 writes the like.
enum ListRequest {
  /// Who vouches for the person, and over which hash.
  typealias Authentication = (param: [UInt8], version: PINProtocol)

  /// authenticatorGetAssertion (CTAP 2.1 section 6.2). `up` goes along only when it is false.
  static func getAssertion(
    rpID: String, clientDataHash: [UInt8], allowList: [CredentialDescriptor], isSilent: Bool = false,
    extensions: CBORValue? = nil, authentication: Authentication? = nil
  ) -> [UInt8] {
    let map: CBORValue = .intMap([
      (1, .text(rpID)), (2, .bytes(clientDataHash)), (3, allowList.isEmpty ? nil : list(allowList)), (4, extensions),
      (5, isSilent ? .textMap([("up", .bool(false))]) : nil), (6, authentication.map { .bytes($0.param) }),
      (7, authentication.map { .int($0.version.rawValue) }),
    ])
    return [CTAPCommand.getAssertion.rawValue] + CBORValue.encode(map)
  }

  /// authenticatorMakeCredential (CTAP 2.1 section 6.1), with ES256 alone (QUIRKS Q1).
  static func makeCredential(
    _ request: RegistrationRequest, clientDataHash: [UInt8], excludeList: [CredentialDescriptor],
    authentication: Authentication?
  ) -> [UInt8] {
    let map: CBORValue = .intMap([
      (1, .bytes(clientDataHash)), (2, .textMap([("id", .text(request.rpID)), ("name", .text(request.rpName))])),
      (
        3,
        .textMap([
          ("id", .bytes(request.userID)), ("name", .text(request.userName)),
          ("displayName", .text(request.userDisplayName)),
        ])
      ),
      (4, .array([.textMap([("alg", .int(-7)), ("type", .text("public-key"))])])),
      (5, excludeList.isEmpty ? nil : list(excludeList)),
      (6, request.enablesPRF ? .textMap([("hmac-secret", .bool(true))]) : nil),
      (7, request.isDiscoverable ? .textMap([("rk", .bool(true))]) : nil),
      (8, authentication.map { .bytes($0.param) }), (9, authentication.map { .int($0.version.rawValue) }),
    ])
    return [CTAPCommand.makeCredential.rawValue] + CBORValue.encode(map)
  }

  private static func list(_ ids: [CredentialDescriptor]) -> CBORValue {
    .array(ids.map { .textMap([("id", .bytes($0.id)), ("type", .text("public-key"))]) })
  }

  // MARK: - Sizes in bytes, without the list

  /// A silent probe.
  static func probeSize(rpID: String, token: PINProtocol? = nil) -> Int {
    let one = [CredentialDescriptor(id: [0])]
    let request = getAssertion(
      rpID: rpID, clientDataHash: zeroHash, allowList: one, isSilent: true, authentication: longest(token))
    return request.count - ListPlanner.listSize(one)
  }

  /// The assertion itself at its longest: verified either way, with hmac-secret's input when salts are given.
  static func assertionSize(_ request: AssertionRequest) -> Int {
    let hmac = request.prfSalts == nil ? 0 : 224
    return getAssertion(
      rpID: request.rpID, clientDataHash: zeroHash, allowList: [], isSilent: true, authentication: longest(.two)
    ).count + hmac
  }

  /// The registration itself at its longest.
  static func registrationSize(_ request: RegistrationRequest) -> Int {
    var longer = request
    longer.isDiscoverable = true
    // The option uv.
    return makeCredential(longer, clientDataHash: zeroHash, excludeList: [], authentication: longest(.two)).count + 4
  }

  /// What a probe says it hashes.
  static let zeroHash = [UInt8](repeating: 0, count: 32)

  private static func longest(_ version: PINProtocol?) -> Authentication? {
    version.map { ([UInt8](repeating: 0, count: $0 == .one ? 16 : 32), $0) }
  }
}
