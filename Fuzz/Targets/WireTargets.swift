// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import SecurityKeys
import WebAuthnCore

/// What comes over a wire, from either end.
extension FuzzTarget {
  static let wireTargets: [FuzzTarget] = [
    FuzzTarget("get-info", ["CTAPWire/AuthenticatorInfo"], seeds: { $0.infos }) { input in
      guard let info = attempt({ () throws(AuthenticatorInfoError) in try AuthenticatorInfo(parsing: input) }) else {
        return
      }
      let written = info.encoded()
      let second = again("getInfo") { () throws(AuthenticatorInfoError) in try AuthenticatorInfo(parsing: written) }
      must(second.encoded() == written, "getInfo changes when it is written again")
      for number in [nil, 1, 2] {
        let shown = info.sanitised(pinProtocol: number)
        _ = again("sanitised getInfo") { () throws(AuthenticatorInfoError) in try AuthenticatorInfo(parsing: shown) }
        must(shown.count <= 7609, "what libfido2 is shown fits")
      }
      must((0...7609).contains(info.effectiveMaxMsgSize) || (info.maxMsgSize ?? 0) < 0, "a message fits the wire")
      _ = info.otherMembers.map(\.number)
    },
    FuzzTarget("hid-to-host", ["CTAPWire/CTAPHID"], limit: 16384, seeds: { $0.reports(channel: 0x0102_0304) }) {
      assemble($0, channel: 0x0102_0304)
    },
    FuzzTarget("hid-to-key", ["CTAPWire/CTAPHID"], limit: 16384, seeds: { $0.reports(channel: 7) }) {
      assemble($0, channel: nil)
    },
    FuzzTarget(
      "hid-descriptor", ["SecurityKeys/Discovery/HIDReportDescriptor.swift"], limit: 512,
      seeds: { _ in
        [
          [
            0x06, 0xd0, 0xf1, 0x09, 0x01, 0xa1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 0x40,
            0x81, 0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xc0,
          ],
          [0x05, 0x01, 0x09, 0x06, 0xa1, 0x01, 0x85, 0x01, 0xa4, 0x75, 0x01, 0x95, 0x08, 0x81, 0x02, 0xb4, 0xc0],
          [0xfe, 0x01, 0x02, 0x03],
        ]
      }
    ) { input in
      guard let reports = FIDOReports(descriptor: input) else { return }
      must(
        (8...1024).contains(reports.inputSize) && (8...1024).contains(reports.outputSize), "reports of a usable size")
      _ = reports.shape
    },
    FuzzTarget("apdu-command", ["CTAPWire/APDU.swift", "CTAPWire/APDUResponse.swift"], seeds: { $0.apdus }) { input in
      guard let command = attempt({ () throws(APDUError) in try CommandAPDU(parsing: input) }) else { return }
      if let short = attempt({ () throws(APDUError) in try command.shortForm() }) {
        let second = again("short APDU") { () throws(APDUError) in try CommandAPDU(parsing: short) }
        must(second.data == command.data && (second.le == nil) == (command.le == nil), "a short APDU stays")
      }
      let long = again("extended APDU") { () throws(APDUError) in try command.extendedForm() }
      must(
        again("extended APDU") { () throws(APDUError) in try CommandAPDU(parsing: long) } == command,
        "an extended APDU stays")
      var plain = command
      plain.cla &= 0xef
      for segment in [1, 240, Int(input[0])] {
        var chain = APDUChain()
        var whole: CommandAPDU?
        for part in plain.chained(segment: segment) {
          must(whole == nil, "a chain ends with its last part")
          whole = again("chain") { () throws(APDUError) in try chain.add(part) }
        }
        must(whole?.data == command.data, "a chain carries everything")
      }
      var links = APDUChain(limit: 1024)
      _ = attempt { () throws(APDUError) in try links.add(command) }
      _ = attempt { () throws(APDUError) in try links.add(plain) }
    },
    FuzzTarget(
      "apdu-response", ["CTAPWire/APDUResponse.swift"],
      seeds: { _ in [[0x90, 0x00], [1, 2, 3, 0x61, 0x10], [0x91, 0x00], [0x6c, 0x20]] }
    ) { input in
      guard let response = attempt({ () throws(APDUError) in try ResponseAPDU(parsing: input) }) else { return }
      must(response.encoded == input, "a response has one form")
      _ = (response.status.description, response.status.bytesAvailable, response.status.correctLe)
      let step = Int(input[0]) + 1
      var queue = APDUResponseQueue()
      var got: [UInt8] = []
      var part = queue.begin(response, le: step)
      got += part.data
      while !queue.isEmpty {
        part = queue.next(le: step)
        got += part.data
      }
      must(got == response.data && part.status == response.status, "GET RESPONSE gives everything")
    },
    FuzzTarget(
      "pinentry", ["SecurityKeys/PINEntry/AssuanReplies.swift"],
      seeds: { _ in
        [
          "OK Pleased to meet you\nOK\nS PIN_REPEATED\nD 12%2534\nD %0a5\nOK\n",
          "# comment\nERR 83886179 cancelled <x>\n",
          "OK\nS BUTTON_INFO close\nOK\nERR 83886142 timeout\nD %4\nOK\n",
        ].map { Array($0.utf8) }
      }, run: tryReplies
    ),
    FuzzTarget(
      "explain", ["CTAPWire/Explain/"], limit: 8192,
      seeds: {
        $0.registrations.map(\.attestationObject) + $0.infos + $0.authenticatorData + $0.clientData + $0.coseKeys
      }
    ) { input in
      guard let explanation = Explainer.explain(input) else { return }
      for field in explanation.fields {
        if let offset = field.offset, let length = field.length {
          must(offset >= 0 && length >= 0 && offset + length <= input.count, "a field lies inside what it explains")
        }
      }
      _ = JSONWriter.write(explanation.json)
    },
  ]

  /// A greeting, answers without and with a PIN, over and over.
  private static func tryReplies(_ input: [UInt8]) {
    let replies = AssuanReplies()
    var answers = 0
    var inPIN = 0
    for byte in input {
      inPIN += 1
      do {
        guard try replies.take(byte) else { continue }
      } catch {
        must(!error.name.isEmpty && !error.understood.message.isEmpty, "a fault has a name")
      }
      must(replies.pinLength <= (answers % 2 == 1 ? min(inPIN, AssuanReplies.pinLimit) : 0), "a PIN was asked for")
      answers += 1
      inPIN = 0
      replies.begin(takesPIN: answers % 2 == 1)
      must(replies.pinLength == 0 && !replies.wasRepeated, "an answer begins with nothing")
    }
    // What is sent is one line, whatever it says.
    let sent = AssuanReplies.escaped(String(decoding: input, as: UTF8.self))
    must(sent.utf8.count < AssuanReplies.lineLimit, "a line fits")
    must(sent.utf8.allSatisfy { (0x20..<0x7f).contains($0) }, "a line is one line")
  }

  /// The first byte chooses the reports' size; the rest is reports.
  private static func assemble(_ input: [UInt8], channel: UInt32?) {
    guard let first = input.first else { return }
    let size = first == 0 ? 64 : 8 + Int(first)
    var assembler = CTAPHIDAssembler(channel: channel, reportSize: size)
    var start = 1
    while start < input.count {
      let report = Array(input[start..<min(start + size, input.count)])
      start += size
      guard let outcome = attempt({ () throws(CTAPHIDFault) in try assembler.add(report) }) else { continue }
      guard case .message(let message) = outcome else { continue }
      must(channel == nil || message.channel == channel, "a host hears its own channel only")
      must(assembler.channelInProgress == nil, "a message that is complete is over")
      let reports = again("HID framing") { () throws(CTAPHIDFault) in
        try CTAPHIDFraming.reports(of: message, reportSize: size)
      }
      var second = CTAPHIDAssembler(channel: channel, reportSize: size)
      for (index, report) in reports.enumerated() {
        must(report.count == size, "every report has the size of a report")
        let outcome = again("HID framing") { () throws(CTAPHIDFault) in try second.add(report) }
        must((outcome == .message(message)) == (index == reports.count - 1), "a message stays")
      }
    }
  }
}
