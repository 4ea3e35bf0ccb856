// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

extension AuthenticatorInfo {
  /// The canonical CBOR, unknown members included, without a status byte.
  public func encoded() -> [UInt8] {
    var members: [(CBORValue, CBORValue)] = otherMembers.map { (.encoded($0.key), .encoded($0.value)) }
    for (number, value) in knownMembers() { members.append((.int(number), value)) }
    return CBORValue.encode(.map(members))
  }

  /// What a strict reader may be shown of this key: canonical, only members of CTAP 2.1, only values of sane size.
  ///
  /// libfido2 refuses a whole reply for one member out of order, and takes PIN protocol 2 whenever it is offered; so a
  /// protocol is forced by showing only that one.
  /// - Parameter pinProtocol: the only PIN/UV auth protocol to show, when the key lists it; nil for all.
  public func sanitised(pinProtocol: Int? = nil) -> [UInt8] {
    var shown = self
    shown.otherMembers = []
    shown.versions = short(versions)
    shown.extensions = short(extensions)
    shown.transports = short(transports)
    shown.options = options.filter { $0.key.utf8.count <= 32 }
    shown.certifications = certifications.filter { $0.key.utf8.count <= 32 }
    shown.algorithms = algorithms.filter { $0.type == "public-key" && (-0x8000..<0).contains($0.alg) }
    shown.pinUvAuthProtocols = pinUvAuthProtocols.filter {
      (1...2).contains($0) && (pinProtocol == nil || pinProtocol == $0)
    }
    // 0x15 and later came after the libfido2 that must read this.
    let members = shown.knownMembers().filter { $0.0 <= 0x14 }
    return CBORValue.encode(.map(members.map { (.int($0.0), $0.1) }))
  }

  private func short(_ texts: [String]) -> [String] { texts.filter { $0.utf8.count <= 32 }.prefix(32).map { $0 } }

  /// Members that are present, by number. An empty list is an absent member, except where nil says that.
  private func knownMembers() -> [(Int, CBORValue)] {
    let members: [(Int, CBORValue?)] = [
      (0x01, list(versions.map { .text($0) }) ?? .array([])),
      (0x02, list(extensions.map { .text($0) })),
      (0x03, .bytes(aaguid)),
      (0x04, named(options) { .bool($0) }),
      (0x05, maxMsgSize.map { .int($0) }),
      (0x06, list(pinUvAuthProtocols.map { .int($0) })),
      (0x07, maxCredentialCountInList.map { .int($0) }),
      (0x08, maxCredentialIdLength.map { .int($0) }),
      (0x09, list(transports.map { .text($0) })),
      (0x0A, list(algorithms.map { .textMap([("alg", .int(Int($0.alg))), ("type", .text($0.type))]) })),
      (0x0B, maxSerializedLargeBlobArray.map { .int($0) }),
      (0x0C, forcePINChange.map { .bool($0) }),
      (0x0D, minPINLength.map { .int($0) }),
      (0x0E, firmwareVersion.map { .unsigned($0) }),
      (0x0F, maxCredBlobLength.map { .int($0) }),
      (0x10, maxRPIDsForSetMinPINLength.map { .int($0) }),
      (0x11, preferredPlatformUvAttempts.map { .int($0) }),
      (0x12, uvModality.map { .unsigned($0) }),
      (0x13, named(certifications) { .unsigned($0) }),
      (0x14, remainingDiscoverableCredentials.map { .int($0) }),
      (0x15, vendorPrototypeConfigCommands.map { .array($0.map { .unsigned($0) }) }),
      (0x16, list(attestationFormats.map { .text($0) })),
      (0x17, uvCountSinceLastPinEntry.map { .int($0) }),
      (0x18, longTouchForReset.map { .bool($0) }),
      (0x19, encIdentifier.map { .bytes($0) }),
      (0x1A, list(transportsForReset.map { .text($0) })),
      (0x1B, pinComplexityPolicy.map { .bool($0) }),
      (0x1C, pinComplexityPolicyURL.map { .bytes($0) }),
      (0x1D, maxPINLength.map { .int($0) }),
    ]
    return members.compactMap { number, value in value.map { (number, $0) } }
  }

  private func list(_ values: [CBORValue]) -> CBORValue? { values.isEmpty ? nil : .array(values) }

  private func named<T>(_ values: [String: T], _ transform: (T) -> CBORValue) -> CBORValue? {
    values.isEmpty ? nil : .map(values.map { (.text($0.key), transform($0.value)) })
  }
}
