// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// authenticatorCredentialManagement (CTAP 2.1 section 6.8), also under its preview command byte.
extension KeyCore {
  func credentialManagement(_ p: CommandParameters) throws(CTAPStatus) -> [UInt8] {
    let subcommand = try p.number(1).needed()
    let parameters = try p.member(2)
    switch subcommand {
    case 0x01:
      try authorise(p, subcommand, rpIdHash: nil)
      return CBORValue.encode(
        .intMap([
          (1, .int(facts.credentials.count)),
          (2, .int(max(0, profile.discoverableCapacity - facts.credentials.count))),
        ]))
    case 0x02:
      try authorise(p, subcommand, rpIdHash: nil)
      var rpIds: [String] = []
      for credential in facts.credentials where !rpIds.contains(credential.rpId) { rpIds.append(credential.rpId) }
      guard !rpIds.isEmpty else { throw .noCredentials }
      let total = rpIds.count
      return relyingParty(rpIds.removeFirst(), rest: rpIds, total: total)
    case 0x03:
      guard case .relyingParties(var rest) = try resume(), !rest.isEmpty else { throw .notAllowed }
      return relyingParty(rest.removeFirst(), rest: rest, total: nil)
    case 0x04:
      let hash = try parameters.needed().optional(1) { $0.bytes }.needed()
      try authorise(p, subcommand, rpIdHash: hash)
      var ids = facts.credentials.filter { SHA256.hash(Array($0.rpId.utf8)) == hash }.map(\.id)
      guard !ids.isEmpty else { throw .noCredentials }
      let total = ids.count
      return try stored(ids.removeFirst(), rest: ids, total: total)
    case 0x05:
      guard case .credentials(var rest) = try resume(), !rest.isEmpty else { throw .notAllowed }
      return try stored(rest.removeFirst(), rest: rest, total: nil)
    case 0x06:
      let index = try target(p, subcommand, parameters.needed())
      facts.credentials.remove(at: index)
      try save()
      return []
    case 0x07:
      let parameters = try parameters.needed()
      let user = try parameters.optional(3) { $0.map == nil ? nil : $0 }.needed()
      let id = try user.optional("id") { $0.bytes }.needed()
      let name = try user.optional("name") { $0.text }
      let displayName = try user.optional("displayName") { $0.text }
      let index = try target(p, subcommand, parameters)
      guard facts.credentials[index].user.id == id else { throw .invalidParameter }
      facts.credentials[index].user.name = name.flatMap { $0.isEmpty ? nil : $0 }
      facts.credentials[index].user.displayName = displayName.flatMap { $0.isEmpty ? nil : $0 }
      try save()
      return []
    default: throw .invalidSubcommand
    }
  }

  /// The credential that deleteCredential and updateUserInformation name, once the token allows it.
  private func target(_ p: CommandParameters, _ subcommand: Int, _ parameters: CBORItem) throws(CTAPStatus) -> Int {
    let named = try parameters.optional(2) { $0.map == nil ? nil : $0 }.needed()
    let id = try named.optional("id") { $0.bytes }.needed()
    let index = facts.credentials.firstIndex { $0.id == id }
    let hash = index.map { SHA256.hash(Array(facts.credentials[$0].rpId.utf8)) }
    try authorise(p, subcommand, rpIdHash: hash ?? [])
    guard let index else { throw .noCredentials }
    return index
  }

  /// The checks that begin every subcommand with a token: the permission cm, and no rpId or the right one.
  private func authorise(_ p: CommandParameters, _ subcommand: Int, rpIdHash: [UInt8]?) throws(CTAPStatus) {
    guard let param = try p.bytes(4) else { throw .puatRequired }
    let pin = try pinProtocol(try p.number(3))
    let signed = [UInt8(truncatingIfNeeded: subcommand)] + (try p.member(2).map(p.raw) ?? [])
    try verifyToken(param, protocol: pin, message: signed, permission: .credentialManagement)
    guard profile.followsCTAP21, let bound = token.rpId else { return }
    guard let rpIdHash, rpIdHash == SHA256.hash(Array(bound.utf8)) else { throw .pinAuthInvalid }
  }

  private func relyingParty(_ rpId: String, rest: [String], total: Int?) -> [UInt8] {
    if rest.isEmpty { dropPending() } else { remember(.relyingParties(rest)) }
    let name = facts.credentials.last { $0.rpId == rpId }?.rpName
    return CBORValue.encode(
      .intMap([
        (3, .textMap([("id", .text(rpId)), ("name", name.map { .text($0) })])),
        (4, .bytes(SHA256.hash(Array(rpId.utf8)))), (5, total.map { .int($0) }),
      ]))
  }

  private func stored(_ id: [UInt8], rest: [[UInt8]], total: Int?) throws(CTAPStatus) -> [UInt8] {
    if rest.isEmpty { dropPending() } else { remember(.credentials(rest)) }
    guard let rpId = facts.credentials.first(where: { $0.id == id })?.rpId,
      let open = credential(id, rpIdHash: SHA256.hash(Array(rpId.utf8))), let stored = open.stored
    else { throw .other }
    let blobKey = open.traits.contains(.largeBlobKey) ? try largeBlobKey(open) : nil
    return CBORValue.encode(
      .intMap([
        (6, userEntity(stored.user, complete: true)), (7, descriptor(id)), (8, open.key.cose()),
        (9, total.map { .int($0) }), (0x0A, .int(Int(open.protection.rawValue))),
        (0x0B, blobKey.map { .bytes($0) }),
      ]))
  }
}
