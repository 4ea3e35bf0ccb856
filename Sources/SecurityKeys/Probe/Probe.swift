// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// The second lane: what libfido2 cannot say, on the same channel. Nothing here waits for a touch but ``select()``.
struct Probe {
  let link: KeyLink
  let info: AuthenticatorInfo

  /// PIN tries left, and whether the key wants to be unplugged first. Nil when the key has no PIN or does not say.
  func pinRetries() throws(SecurityKeyError) -> (triesLeft: Int, needsPowerCycle: Bool)? {
    guard info.option("clientPin") == true, let version = PINProtocol.preferred(info) else { return nil }
    // The protocol always goes along, although 2.1 does not ask for it (QUIRKS Q65).
    let reply = try clientPIN([(1, .int(version.rawValue)), (2, .int(1))])
    guard let tries = reply[3]?.unsigned else { return nil }
    return (Int(clamping: tries), reply[4]?.bool ?? false)
  }

  /// Fingerprint tries left; nil when the key does not say.
  func uvRetries() throws(SecurityKeyError) -> Int? {
    let version = PINProtocol.preferred(info)?.rawValue
    let reply = try clientPIN([(1, version.map { .int($0) }), (2, .int(7))])
    return reply[5]?.unsigned.map { Int(clamping: $0) }
  }

  /// Waits for a touch without doing anything (CTAP 2.1 section 6.9).
  func select() throws(SecurityKeyError) { _ = try send([CTAPCommand.selection.rawValue]) }

  /// Which credential of `ids`, if any, is on the key, asked silently: no touch, no verification (CTAP 2.1 section
  /// 6.2, with `up` false).
  /// - Parameter token: for a key that is always to verify the person, which hides its credentials otherwise (QUIRKS
  ///   Q46).
  /// - Returns: an id of `ids`, or nil when the key has said "no credentials"; nothing else means no.
  /// - Throws: what the key said instead of yes or no; ``SecurityKeyError/badAnswer(_:)`` when it names a credential
  ///   that was not asked for.
  func knows(
    _ ids: [CredentialDescriptor], rpID: String, token: PINToken? = nil
  ) throws(SecurityKeyError) -> [UInt8]? {
    let question = ListRequest.getAssertion(
      rpID: rpID, clientDataHash: ListRequest.zeroHash, allowList: ids, isSilent: true,
      authentication: token.map { ($0.authenticate(ListRequest.zeroHash), $0.version) })
    let reply: CTAPReply?
    do { reply = try send(question) } catch .notOnThisKey { return nil }
    // Yes is an assertion, whole and for this relying party; nothing less.
    guard let authData = reply?[2]?.bytes, authData.count >= 37, reply?[3]?.bytes?.isEmpty == false,
      authData.starts(with: SHA256.hash(Array(rpID.utf8)))
    else { throw .badAnswer("getAssertion: no assertion for this relying party") }
    // A key may leave the credential out when it was asked for only one (QUIRKS Q63).
    guard let id = reply?[1]?["id"]?.bytes ?? (ids.count == 1 ? ids.first?.id : nil) else {
      throw .badAnswer("getAssertion: no credential named")
    }
    guard ids.contains(where: { $0.id == id }) else {
      throw .badAnswer("getAssertion: a credential that was not asked for")
    }
    return id
  }

  func clientPIN(_ members: [(Int, CBORValue?)]) throws(SecurityKeyError) -> CBORItem {
    guard let reply = try send([CTAPCommand.clientPIN.rawValue] + CBORValue.encode(.intMap(members))) else {
      throw .badAnswer("clientPIN: nothing in it")
    }
    return reply.map
  }

  /// The reply's map; nil when the reply is a bare status.
  func send(_ request: [UInt8]) throws(SecurityKeyError) -> CTAPReply? {
    let reply = try link.exchange(request)
    guard reply.first == 0 else { throw .of(CTAPStatus(rawValue: reply.first ?? 0x7F)) }
    guard reply.count > 1 else { return nil }
    let bytes = Array(reply.dropFirst())
    do { return CTAPReply(map: try CBORDecoder.decodeAll(bytes), bytes: bytes) } catch {
      throw .badAnswer(error.message)
    }
  }
}
