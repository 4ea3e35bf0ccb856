// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// A credential as a list names it.
struct CredentialDescriptor {
  let id: [UInt8]
}

extension KeyCore {
  /// The list of descriptors under `key`; nil when absent or empty.
  /// - Throws: what is wrong with it; LIMIT_EXCEEDED beyond the limits of getInfo.
  func descriptors(_ parameters: CommandParameters, _ key: Int64) throws(CTAPStatus) -> [CredentialDescriptor]? {
    guard let list = try parameters.map.optional(key, { $0.array }), !list.isEmpty else { return nil }
    if let limit = profile.info.maxCredentialCountInList, list.count > limit { throw .limitExceeded }
    var result: [CredentialDescriptor] = []
    for item in list {
      guard let members = item.map else { throw .cborUnexpectedType }
      let type = try item.optional("type") { $0.text }.needed()
      let id = try item.optional("id") { $0.bytes }.needed()
      if members.count > 2, profile.quirks.contains(.refusesDescriptorExtras) { throw .invalidCBOR }
      if let limit = profile.info.maxCredentialIdLength, id.count > limit { throw .limitExceeded }
      // Other types are for other authenticators.
      if type == "public-key" { result.append(CredentialDescriptor(id: id)) }
    }
    return result
  }

  /// The credential of an id, when it is this key's and that relying party's and has not been deleted.
  func credential(_ id: [UInt8], rpIdHash: [UInt8]) -> OpenCredential? {
    guard let open = CredentialHandle.open(id, rpIdHash: rpIdHash, under: state.secret) else { return nil }
    guard open.traits.contains(.discoverable) else { return open }
    guard let stored = facts.credentials.first(where: { $0.id == id }) else { return nil }
    open.stored = stored
    return open
  }

  /// Every discoverable credential of a relying party, the newest first.
  func discoverable(rpId: String) -> [OpenCredential] {
    let hash = SHA256.hash(Array(rpId.utf8))
    return facts.credentials.filter { $0.rpId == rpId }.sorted { $0.sequence > $1.sequence }
      .compactMap { credential($0.id, rpIdHash: hash) }
  }

  /// The next value of the signature counter, kept before it is used: a counter must never go back.
  func nextSignatureCount() throws(CTAPStatus) -> UInt32 {
    guard profile.counter != .zero else { return 0 }
    facts.signatures &+= 1
    try save()
    return profile.counter == .falling ? .max - facts.signatures : facts.signatures
  }

  /// Authenticator data (WebAuthn level 3 section 6.1).
  func authenticatorData(
    rpIdHash: [UInt8], userPresent: Bool, userVerified: Bool, count: UInt32, attested: [UInt8] = [],
    extensions: [(String, CBORValue)] = []
  ) -> [UInt8] {
    var flags: AuthenticatorFlags = []
    if userPresent { flags.insert(.userPresent) }
    if userVerified { flags.insert(.userVerified) }
    if !attested.isEmpty { flags.insert(.attestedCredentialData) }
    if !extensions.isEmpty { flags.insert(.extensionData) }
    present(&flags)
    let counter = (0..<4).map { UInt8(count >> (24 - 8 * UInt32($0)) & 0xFF) }
    return rpIdHash + [flags.rawValue] + counter + attested
      + (extensions.isEmpty ? unannouncedBytes : encoded(extensions))
  }

  private func encoded(_ extensions: [(String, CBORValue)]) -> [UInt8] {
    guard profile.quirks.contains(.unsortedExtensionOutputs) else {
      return CBORValue.encode(.map(extensions.map { (.text($0.0), $0.1) }))
    }
    // The longest name first: exactly backwards.
    let backwards = extensions.sorted { ($1.0.utf8.count, $1.0) < ($0.0.utf8.count, $0.0) }
    return [0xA0 | UInt8(clamping: backwards.count)]
      + backwards.flatMap { CBORValue.encode(.text($0.0)) + CBORValue.encode($0.1) }
  }

  /// A user, with the parts that identify a person only after verification (CTAP 2.1 section 6.2.2 step 12).
  func userEntity(_ user: StoredUser, complete: Bool) -> CBORValue {
    .textMap([
      ("id", .bytes(user.id)), ("name", complete ? user.name.map { .text($0) } : nil),
      ("displayName", complete ? user.displayName.map { .text($0) } : nil),
    ])
  }

  func descriptor(_ id: [UInt8]) -> CBORValue { .textMap([("id", .bytes(id)), ("type", .text("public-key"))]) }
}
