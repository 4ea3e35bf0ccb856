// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// authenticatorGetAssertion and authenticatorGetNextAssertion (CTAP 2.1 sections 6.2 and 6.3). Steps are those of
/// section 6.2.2.
extension KeyCore {
  func getAssertion(_ p: CommandParameters) throws(CTAPStatus) -> [UInt8] {
    let rpId = try p.text(1).needed()
    let clientDataHash = try p.bytes(2).needed()
    guard clientDataHash.count == 32 else { throw .invalidLength }
    let allowList = try descriptors(p, 3)
    let extensions = try assertionExtensions(p)
    let options = try options(p, 5)
    var c = Ceremony(
      rpId: rpId, clientDataHash: clientDataHash, pinUvAuthParam: try p.bytes(6), pinUvAuthProtocol: try p.number(7))

    try checkProtocol(c)  // 1, 2
    try readUvOption(&c, options)  // 4
    guard options["rk"] == nil else { throw .unsupportedOption }
    c.wantsUp = options["up"] ?? true
    if alwaysUv, c.wantsUp { try enforceAlwaysUv(&c) }  // 5
    try verifyUser(&c, permission: .getAssertion)  // 6
    let found = locate(allowList, c)  // 7
    guard let first = found.first else {
      throw profile.quirks.contains(.noMatchIsInvalidCredential) ? .invalidCredential : .noCredentials
    }
    try collectPresence(&c)  // 8, 9
    if let request = extensions.hmacRequest {  // 10
      guard c.wantsUp || c.verifiedByTouch else { throw .unsupportedOption }
      extensions.hmac = try hmacInput(request)
    }
    if extensions.largeBlobKey == false { throw .invalidOption }

    // 11, 12
    let pending = PendingAssertion(
      rpId: rpId, clientDataHash: clientDataHash, userPresent: c.userPresent, userVerified: c.userVerified,
      extensions: extensions, remaining: allowList == nil ? found.dropFirst().compactMap(\.stored) : [])
    var total = pending.remaining.count + 1
    if profile.quirks.contains(.endlessAssertions), allowList == nil {
      total = 1 << 31
      pending.remaining = found.compactMap(\.stored)
    }
    if !pending.remaining.isEmpty { remember(.assertion(pending)) }
    let omitted = allowList?.count == 1 && profile.quirks.contains(.omitsOnlyCredential)
    return try assert(first, pending, total: total > 1 ? total : nil, omitsCredential: omitted)
  }

  func getNextAssertion() throws(CTAPStatus) -> [UInt8] {
    guard case .assertion(let pending) = try resume(), !pending.remaining.isEmpty else { throw .notAllowed }
    let stored = pending.remaining.removeFirst()
    if profile.quirks.contains(.endlessAssertions) { pending.remaining.append(stored) }
    guard let next = credential(stored.id, rpIdHash: SHA256.hash(Array(pending.rpId.utf8))) else { throw .notAllowed }
    let reply = try assert(next, pending, total: nil, omitsCredential: false)
    if pending.remaining.isEmpty { dropPending() } else { remember(.assertion(pending)) }
    return reply
  }

  /// Step 7: the applicable credentials.
  private func locate(_ allowList: [CredentialDescriptor]?, _ c: Ceremony) -> [OpenCredential] {
    if alwaysUv, !c.userVerified, profile.quirks.contains(.alwaysUvHidesCredentials) { return [] }
    guard let allowList else {
      return discoverable(rpId: c.rpId).filter { c.userVerified || $0.protection == .optional }
    }
    if allowList.count > 1, profile.quirks.contains(.listsOfSeveralNeverMatch) { return [] }
    let hash = SHA256.hash(Array(c.rpId.utf8))
    for descriptor in allowList {
      // One is enough: which one is the key's choice (step 11).
      if let found = credential(descriptor.id, rpIdHash: hash), c.userVerified || found.protection != .required {
        return [found]
      }
    }
    return []
  }

  /// Step 13 and the reply.
  private func assert(
    _ credential: OpenCredential, _ pending: PendingAssertion, total: Int?, omitsCredential: Bool
  ) throws(CTAPStatus) -> [UInt8] {
    var outputs: [(String, CBORValue)] = []
    if pending.extensions.credBlob { outputs.append(("credBlob", .bytes(credential.stored?.credBlob ?? []))) }
    if let hmac = pending.extensions.hmac, credential.traits.contains(.hmacSecret), !profile.quirks.contains(.noSecret)
    {
      let random = try credRandom(credential, userVerified: pending.userVerified)
      outputs.append(("hmac-secret", .bytes(try hmac.output(credRandom: random))))
    }
    let authData = authenticatorData(
      rpIdHash: presentedHash(ofRPID: pending.rpId), userPresent: pending.userPresent,
      userVerified: pending.userVerified, count: try nextSignatureCount(), extensions: outputs)
    let signature = try presentedSignature(by: credential, for: authData + pending.clientDataHash)
    let wantsBlobKey = pending.extensions.largeBlobKey == true && credential.traits.contains(.largeBlobKey)
    return CBORValue.encode(
      .intMap([
        (1, omitsCredential ? nil : descriptor(credential.id)), (2, .bytes(authData)), (3, .bytes(signature)),
        (4, credential.stored.map { userEntity($0.user, complete: pending.userVerified) }),
        (5, total.map { .int($0) }),
        (7, wantsBlobKey ? .bytes(try largeBlobKey(credential)) : nil),
      ]))
  }
}
