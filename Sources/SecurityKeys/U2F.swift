// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import WebAuthnCore

/// An older key that speaks only U2F (CTAP 2.1 section 7), its answers given WebAuthn's form.
struct U2F {
  let link: KeyLink

  /// U2F_REGISTER: attestation object of format fido-u2f.
  func register(
    rpIdHash: [UInt8], clientDataHash: [UInt8], excludeList: [CredentialDescriptor]
  ) throws(SecurityKeyError) -> (credentialID: [UInt8], attestationObject: [UInt8]) {
    if try known(excludeList, rpIdHash) != nil { throw .alreadyRegistered }
    let data = try untilTouched(CommandAPDU(ins: 0x01, data: clientDataHash + rpIdHash, le: 65536))
    // 05, public key (65), handle length, handle, certificate, signature.
    guard data.count > 67, data[0] == 0x05, data[1] == 0x04 else { throw .badAnswer("U2F registration") }
    let point = Array(data[2..<66])
    let handleEnd = 67 + Int(data[66])
    guard data[66] > 0, let (item, certificate) = DERItem.first(of: data, from: handleEnd),
      item.isUniversal(16)
    else {
      throw .badAnswer("U2F registration")
    }
    let handle = Array(data[67..<handleEnd])
    let key: P256.Signing.PublicKey
    do { key = try P256.Signing.PublicKey(rawRepresentation: point) } catch { throw .badAnswer("U2F public key") }
    let authData =
      rpIdHash + [0x41, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 16)
      + [UInt8(handle.count >> 8), UInt8(handle.count & 0xFF)] + handle
      + CBORValue.encode(CredentialPublicKey.cose(es256: key))
    let statement = CBORValue.encode(
      .textMap([
        ("sig", .bytes(Array(data[certificate.upperBound...]))), ("x5c", .array([.bytes(Array(data[certificate]))])),
      ]))
    return (
      handle, AttestationObject.build(format: "fido-u2f", statement: statement, authenticatorData: authData)
    )
  }

  /// U2F_AUTHENTICATE with the first credential of the list that the key knows.
  func authenticate(
    rpIdHash: [UInt8], clientDataHash: [UInt8], allowList: [CredentialDescriptor]
  ) throws(SecurityKeyError) -> (credentialID: [UInt8], authenticatorData: [UInt8], signature: [UInt8]) {
    guard let id = try known(allowList, rpIdHash) else { throw .notOnThisKey }
    let data = try untilTouched(
      CommandAPDU(ins: 0x02, p1: 0x03, data: clientDataHash + rpIdHash + [UInt8(id.count)] + id, le: 65536))
    guard data.count > 5 else { throw .badAnswer("U2F assertion") }
    return (id, rpIdHash + [data[0] & 0x01] + data[1..<5], Array(data[5...]))
  }

  /// The first of `list` that the key knows, each asked alone so that one bad handle never ends the search: "touch
  /// needed" to a check-only request means yes, and anything else is "not this one" (QUIRKS Q57).
  func known(_ list: [CredentialDescriptor], _ rpIdHash: [UInt8]) throws(SecurityKeyError) -> [UInt8]? {
    for (i, entry) in list.enumerated() where (1...255).contains(entry.id.count) {
      if list.count > 8, i.isMultiple(of: 8) { link.onEvent(.probing(done: i, of: list.count)) }
      let request = CommandAPDU(
        ins: 0x02, p1: 0x07,
        data: [UInt8](repeating: 0, count: 32) + rpIdHash + [UInt8(entry.id.count)] + entry.id, le: 65536)
      do {
        if try send(request).status == .conditionsNotSatisfied { return entry.id }
      } catch .transport(.hid) {
        // The key choked on a handle that is not its own; the transport has resynchronised.
        continue
      }
    }
    return nil
  }

  /// U2F has no waiting: the request is repeated until the key has been touched.
  private func untilTouched(_ request: CommandAPDU) throws(SecurityKeyError) -> [UInt8] {
    let deadline = Deadline.after(link.timings.touch)
    var asked = false
    while true {
      let response: ResponseAPDU
      do throws(SecurityKeyError) { response = try send(request) } catch .transport(.card(.removed)) where asked {
        // Lifted, as it was asked to be: it goes on with the next tap.
        try link.renew()
        continue
      }
      switch response.status {
      case .success:
        if asked { link.onEvent(.touched) }
        return response.data
      case .conditionsNotSatisfied:
        if !asked {
          link.onEvent(.touchNeeded)
          // On a reader the tap itself is the touch, and a key may want a fresh one.
          if let reader = link.card?.card?.reader { link.onEvent(.tapAgainNeeded(reader: reader)) }
        }
        asked = true
        guard !deadline.isOver else { throw .transport(.timedOut) }
        var waits = [pollfd(fd: link.cancel.eventDescriptor, events: Int16(POLLIN), revents: 0)]
        if poll(&waits, 1, min(200, deadline.millisecondsLeft)) > 0 { throw .transport(.cancelled) }
      default: throw .badAnswer("U2F status \(response.status)")
      }
    }
  }

  private func send(_ request: CommandAPDU) throws(SecurityKeyError) -> ResponseAPDU {
    do { return try ResponseAPDU(parsing: link.message(try request.extendedForm())) } catch let error
      as SecurityKeyError
    {
      throw error
    } catch { throw .badAnswer("U2F: \(error)") }
  }
}
