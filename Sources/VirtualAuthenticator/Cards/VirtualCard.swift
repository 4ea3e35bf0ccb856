// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc
import WebAuthnCore

/// A virtual key as a contactless card (CTAP 2.1 section 11.3): SELECT, NFCCTAP_MSG in extended or chained APDUs, GET
/// RESPONSE, polling with 91xx, and U2F.
public final class VirtualCard: SmartCard {
  /// The shortest answer to reset that readers take.
  public static let usualAnswerToReset: [UInt8] = [0x3B, 0x80, 0x80, 0x01, 0x01]
  /// NFC has no channels: its commands belong together as those of one.
  static let session: UInt32 = 0xFFFF_FFFE

  /// The key inside.
  public let key: VirtualAuthenticator
  /// Its departures.
  public let traits: CardTraits
  public let answerToReset: [UInt8]

  private struct State {
    var selected = false
    var chain = APDUChain(limit: 0xFFFF)
    var queue = APDUResponseQueue()
    var job: CardJob?
    var pollsLeft = 0
    var ceremonies = 0
    var exchanges = 0
    var bytes = 0
  }

  private let state = Locked(State())

  /// A key on a reader.
  public init(
    _ key: VirtualAuthenticator, traits: CardTraits = CardTraits(),
    answerToReset: [UInt8] = usualAnswerToReset
  ) {
    self.key = key
    self.traits = traits
    self.answerToReset = answerToReset
  }

  /// APDUs answered so far.
  public var exchanges: Int { state.withLock { $0.exchanges } }
  /// Bytes of all APDUs and answers so far.
  public var bytesExchanged: Int { state.withLock { $0.bytes } }

  public func reset() {
    drop()
    key.powerCycle()
  }

  public func powerOff() { drop() }

  /// Forgets the selection and gives up what is being done.
  private func drop() {
    let job = state.withLock { s -> CardJob? in
      let job = s.job
      let (exchanges, bytes) = (s.exchanges, s.bytes)
      s = State()
      (s.exchanges, s.bytes) = (exchanges, bytes)
      return job
    }
    job?.cancel(.abandoned)
    job?.waitUntilDone()
  }

  public func transmit(_ apdu: [UInt8]) -> [UInt8]? {
    let response = answer(apdu).encoded
    state.withLock {
      $0.exchanges += 1
      $0.bytes += apdu.count + response.count
    }
    return response
  }

  private func answer(_ bytes: [UInt8]) -> ResponseAPDU {
    guard let apdu = try? CommandAPDU(parsing: bytes) else { return ResponseAPDU(status: .wrongLength) }
    // A fifth byte of zero with more to come: the extended form.
    let isExtended = bytes.count > 5 && bytes[4] == 0
    if traits.refusesExtended, isExtended { return ResponseAPDU(status: .wrongLength) }
    if apdu.cla & 0x10 != 0 {
      if traits.refusesChaining { return ResponseAPDU(status: .chainingNotSupported) }
      if traits.leOnlyOnLast, apdu.le != nil { return ResponseAPDU(status: .wrongLength) }
    }
    if apdu.cla == 0, apdu.ins == 0xC0 { return getResponse(apdu) }
    var whole: CommandAPDU?
    do { whole = try state.withLock { s throws(APDUError) in try s.chain.add(apdu) } } catch {
      return ResponseAPDU(status: .lastOfChainExpected)
    }
    // An extended APDU has room for everything, also when it forgets to say so.
    if isExtended, whole?.le == nil { whole?.le = 65536 }
    guard let whole else { return ResponseAPDU(status: .success) }
    if whole.ins == 0xA4 { return select(whole) }
    guard state.withLock({ $0.selected }) else { return ResponseAPDU(status: .instructionNotSupported) }
    if traits.isFaceOfUSBKey { return ResponseAPDU(status: .conditionsNotSatisfied) }
    switch (whole.cla, whole.ins) {
    case (0x80, 0x10): return message(whole)
    case (0x80, 0x11): return poll(whole)
    case (0x80, 0x12):
      // NFCCTAP_CONTROL: only "end" is there.
      guard whole.p1 == 0x01 else { return ResponseAPDU(status: .wrongParameters) }
      drop()
      return ResponseAPDU(status: .success)
    case (0x00, _):
      guard let reply = try? ResponseAPDU(parsing: key.handleU2F((try? whole.extendedForm()) ?? [])) else {
        return ResponseAPDU(status: .unknownError)
      }
      return send(reply, le: whole.le)
    default: return ResponseAPDU(status: .classNotSupported)
    }
  }

  // MARK: - Selection and long answers

  private func select(_ apdu: CommandAPDU) -> ResponseAPDU {
    drop()
    guard apdu.p1 == 0x04, apdu.data == CommandAPDU.fidoAID, !traits.isRestricted else {
      return ResponseAPDU(status: .notFound)
    }
    if traits.selectRefusesLe, apdu.le != nil { return ResponseAPDU(status: .wrongLength) }
    if traits.selectNeedsLe, apdu.le == nil { return ResponseAPDU(status: .wrongLength) }
    state.withLock { $0.selected = true }
    // Section 11.3.4: a key that also speaks U2F says so, and getInfo tells the rest.
    let version = ResponseAPDU(data: Array((key.profile.speaksU2F ? "U2F_V2" : "FIDO_2_0").utf8), status: .success)
    if traits.selectNeedsGetResponse { return state.withLock { $0.queue.begin(version, le: 0) } }
    return send(version, le: apdu.le)
  }

  private func getResponse(_ apdu: CommandAPDU) -> ResponseAPDU {
    state.withLock { s in
      guard !s.queue.isEmpty else { return ResponseAPDU(status: .conditionsNotSatisfied) }
      return s.queue.next(le: limit(apdu.le))
    }
  }

  private func send(_ response: ResponseAPDU, le: Int?) -> ResponseAPDU {
    state.withLock { $0.queue.begin(response, le: limit(le)) }
  }

  private func limit(_ le: Int?) -> Int { min(le ?? 256, traits.responseLimit ?? .max) }

  // MARK: - CTAP2

  private func message(_ apdu: CommandAPDU) -> ResponseAPDU {
    let polls = apdu.p1 == 0x80
    guard apdu.p1 == 0x00 || (polls && !traits.refusesPolling) else { return ResponseAPDU(status: .wrongParameters) }
    if traits.oneCeremonyPerTap, isCeremony(apdu.data) {
      let first = state.withLock { s -> Bool in
        s.ceremonies += 1
        return s.ceremonies == 1
      }
      guard first else {
        return send(ResponseAPDU(data: [CTAPStatus.upRequired.rawValue], status: .success), le: apdu.le)
      }
    }
    let job = CardJob(key: key, request: apdu.data)
    guard polls else {
      job.run()
      return send(ResponseAPDU(data: job.reply ?? [], status: .success), le: apdu.le)
    }
    guard job.start() else { return ResponseAPDU(status: .unknownError) }
    state.withLock { s in
      s.job = job
      s.pollsLeft = traits.pollsBeforeAnswer
    }
    return progress(of: job, le: apdu.le)
  }

  private func isCeremony(_ request: [UInt8]) -> Bool {
    switch request.first.flatMap(CTAPCommand.init(rawValue:)) {
    case .makeCredential: true
    // A silent probe is none.
    case .getAssertion: (try? CBORDecoder.decode(request, at: 1))?[5]?["up"]?.bool != false
    default: false
    }
  }

  private func poll(_ apdu: CommandAPDU) -> ResponseAPDU {
    guard let job = state.withLock({ $0.job }) else { return ResponseAPDU(status: .conditionsNotSatisfied) }
    if apdu.p1 == 0x11 {
      job.cancel(.cancelled)
      job.waitUntilDone()
    }
    return progress(of: job, le: apdu.le)
  }

  /// The answer, or 9100 and what the key is doing (section 11.3.5.1).
  private func progress(of job: CardJob, le: Int?) -> ResponseAPDU {
    // A moment, so that quick commands need no second exchange.
    job.waitUntilDone(milliseconds: 20)
    let wait = state.withLock { s -> Bool in
      guard job.reply == nil || s.pollsLeft > 0 else { return false }
      s.pollsLeft = max(0, s.pollsLeft - 1)
      return true
    }
    guard !wait, let reply = job.reply else {
      let status: KeepaliveStatus = key.touch.pending == nil ? .processing : .userPresenceNeeded
      return ResponseAPDU(data: [status.rawValue], status: .keepalive)
    }
    state.withLock { $0.job = nil }
    return send(ResponseAPDU(data: reply, status: .success), le: le)
  }
}
