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
      let link = session.link
      let whole = link.timings.touch
      defer { link.timings.touch = whole }
      var triesAtFirst: Int?
      while true {
        if !info.speaksCTAP21, info.option("clientPin") == true {
          // With some keys the question costs a PIN try (QUIRKS Q20): it is not asked where tries are short or not
          // known, and not again where it has cost one.
          guard let left = try knownTries(probe), left > pinTriesFloor, left >= triesAtFirst ?? left else {
            return false
          }
          triesAtFirst = left
        }
        link.begin()
        // One deadline for all rounds.
        link.timings.touch = min(whole, .nanoseconds(max(1, deadline.nanoseconds - Deadline.now.nanoseconds)))
        do {
          guard info.speaksCTAP21 else { return try probe.touchByEmptyParam() }
          try probe.select()
          return true
        } catch let error as SecurityKeyError {
          // The key's patience is shorter than ours.
          guard late(error, link) == .transport(.timedOut) else {
            // At once it means that this key wants a PIN before it asks for a touch.
            if error == .status(.puatRequired), !info.speaksCTAP21 { return false }
            throw error
          }
          guard !deadline.isOver, !cancelSwitch.isPulled else { throw late(error, link) }
        }
      }
    }
  }

  /// PIN tries left; nil when the key does not say.
  private func knownTries(_ probe: Probe) throws(SecurityKeyError) -> Int? {
    do throws(SecurityKeyError) { return try probe.pinRetries()?.triesLeft } catch {
      guard error.isAboutTheRequest else { throw error }
      return nil
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
    // Nobody is as quick as that.
    var isTooQuick: Bool { Deadline.now.nanoseconds - began.nanoseconds < 200_000_000 }
    do {
      _ = try send([CTAPCommand.makeCredential.rawValue] + CBORValue.encode(request))
      return true
    } catch {
      switch error {
      // The right statuses are "PIN not set" and "PIN invalid"; most keys say something else. A key that looks at the
      // parameter before it asks for a touch says them at once, and has not said that it waits for anybody.
      case .pinInvalid, .pinNotSet, .status(.pinAuthInvalid): return !isTooQuick || link.touchWaitBegan != nil
      // From some keys this comes after the touch, from others at once.
      case .status(.missingParameter): return !isTooQuick
      // Some keys say the last of them when nobody has touched them (QUIRKS Q25).
      case .status(.operationDenied), .status(.puatRequired): throw error
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
