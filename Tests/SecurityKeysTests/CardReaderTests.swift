// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import TestSupport
import Testing
import VirtualAuthenticator

@testable import SecurityKeys

/// Which reader is used, and what happens on readers.
@Suite("Card readers")
struct CardReaderTests {
  private func card() throws -> VirtualCard { VirtualCard(try VirtualAuthenticator()) }

  private func open(_ desk: Desk, _ reader: String?) async -> String? {
    let timings = KeyTimings(touch: .milliseconds(100), command: Pace.milliseconds(8000), drain: .milliseconds(50))
    let key = SecurityKey(desk.endpoint(reader: reader), timings: timings)
    defer { Task { await key.close() } }
    do { return try await key.open().name } catch let error as any NamedError { return error.name } catch {
      return "\(error)"
    }
  }

  private func desk(_ slots: [(String, (any SmartCard)?)]) -> Desk {
    let desk = Desk()
    desk.state.withLock { s in
      s.slots = slots.map { Desk.Slot(name: $0.0, card: $0.1, changes: $0.1 == nil ? 0 : 1) }
    }
    return desk
  }

  @Test("readers by name, by a part of it, and any with a key on it")
  func choice() async throws {
    func fresh() throws -> Desk {
      desk([
        ("Yubico YubiKey OTP+FIDO+CCID 00 00", try card()), ("Alcor Micro AU9540 00 00", ScriptedCard([])),
        ("ACS ACR122U PICC 00 00", nil), ("ACS ACR1252 01 00", try card()),
      ])
    }
    #expect(
      await open(try fresh(), nil) == "ACS ACR1252 01 00", "the face of a USB key and an empty card are passed over")
    #expect(await open(try fresh(), "acr1252") == "ACS ACR1252 01 00")
    #expect(await open(try fresh(), "ACS") == "ambiguousReader")
    #expect(await open(try fresh(), "Omnikey") == "noSuchReader")
    #expect(await open(try fresh(), "Alcor") == "notASecurityKeyCard")
    #expect(await open(try fresh(), "ACR122U") == "noCard")
    #expect(await open(desk([]), nil) == "noReader")
    #expect(await open(desk([]), "x") == "noReader")
    #expect(await open(desk([("Nitrokey Nitrokey 3 [CCID/ICCD Interface] 00 00", try card())]), nil) == "useUSB")
    #expect(await open(desk([("Alcor Micro AU9540 00 00", ScriptedCard([]))]), nil) == "notASecurityKeyCard")
  }

  @Test("a face that is asked for by name is tried, and says so itself")
  func face() async throws {
    let face = VirtualCard(try VirtualAuthenticator(), traits: CardTraits().with { $0.isFaceOfUSBKey = true })
    #expect(await open(desk([("Some Key 00 00", face)]), "Some") == "useUSB")
    let absent = VirtualCard(try VirtualAuthenticator(), traits: CardTraits().with { $0.isRestricted = true })
    #expect(await open(desk([("Yubico YubiKey CCID 00 00", absent)]), "yubikey") == "useUSB")
  }

  @Test("a reader that another program holds: waited for, then named")
  func held() async throws {
    let desk = desk([("R 00 00", try card())])
    desk.change("R 00 00") { $0.isHeld = true }
    #expect(await open(desk, nil) == "readerInUse")
    let key = SecurityKey(desk.endpoint(patience: .seconds(60)), timings: Bench.quick)
    let task = Task { await failure { try await key.open() } }
    try await Task.sleep(for: .milliseconds(50))
    desk.change("R 00 00") { $0.isHeld = false }
    #expect(await task.value == nil)
  }

  @Test("no service, no library, no permission: each is named, with its own next step")
  func unavailable() async throws {
    let errors: [CardError] = [.serviceAbsent, .libraryAbsent, .notPermitted, .noReader, .noCard(reader: nil)]
    for error in errors.prefix(3) {
      let desk = desk([("R 00 00", try card())])
      desk.state.withLock { $0.problem = error }
      #expect(await open(desk, nil) == error.name)
    }
    #expect(Set(errors.map(\.message)).count == errors.count && Set(errors.map(\.next)).count == errors.count)
    #expect(throws: CardError.libraryAbsent) { try PCSCLibrary(file: "libpcsclite-which-is-not-there.so.1") }
    #expect(throws: CardError.libraryUnusable("SCardEstablishContext")) { try PCSCLibrary(file: "libc.so.6") }
  }

  @Test("without the library the endpoint says so, and nothing else is touched")
  func withoutLibrary() async {
    let endpoint = KeyEndpoint.cards(reader: nil) { () throws(TransportError) in
      try PCSCReaders(Result { () throws(CardError) in try PCSCLibrary(file: "libpcsclite-which-is-not-there.so.1") })
    }
    #expect(await failure { try await SecurityKey(endpoint).open() } == "pcscLibraryAbsent")
  }

  @Test(
    "PC/SC's codes",
    arguments: [
      (0x8010_001D, "pcscdAbsent"), (0x8010_001E, "pcscdAbsent"), (0x8010_006A, "readersNotPermitted"),
      (0x8010_0009, "readerGone"), (0x8010_0017, "readerGone"), (0x8010_000B, "readerInUse"),
      (0x8010_000C, "cardRemoved"), (0x8010_0069, "cardRemoved"), (0x8010_0066, "cardUnresponsive"),
      (0x8010_000F, "cardUnresponsive"), (0x8010_0016, "cardTransmission"), (0x8010_0013, "cardTransmission"),
      (1, "cardTransmission"),
    ] as [(Int, String)])
  func codes(code: Int, name: String) {
    #expect(PCSC.failure(code, reader: "R").name == name)
    // LONG may come sign-extended.
    #expect(PCSC.failure(Int(Int32(truncatingIfNeeded: code)), reader: "R").name == name)
  }

  @Test("which readers are card faces of USB keys, and which are readers")
  func faces() {
    for name in [
      "Yubico YubiKey OTP+FIDO+CCID 00 00", "Nitrokey Nitrokey 3 [CCID/ICCD Interface] 01 00",
      "Token2 FIDO2 Security Key(0026) 00 00", "SoloKeys Solo 2 [CCID/ICCD Interface] 00 00",
    ] { #expect(ReaderNames.isFaceOfUSBKey(name), "\(name)") }
    for name in [
      "ACS ACR122U PICC Interface 00 00", "Feitian R502 CL 01", "Identiv uTrust 3700 F CL Reader [uTrust] 00 00",
      "HID Global OMNIKEY 5022 Smart Card Reader 00 00", "Alcor Micro AU9540 00 00", "Virtual PCD 00 00",
    ] { #expect(!ReaderNames.isFaceOfUSBKey(name), "\(name)") }
    #expect(ReaderNames.isVirtual("Virtual PCD 00 00") && !ReaderNames.isVirtual("ACS ACR122U 00 00"))
  }

  @Test("what a list says of a reader")
  func access() {
    func state(_ change: (inout ReaderState) -> Void) -> FoundKey.Access {
      var state = ReaderState(name: "R 00 00", hasCard: true)
      change(&state)
      return CardDiscovery.access(state)
    }
    #expect(state { _ in } == .ready)
    #expect(state { $0.hasCard = false } == .noCard)
    #expect(state { $0.isMute = true } == .mute)
    #expect(state { $0.name = "Yubico YubiKey FIDO+CCID 00 00" } == .useUSB)
    if case .inUse = state({ $0.isExclusive = true }) {} else { Issue.record("a reader that is held is in use") }
  }

  @Test("changes between two looks at readers")
  func changes() {
    func reader(_ name: String, _ hasCard: Bool, _ changes: Int = 0) -> ReaderState {
      ReaderState(name: name, hasCard: hasCard, changes: changes)
    }
    func between(_ old: [ReaderState], _ new: [ReaderState]) -> [String] {
      CardWatch.changes(from: old, to: new).map {
        switch $0 {
        case .readerAppeared(let key): "+\(key.placeName)"
        case .readerGone(let key): "-\(key.placeName)"
        case .cardLaid(let key): "laid \(key.placeName)"
        case .cardLifted(let key): "lifted \(key.placeName)"
        case .unavailable(let error): error.name
        }
      }
    }
    #expect(between([], [reader("A", false)]) == ["+A"])
    #expect(between([], [reader("A", true)]) == ["+A", "laid A"])
    #expect(between([reader("A", true)], []) == ["lifted A", "-A"])
    #expect(between([reader("A", false)], [reader("A", true, 1)]) == ["laid A"])
    #expect(between([reader("A", true, 1)], [reader("A", false, 2)]) == ["lifted A"])
    #expect(between([reader("A", true, 1)], [reader("A", true, 3)]) == ["lifted A", "laid A"])
    #expect(between([reader("A", true, 1)], [reader("A", true, 1)]).isEmpty)
    #expect(between([reader("A", false)], [reader("B", false)]) == ["-A", "+B"])
  }

  @Test("watching: cards laid and lifted are told as they happen, and the service's absence too")
  func watch() async throws {
    let desk = desk([("R 00 00", nil)])
    let seen = Locked<[CardChange]>([])
    let task = Task {
      for await change in CardWatch.changes({ () throws(TransportError) in desk.readersForWatching() }) {
        seen.withLock { $0.append(change) }
      }
    }
    try await eventually { seen.withLock { $0.count == 1 } }
    desk.lay(try card(), on: "R 00 00")
    try await eventually { seen.withLock { $0.count == 2 } }
    desk.lift(from: "R 00 00")
    try await eventually { seen.withLock { $0.count == 3 } }
    desk.state.withLock { $0.problem = .serviceAbsent }
    try await eventually { seen.withLock { $0.count == 5 } }
    task.cancel()
    await task.value
    let names = seen.withLock { $0 }.map { change -> String in
      switch change {
      case .readerAppeared: "reader"
      case .cardLaid: "laid"
      case .cardLifted: "lifted"
      case .readerGone: "gone"
      case .unavailable(let error): error.name
      }
    }
    #expect(names == ["reader", "laid", "lifted", "gone", "pcscdAbsent"])
  }

  @Test("what to do about a node without permission: the group that may, else a rule for this very key")
  func permission() {
    var node = HIDNode(
      path: "/dev/hidraw0", systemPath: "/sys/devices/pci0/usb1/1-1/1-1:1.0/0003:1050:0407.0001", descriptor: [])
    node.setHIDID("0003:00001050:00000407")
    let group = NodePermission.remedy(group: "plugdev", node: node)
    #expect(group.contains("usermod -aG plugdev"))
    let rule = NodePermission.remedy(group: nil, node: node)
    #expect(rule.contains(#"SUBSYSTEM=="hidraw", ATTRS{idVendor}=="1050", ATTRS{idProduct}=="0407", TAG+="uaccess""#))
    // What hangs on no USB bus has none of its attributes.
    node.systemPath = "/sys/devices/virtual/misc/uhid/0003:1050:0407.0001"
    #expect(
      NodePermission.remedy(group: nil, node: node).contains(
        #"SUBSYSTEM=="hidraw", KERNELS=="0003:1050:0407.*", TAG+="uaccess""#))
    #expect(NodePermission.remedy(group: nil, node: nil).contains(#"SUBSYSTEM=="hidraw", TAG"#))
    let error = TransportError.notPermitted(path: "/dev/hidraw-none")
    #expect(error.next.contains("/etc/udev/rules.d/"))
  }

  @Test("the messages for no key, no permission, in use, and a held reader all differ")
  func messages() {
    let errors: [any NamedError] = [
      KeyAddressError.noKey, TransportError.notPermitted(path: "/dev/hidraw0"),
      TransportError.inUse(by: "firefox (process 7)"),
      TransportError.card(.readerInUse(reader: "R", by: "scdaemon (process 8)")), TransportError.card(.serviceAbsent),
    ]
    #expect(Set(errors.map(\.name)).count == errors.count)
    #expect(Set(errors.map(\.message)).count == errors.count)
    #expect(Set(errors.map(\.next)).count == errors.count)
    #expect(errors[2].message.contains("firefox") && errors[3].message.contains("scdaemon"))
  }
}
