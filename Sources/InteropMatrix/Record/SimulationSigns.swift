// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SecurityKeys
import WebAuthnCore

/// What gives a simulated run away, whatever its flag says.
public enum SimulationSigns: String, Sendable, Hashable, CaseIterable {
  /// The record says so.
  case flag
  /// The key answered in this program, or over UDP.
  case transport
  /// The AAGUID in getInfo or in a registration is the virtual key's.
  case aaguid
  /// An attestation was made under a virtual root.
  case attestationRoot
  /// The node hangs on uhid, or on a virtual USB controller.
  case node
  /// The reader is a virtual one.
  case reader
  /// The key has the virtual key's name.
  case name

  /// For a person.
  public var sentence: String {
    switch self {
    case .flag: "it says so itself"
    case .transport: "the key answered inside a program, or over UDP"
    case .aaguid: "the AAGUID is the virtual key's"
    case .attestationRoot: "the attestation was made under the virtual root"
    case .node: "the device node was made up by the kernel (uhid, dummy_hcd, vhci)"
    case .reader: "the card reader is a virtual one"
    case .name: "the key has the virtual key's name"
    }
  }

  /// Every sign in a record.
  public static func of(_ record: RunRecord) -> Set<SimulationSigns> {
    var found: Set<SimulationSigns> = []
    if record.isSimulated { found.insert(.flag) }
    if !["hidraw", "pcsc"].contains(record.key.transport) { found.insert(.transport) }
    for bytes in [record.before.info, record.after?.info ?? []] + exchanges(record) where hasVirtualAAGUID(bytes) {
      found.insert(.aaguid)
    }
    // A virtual root's name stands in every certificate under it: wherever in the bytes it stands, they are no key's.
    if exchanges(record).contains(where: SimulatedKey.isSimulated(certificate:)) { found.insert(.attestationRoot) }
    if let place = record.key.place {
      if record.key.transport == "pcsc" {
        if ReaderNames.isVirtual(place) { found.insert(.reader) }
      } else if isMadeUp(place) {
        found.insert(.node)
      }
    } else if record.key.transport == "hidraw" {
      // A real run says where its node is.
      found.insert(.node)
    } else if record.key.transport == "pcsc" {
      found.insert(.reader)
    }
    if record.key.name.lowercased().contains("virtual key") { found.insert(.name) }
    return found
  }

  private static func isMadeUp(_ place: String) -> Bool {
    HIDNode(path: "", systemPath: place, descriptor: []).isSimulated
  }

  private static func hasVirtualAAGUID(_ bytes: [UInt8]) -> Bool {
    let needle = SimulatedKey.aaguid
    guard bytes.count >= needle.count else { return false }
    return (0...(bytes.count - needle.count)).contains {
      bytes[$0] == needle[0] && bytes[$0..<$0 + needle.count].elementsEqual(needle)
    }
  }

  private static func exchanges(_ record: RunRecord) -> [[UInt8]] {
    record.steps.flatMap(\.attempts).flatMap { attempt in
      attempt.exchanges.map(\.reply) + [attempt.answer?.attestationObject ?? []]
    }
  }
}
