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
    let response = try untilTouched(CommandAPDU(ins: 0x01, data: clientDataHash + rpIdHash, le: 65536))
    guard response.status == .success else { throw .badAnswer("U2F status \(response.status)") }
    return try U2FAnswer.registration(response.data, rpIdHash: rpIdHash)
  }

  /// U2F_AUTHENTICATE with the first credential of the list that the key knows. The last that is left is asked for
  /// outright: one credential is one request, and the touch.
  func authenticate(
    rpIdHash: [UInt8], clientDataHash: [UInt8], allowList: [CredentialDescriptor]
  ) throws(SecurityKeyError) -> (credentialID: [UInt8], authenticatorData: [UInt8], signature: [UInt8]) {
    let ids = Self.askable(allowList)
    var progress = ListProgress(total: ids.count, commands: ids.count, link: link)
    for (i, id) in ids.enumerated() {
      if i + 1 < ids.count, try !knows(id, rpIdHash) {
        progress.advance(by: 1)
        continue
      }
      let request = Self.authentication(0x03, clientDataHash, rpIdHash, id)
      let response: ResponseAPDU
      do { response = try untilTouched(request) } catch .transport(.hid) { continue }
      // A key may have said yes to a handle that is not its own (QUIRKS Q58): that is no proof, so the search goes on.
      guard response.status == .success else { continue }
      let answer = try U2FAnswer.assertion(response.data, rpIdHash: rpIdHash)
      return (id, answer.authenticatorData, answer.signature)
    }
    if !ids.isEmpty { try link.checkStep() }
    throw .notOnThisKey
  }

  /// The first of `list` that the key knows, each asked alone so that one bad handle never ends the search.
  func known(_ list: [CredentialDescriptor], _ rpIdHash: [UInt8]) throws(SecurityKeyError) -> [UInt8]? {
    let ids = Self.askable(list)
    var progress = ListProgress(total: ids.count, commands: ids.count, link: link)
    for id in ids {
      if try knows(id, rpIdHash) {
        // Some keys say yes to every handle (QUIRKS Q58): one that knows a made-up handle knows nothing.
        return try knows(Random.bytes(id.count), rpIdHash) ? nil : id
      }
      progress.advance(by: 1)
    }
    return nil
  }

  /// Handles that fit a request: their length travels in one byte.
  private static func askable(_ list: [CredentialDescriptor]) -> [[UInt8]] {
    var seen: Set<CredentialDescriptor> = []
    return list.filter { (1...255).contains($0.id.count) && seen.insert($0).inserted }.map(\.id)
  }

  /// "Touch needed" to a check-only request means yes, and anything else is "not this one" (QUIRKS Q57).
  private func knows(_ id: [UInt8], _ rpIdHash: [UInt8]) throws(SecurityKeyError) -> Bool {
    do {
      return try send(Self.authentication(0x07, ListRequest.zeroHash, rpIdHash, id)).status == .conditionsNotSatisfied
    } catch .transport(.hid) {
      // The key choked on a handle that is not its own; the transport has resynchronised.
      return false
    }
  }

  private static func authentication(
    _ control: UInt8, _ clientDataHash: [UInt8], _ rpIdHash: [UInt8], _ id: [UInt8]
  ) -> CommandAPDU {
    CommandAPDU(ins: 0x02, p1: control, data: clientDataHash + rpIdHash + [UInt8(clamping: id.count)] + id, le: 65536)
  }

  /// U2F has no waiting: the request is repeated until the key has been touched, or says something else.
  func untilTouched(_ request: CommandAPDU) throws(SecurityKeyError) -> ResponseAPDU {
    let deadline = Deadline.after(link.timings.touch)
    var asked = false
    while true {
      let response: ResponseAPDU
      do throws(SecurityKeyError) { response = try send(request) } catch .transport(.card(.removed)) where asked {
        // Lifted, as it was asked to be: it goes on with the next tap.
        try link.renew()
        continue
      }
      guard response.status == .conditionsNotSatisfied else {
        if asked, response.status == .success { link.onEvent(.touched) }
        return response
      }
      if !asked {
        link.onEvent(.touchNeeded)
        // On a reader the tap itself is the touch, and a key may want a fresh one.
        if let reader = link.card?.card?.reader { link.onEvent(.tapAgainNeeded(reader: reader)) }
      }
      asked = true
      guard !deadline.isOver else { throw .transport(.timedOut) }
      var waits = [pollfd(fd: link.cancel.eventDescriptor, events: Int16(POLLIN), revents: 0)]
      if poll(&waits, 1, min(200, deadline.millisecondsLeft)) > 0 { throw .transport(.cancelled) }
    }
  }

  /// A registration that is refused for its length is sent once more without Le, as some keys want it (QUIRKS Q59).
  private func send(_ request: CommandAPDU) throws(SecurityKeyError) -> ResponseAPDU {
    let response = try sendOnce(request)
    guard response.status == .wrongLength, request.ins == 0x01, request.le != nil else { return response }
    var other = request
    other.le = nil
    return try sendOnce(other)
  }

  private func sendOnce(_ request: CommandAPDU) throws(SecurityKeyError) -> ResponseAPDU {
    do { return try ResponseAPDU(parsing: link.message(try request.extendedForm())) } catch let error
      as SecurityKeyError
    {
      throw error
    } catch { throw .badAnswer("U2F: \(error)") }
  }
}
