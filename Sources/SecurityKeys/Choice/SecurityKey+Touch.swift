// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// A touch that does nothing else.
extension SecurityKey {
  /// Waits for a touch and does nothing else: how one key among several is chosen. False when the key cannot be asked
  /// for that.
  ///
  /// A key on a card reader has been touched when it was laid there. CTAP 2.1 has a command for it (section 6.9). A CTAP 2.0 key is asked for a credential with an empty pinUvAuthParam
  /// (CTAP 2.0 section 5.1), a U2F key for one that is thrown away; neither leaves anything behind.
  /// - Throws: ``SecurityKeyError``.
  public func waitForTouch() async throws -> Bool {
    try await act { [self] in
      let session = try connect()
      // Whoever laid the key on a reader has touched it.
      if session.link.card != nil { return true }
      let deadline = Deadline.after(timings.touch)
      guard let info = session.facts.info else {
        try U2F(link: session.link).waitForTouch()
        return true
      }
      let probe = Probe(link: session.link, info: info)
      if !info.speaksCTAP21 {
        // With some keys the question costs a PIN try (QUIRKS Q20): it is not asked where tries are short.
        if let tries = try? probe.pinRetries(), tries.triesLeft <= pinTriesFloor { return false }
      }
      while true {
        session.link.begin()
        do {
          guard info.speaksCTAP21 else { return try probe.touchByEmptyParam() }
          try probe.select()
          return true
        } catch let error as SecurityKeyError {
          // The key's patience is shorter than ours.
          guard late(error, session.link) == .transport(.timedOut), !deadline.isOver, !cancelSwitch.isPulled else {
            throw error
          }
        }
      }
    }
  }
}

extension Probe {
  /// The probe of CTAP 2.0 (QUIRKS Q18 to Q20): true when the key was touched, false when it cannot be asked like that.
  func touchByEmptyParam() throws(SecurityKeyError) -> Bool {
    let request: CBORValue = .intMap([
      (1, .bytes(ListRequest.zeroHash)), (2, .textMap([("id", .text("touch.invalid")), ("name", .text("touch"))])),
      (
        3,
        .textMap([("id", .bytes([1])), ("name", .text("touch")), ("displayName", .text("touch"))])
      ),
      (4, .array([.textMap([("alg", .int(-7)), ("type", .text("public-key"))])])),
      // Never without the protocol: some keys answer at once then.
      (8, .bytes([])), (9, .int(1)),
    ])
    let began = Deadline.now
    do {
      _ = try send([CTAPCommand.makeCredential.rawValue] + CBORValue.encode(request))
      return true
    } catch {
      switch error {
      // The right statuses are "PIN not set" and "PIN invalid"; most keys say something else.
      case .pinInvalid, .pinNotSet, .status(.pinAuthInvalid): return true
      // From some keys this comes after the touch, from others at once: nobody is as quick as that.
      case .status(.missingParameter): return Deadline.now.nanoseconds - began.nanoseconds >= 200_000_000
      case .status(.operationDenied), .status(.actionTimeout), .status(.userActionTimeout): throw error
      case .status: return false
      default: throw error
      }
    }
  }
}

extension U2F {
  /// A registration for nobody, whose answer is thrown away.
  func waitForTouch() throws(SecurityKeyError) {
    let nobody = SHA256.hash(Array("touch.invalid".utf8))
    let response = try untilTouched(CommandAPDU(ins: 0x01, data: ListRequest.zeroHash + nobody, le: 65536))
    guard response.status == .success else { throw .badAnswer("U2F status \(response.status)") }
  }
}
