// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// How a virtual key is told from a real one, wherever its answers turn up.
///
/// A virtual key says so in three places: its AAGUID, the certificate of its attestation, and the name of its device.
/// Whatever carries any of them is marked as simulated.
public enum SimulatedKey {
  /// The AAGUID of the virtual key, 16 bytes: the ASCII text `sealkey-virtual!`, which no maker of keys uses.
  public static let aaguid: [UInt8] = Array("sealkey-virtual!".utf8)

  /// The organisation in every certificate of a virtual key. It never stands in a real key's certificate.
  public static let organization = "sealkey virtual key (not a real authenticator)"

  /// The name under which a virtual key appears as a device.
  public static let deviceName = "sealkey virtual key"

  /// Whether this is the virtual key's own AAGUID.
  public static func isSimulated(aaguid: [UInt8]) -> Bool { aaguid == Self.aaguid }

  /// Whether a DER certificate was issued under a virtual root: its issuer names the virtual organisation.
  ///
  /// The name is looked for as bytes: a certificate that hides it inside another field is not a real key's either.
  public static func isSimulated(certificate der: [UInt8]) -> Bool {
    let needle = Array(organization.utf8)
    guard der.count >= needle.count else { return false }
    return (0...(der.count - needle.count)).contains { start in
      der[start] == needle[0] && der[start..<start + needle.count].elementsEqual(needle)
    }
  }
}
