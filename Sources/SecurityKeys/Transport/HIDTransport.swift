// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc

/// CTAPHID, the host's side (CTAP 2.1 section 11.2), over any report channel.
public final class HIDTransport: KeyTransport {
  public let kindName: String
  public let isSimulated: Bool
  private let reports: ReportChannel
  private let cancel: CancelSwitch
  /// Where this host speaks; the broadcast channel until INIT has given one.
  private var channel: UInt32 = CTAPHIDFraming.broadcastChannel
  /// The key has not said that it is done with the last command: resynchronise first.
  private var isDirty = false
  /// What the last INIT found in the pipe before its own answer.
  private var leftovers = 0

  /// A transport over `reports`, stopped by `cancel`.
  public init(reports: ReportChannel, cancel: CancelSwitch, kindName: String, isSimulated: Bool) {
    self.reports = reports
    self.cancel = cancel
    self.kindName = kindName
    self.isSimulated = isSimulated
  }

  public var maximumRequestByteCount: Int { CTAPHIDFraming.maximumPayload(reportSize: reports.shape.outputSize) }

  public func close() {
    // A key that may still wait for its touch need not.
    if isDirty { tellToStop() }
    reports.shut()
  }

  public func distrust() { isDirty = true }

  public func wasInStep(_ terms: WaitTerms) throws(TransportError) -> Bool {
    _ = try initialise(terms)
    return leftovers == 0
  }

  public func initialise(_ terms: WaitTerms) throws(TransportError) -> InitReply {
    // Anything that is still in the pipe belongs to somebody else's conversation.
    leftovers = reports.drop()
    let nonce = Random.bytes(8)
    var isBusy = false
    while true {
      try write(CTAPHIDMessage(channel: channel, command: .initialise, payload: nonce), terms.deadline)
      let answer: [UInt8]
      do {
        answer = try waitForInit(nonce, terms)
      } catch .hid(.channelBusy, _) {
        // On a channel of our own it may be we who keep the key busy: with some keys only CANCEL ends that.
        if !isBusy { tellToStop() }
        isBusy = true
        do { try pause(terms.deadline) } catch .noAnswer { throw .busy }
        // A key that works for another may have said so to the CANCEL too.
        reports.drop()
        continue
      } catch .noAnswer where isBusy {
        throw .busy
      } catch .hid(.invalidChannel, _) where channel != CTAPHIDFraming.broadcastChannel {
        // The key has forgotten us (it restarted): a new channel.
        channel = CTAPHIDFraming.broadcastChannel
        continue
      }
      channel = answer[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
      guard channel != 0, channel != CTAPHIDFraming.broadcastChannel else {
        throw .malformed("channel \(channel)")
      }
      isDirty = false
      return InitReply(
        protocolVersion: answer[12], deviceVersion: Array(answer[13..<16]), capabilities: answer[16])
    }
  }

  /// The INIT answer that echoes `nonce`; everything else is dropped.
  private func waitForInit(_ nonce: [UInt8], _ terms: WaitTerms) throws(TransportError) -> [UInt8] {
    var assembler = CTAPHIDAssembler(channel: channel, reportSize: reports.shape.inputSize)
    while true {
      switch try reports.read(until: terms.deadline, cancel: cancel) {
      case .timedOut: throw .noAnswer(command: CTAPHIDCommand.initialise.rawValue)
      case .cancelled: throw .cancelled
      case .report(let report):
        // A fault here is a leftover of an older message: INIT is what ends such trouble.
        guard let outcome = try? assembler.add(report), case .message(let message) = outcome else { continue }
        if message.knownCommand == .initialise, message.payload.count >= 17, message.payload.starts(with: nonce) {
          return Array(message.payload.prefix(17))
        }
        if message.knownCommand == .error { throw Self.fault(message.payload) }
        if message.knownCommand != .keepalive { leftovers += 1 }
      }
    }
  }

  public func exchange(
    _ command: CTAPHIDCommand, _ payload: [UInt8], _ terms: WaitTerms
  ) throws(TransportError) -> [UInt8] {
    guard !cancel.isPulled else { throw .cancelled }
    var hasCancelled = false
    var hasRepeated = false
    while true {
      if isDirty { _ = try initialise(WaitTerms(deadline: min(terms.deadline, .after(.seconds(2))))) }
      isDirty = true
      // What is there before the question is no answer to it.
      reports.drop()
      try write(CTAPHIDMessage(channel: channel, command: command, payload: payload), terms.deadline)
      do {
        let answer = try wait(for: command, terms)
        isDirty = false
        return answer
      } catch .hid(.channelBusy, _) {
        // Our own leftovers are ended by CANCEL; somebody else's are waited out.
        isDirty = false
        if !hasCancelled {
          hasCancelled = true
          try writeCancel(terms.deadline)
        }
        do { try pause(terms.deadline) } catch .noAnswer { throw .busy }
      } catch .hid(let code, let raw) {
        // The key never had the whole request, so asking again asks nothing twice. The channel is begun afresh.
        let wasIncomplete = [.invalidSequence, .messageTimeout, .invalidChannel].contains(code)
        guard wasIncomplete, !hasRepeated, !terms.deadline.isOver else {
          // Nothing is under way after a plain refusal. Any other error may leave the key out of step (QUIRKS Q57).
          isDirty = code != .invalidCommand
          throw .hid(code, raw: raw)
        }
        hasRepeated = true
      }
    }
  }

  private func wait(for command: CTAPHIDCommand, _ terms: WaitTerms) throws(TransportError) -> [UInt8] {
    var assembler = CTAPHIDAssembler(channel: channel, reportSize: reports.shape.inputSize)
    var stop: TransportError?
    var deadline = terms.deadline
    var isAlive = false
    while true {
      switch try reports.read(until: deadline, cancel: stop == nil ? cancel : nil) {
      case .timedOut:
        // It did not even answer the CANCEL.
        if let stop { throw stop }
        // A key that said it was waiting waited in vain; one that said nothing is another matter.
        stop = isAlive ? .timedOut : .noAnswer(command: command.rawValue)
        deadline = .after(terms.drain)
        try writeCancel(deadline)
      case .cancelled:
        stop = .cancelled
        deadline = .after(terms.drain)
        try writeCancel(deadline)
      case .report(let report):
        let outcome: CTAPHIDAssembler.Outcome
        do { outcome = try assembler.add(report) } catch {
          // The answer is lost, and the key may still wait for somebody.
          tellToStop()
          throw stop ?? .framing(error)
        }
        guard case .message(let message) = outcome else { continue }
        switch message.knownCommand {
        case .keepalive:
          isAlive = true
          if let status = message.payload.first.flatMap(KeepaliveStatus.init) { terms.onKeepalive(status) }
        case .error:
          // A key may answer a CANCEL with any error (QUIRKS Q54); what counts is why it was cancelled.
          throw stop ?? Self.fault(message.payload)
        case command:
          // A cancelled key answers 0x2D; if the touch won the race, what it says is what happened.
          if let stop, command == .cbor, let status = message.payload.first, status != 0 {
            isDirty = false
            throw stop
          }
          return message.payload
        default: continue
        }
      }
    }
  }

  private func write(_ message: CTAPHIDMessage, _ deadline: Deadline) throws(TransportError) {
    let all: [[UInt8]]
    do { all = try CTAPHIDFraming.reports(of: message, reportSize: reports.shape.outputSize) } catch {
      throw .framing(error)
    }
    for report in all { try reports.write(report, until: deadline) }
  }

  private func writeCancel(_ deadline: Deadline) throws(TransportError) {
    try write(CTAPHIDMessage(channel: channel, command: .cancel), deadline)
  }

  /// CANCEL, for a key that may be at work for us; one that is not takes no notice of it (CTAP 2.1 section 11.2.9.1.5).
  private func tellToStop() {
    guard channel != CTAPHIDFraming.broadcastChannel else { return }
    // Whether it could be told changes nothing for whoever is told of the fault.
    try? writeCancel(.after(.milliseconds(100)))
  }

  /// A short rest between two tries, ended by a cancel.
  private func pause(_ deadline: Deadline) throws(TransportError) {
    var waits = [pollfd(fd: cancel.eventDescriptor, events: Int16(POLLIN), revents: 0)]
    guard deadline.millisecondsLeft > 0 else { throw .noAnswer(command: 0) }
    if poll(&waits, 1, min(50, deadline.millisecondsLeft)) > 0 { throw .cancelled }
  }

  private static func fault(_ payload: [UInt8]) -> TransportError {
    let raw = payload.first ?? CTAPHIDErrorCode.other.rawValue
    return .hid(CTAPHIDErrorCode(rawValue: raw), raw: raw)
  }
}
