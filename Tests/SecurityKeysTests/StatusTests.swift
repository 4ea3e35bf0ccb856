// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// A key may answer anything, at any time.
@Suite("Every status")
struct StatusTests {
  enum Act: String, CaseIterable { case getInfo, register, assert, tries, token }

  @Test(
    "any status byte is a named error with a sentence and a next step, and the key works after", arguments: Act.allCases
  )
  func everyStatus(act: Act) async throws {
    let bench = try Bench()
    if act == .tries || act == .token { try await bench.setPIN() }
    let id = try await bench.register().credentialID
    for byte in UInt8(1)...UInt8.max {
      let status = CTAPStatus(rawValue: byte)
      let key = act == .getInfo ? bench.secondKey() : bench.key
      // With a PIN: tries, key agreement, token, the command itself.
      let index = act == .token ? 2 : 0
      // Each is a run of its own: what one of them calls a wrong PIN may be given again.
      key.refusedPINs.forgetAll()
      bench.faults.add(.command(bench.faults.commands + index, .status(status)))
      do {
        switch act {
        case .getInfo: try await key.open()
        case .register: _ = try await bench.register()
        case .assert: _ = try await bench.assert(Bench.assertion([id]))
        case .tries, .token: _ = try await bench.assert(Bench.assertion([id]))
        }
        // A key that fails with protocol 2 is asked again with protocol 1 (QUIRKS Q35).
        if status == .pinAuthInvalid, act == .token { continue }
        Issue.record("status \(status) was taken for success in \(act)")
      } catch let error as SecurityKeyError {
        #expect(!error.name.isEmpty && !error.message.isEmpty && !error.next.isEmpty)
        #expect(error.message.hasSuffix(".") && error.next.hasSuffix("."), "\(error)")
        #expect(!error.message.contains("\u{2014}"))
        // What the key said can be looked up, unless it has a plain name of its own.
        if case .status(let kept) = error { #expect(kept == status) }
        if byte >= 0xE0, act != .getInfo { #expect(error.status == Int(byte)) }
        // The key has denied the credential that it was known for, so the next time would begin with a probe.
        if error == .notOnThisKey, act == .tries || act == .token { _ = try await bench.assert(Bench.assertion([id])) }
      }
      if act == .getInfo { await key.close() }
    }
    #expect(await failure { try await bench.assert(Bench.assertion([id])) } == nil)
    #expect(bench.virtual.pinRetries == 8)
  }

  @Test(
    "the statuses a person can do something about have their own names",
    arguments: [
      (0x19, "alreadyRegistered"), (0x2E, "notOnThisKey"), (0x22, "notOnThisKey"), (0x28, "keyFull"),
      (0x31, "pinInvalid"),
      (0x32, "pinBlocked"), (0x34, "pinAuthBlocked"), (0x35, "pinNotSet"), (0x37, "pinPolicyViolation"),
      (0x3C, "uvBlocked"), (0x3F, "uvInvalid"), (0x2D, "cancelled"), (0x2F, "timedOut"), (0x3A, "timedOut"),
      (0xF1, "vendor0xF1"), (0xE0, "extension0xE0"),
    ] as [(UInt8, String)])
  func names(byte: UInt8, expected: String) {
    #expect(SecurityKeyError.of(CTAPStatus(rawValue: byte)).name == expected)
  }

  @Test(
    "\"full\" and a maker's own status say something of the name, where no room was asked for (Q10, Q12)",
    arguments: [
      (0x28, false, "nameNotTaken"), (0x28, true, "keyFull"), (0xF1, false, "nameNotTaken"),
      (0xE0, true, "nameNotTaken"), (0x15, false, "limitExceeded"),
    ] as [(UInt8, Bool, String)])
  func nameNotTaken(byte: UInt8, isDiscoverable: Bool, expected: String) async throws {
    let bench = try Bench()
    try await bench.key.open()
    var request = Bench.registration()
    request.isDiscoverable = isDiscoverable
    bench.faults.add(.command(bench.faults.commands, .status(CTAPStatus(rawValue: byte))))
    do {
      _ = try await bench.register(request)
      Issue.record("a refusal was taken for success")
    } catch let error as SecurityKeyError {
      #expect(error.name == expected)
      if expected == "nameNotTaken" {
        #expect(error.status == Int(byte) && error.next.hasPrefix("Register again with a short name in plain letters"))
      }
    }
    // To anything else it is what it says.
    #expect(SecurityKeyError.of(CTAPStatus(rawValue: byte)).name != "nameNotTaken")
    #expect(await failure { try await bench.register(request) } == nil)
  }

  @Test(
    "a missed touch is a time-out, whatever the key calls it",
    arguments: [CTAPStatus.operationDenied, .userActionTimeout, .actionTimeout, .puatRequired])
  func lateStatus(status: CTAPStatus) async throws {
    // Scaled: after a third of our own patience.
    let timings = KeyTimings(
      touch: Pace.milliseconds(1500), command: Pace.milliseconds(1000), drain: .milliseconds(200))
    var timing = Bench.timing
    timing.touchTimeout = 900 * Pace.factor
    let bench = try Bench(
      .virtual.varied("late") { $0.touchTimeoutStatus = status }, touch: .never, timings: timings, timing: timing)
    #expect(await failure { try await bench.register() } == "timedOut")
    #expect(bench.pinQuestions == 0, "a late 0x36 asks for no PIN")
    // The same status at once means what it says.
    bench.virtual.touch.setPolicy(.automatic)
    bench.faults.add(.command(bench.faults.commands, .status(status)))
    let early = await failure { try await bench.register() }
    #expect(early == (status == .operationDenied || status == .puatRequired ? status.name : "timedOut"))
  }

  @Test("every wire error is named", arguments: [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0A, 0x0B, 0x7F] as [UInt8])
  func wireErrors(code: UInt8) async throws {
    let bench = try Bench()
    let hid = try #require(CTAPHIDErrorCode(rawValue: code))
    try await bench.key.open()
    bench.faults.add(.command(bench.faults.commands, .hidError(hid)))
    let name = await failure { try await bench.register() }
    // What only says that the request was not heard is repeated; busy is waited out.
    #expect(name == ([0x04, 0x05, 0x06, 0x0B].contains(code) ? nil : "wireError"))
    #expect(await failure { try await bench.register() } == nil)
  }
}
