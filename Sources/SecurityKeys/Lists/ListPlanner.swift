// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// How many ids of a long list go into one request to a key: a pure function of what the key has said of itself.
///
/// The key's limits are maxCredentialCountInList (1 when absent), maxCredentialIdLength and maxMsgSize (1,024 bytes when
/// absent); CTAP 2.1 section 6.4.
struct ListPlanner: Hashable, Sendable {
  /// The most ids in one list.
  let maxCount: Int
  /// The longest id in bytes; a longer one cannot be this key's.
  let maxIDLength: Int
  /// The longest request in bytes, command byte included.
  let maxRequestSize: Int

  /// - Parameter wireLimit: the longest request in bytes that the wire carries.
  init(_ info: AuthenticatorInfo, wireLimit: Int = CTAPHIDFraming.maximumPayload()) {
    maxCount = max(1, info.maxCredentialCountInList ?? 1)
    // WebAuthn's own limit, where the key names none.
    maxIDLength = min(max(1, info.maxCredentialIdLength ?? 1023), 1023)
    maxRequestSize = min(info.effectiveMaxMsgSize, wireLimit)
  }

  /// The ids that can be this key's, each once, in their order.
  /// - Parameter baseSize: bytes of the request without its list.
  func candidates(_ ids: [CredentialDescriptor], baseSize: Int) -> [CredentialDescriptor] {
    var seen: Set<CredentialDescriptor> = []
    return ids.filter { entry in
      (1...maxIDLength).contains(entry.id.count) && baseSize + Self.listSize([entry]) <= maxRequestSize
        && seen.insert(entry).inserted
    }
  }

  /// `ids` in as few lists as keep their order, each as long as the key takes.
  /// - Parameter baseSize: bytes of the request without its list. An entry that does not fit goes alone.
  func chunks(_ ids: [CredentialDescriptor], baseSize: Int) -> [[CredentialDescriptor]] {
    var result: [[CredentialDescriptor]] = []
    var chunk: [CredentialDescriptor] = []
    var size = baseSize
    for entry in ids {
      let entrySize = Self.entrySize(entry)
      let header = Self.headSize(chunk.count + 1)
      if !chunk.isEmpty, chunk.count == maxCount || size + header + entrySize > maxRequestSize {
        result.append(chunk)
        chunk = []
        size = baseSize
      }
      chunk.append(entry)
      size += entrySize
    }
    if !chunk.isEmpty { result.append(chunk) }
    return result
  }

  /// How `ids` are put to the key in the fewest commands.
  /// - Parameters:
  ///   - ids: as ``candidates(_:baseSize:)`` leaves them.
  ///   - ceremonySize: bytes of the registration or assertion without its list.
  ///   - probeSize: bytes of a silent probe without its list.
  ///   - probesFirst: somebody would be asked for a PIN: then it is made sure first that this is the key.
  func plan(_ ids: [CredentialDescriptor], ceremonySize: Int, probeSize: Int, probesFirst: Bool) -> ListPlan {
    let fits = chunks(ids, baseSize: ceremonySize).count <= 1
    return ListPlan(isOutright: fits && !probesFirst, fitsOne: fits, probes: chunks(ids, baseSize: probeSize))
  }

  /// Bytes that a list adds to a request: its member number, its head and its entries.
  static func listSize(_ ids: [CredentialDescriptor]) -> Int {
    ids.reduce(headSize(ids.count)) { $0 + entrySize($1) }
  }

  /// Bytes of `{"id": id, "type": "public-key"}` in canonical CBOR.
  private static func entrySize(_ entry: CredentialDescriptor) -> Int {
    1 + 3 + cborHead(entry.id.count) + entry.id.count + 5 + 11
  }

  /// Bytes of the member number and the array's head.
  private static func headSize(_ count: Int) -> Int { 1 + cborHead(count) }

  private static func cborHead(_ argument: Int) -> Int {
    switch argument {
    case ..<24: 1
    case ..<0x100: 2
    case ..<0x1_0000: 3
    default: 5
    }
  }
}

/// How a list is put to a key.
struct ListPlan: Hashable, Sendable {
  /// The whole list goes with the touch, and nothing before.
  let isOutright: Bool
  /// The whole list could go with the touch.
  let fitsOne: Bool
  /// The lists of the silent probes otherwise.
  let probes: [[CredentialDescriptor]]

  /// The commands of an assertion, the last of which waits for the touch: one outright; otherwise the probes up to the
  /// one that says yes, and the assertion with that one id. A key that knows none of the ids takes the probes alone,
  /// and one command more where another id is known to be on it, in a list: that proves that it reads lists.
  /// - Parameter id: the one that the key knows.
  func assertionCommands(knowing id: [UInt8]?) -> Int {
    if isOutright { return 1 }
    let place = probes.firstIndex { chunk in chunk.contains { $0.id == id } }
    return place.map { $0 + 2 } ?? probes.count
  }

  /// The commands of a registration: one outright; otherwise the probes up to the one that says yes, which ends it, or
  /// all of them and the registration without a list.
  func registrationCommands(knowing id: [UInt8]?) -> Int {
    if isOutright { return 1 }
    let place = probes.firstIndex { chunk in chunk.contains { $0.id == id } }
    return place.map { $0 + 1 } ?? probes.count + 1
  }
}
