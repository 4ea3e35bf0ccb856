// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import Testing

@testable import SecurityKeys

@Suite("Discovery")
struct DiscoveryTests {
  static func node(_ path: String, _ change: (inout HIDNode) -> Void = { _ in }) -> HIDNode {
    var node = HIDNode(
      path: path, systemPath: "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/0003:1050:0407.0001",
      descriptor: HIDReportDescriptorTests.usual)
    node.setHIDID("0003:00001050:00000407")
    node.physicalPath = "usb-0000:00:14.0-2/input0"
    change(&node)
    return node
  }

  @Test("HID_ID gives bus and numbers, and nonsense gives nothing")
  func hidID() {
    let good = Self.node("/dev/hidraw0")
    #expect(good.bus == 3 && good.vendorID == 0x1050 && good.productID == 0x0407)
    for text in ["", "0003", "0003:00001050", "0003:x:y", "1:2:3:4", "10000:0000FFFFF:1"] {
      var node = HIDNode(path: "/dev/hidraw0", systemPath: "/", descriptor: [])
      node.setHIDID(text)
      #expect(node.vendorID == nil, "\(text)")
    }
  }

  @Test(
    "names come from USB strings, then HID_NAME, then the table, then the numbers",
    arguments: [
      ("Yubico", "YubiKey OTP+FIDO+CCID", "x", "Yubico YubiKey OTP+FIDO+CCID"),
      ("Nitrokey", "Nitrokey 3", nil, "Nitrokey 3"), (nil, "Key", nil, "Key"),
      ("Maker", nil, "Virtual Key", "Virtual Key"),
      ("", " ", "\u{1B}[31mred\n", "[31mred"), (nil, nil, nil, "YubiKey OTP+FIDO+CCID"),
    ] as [(String?, String?, String?, String)])
  func names(maker: String?, product: String?, hidName: String?, expected: String) {
    let node = Self.node("/dev/hidraw0") {
      $0.manufacturer = maker
      $0.product = product
      $0.hidName = hidName
    }
    #expect(node.name == expected)
  }

  @Test("an unknown product of a known maker, and of an unknown one")
  func unknownNames() {
    #expect(KnownModels.name(vendorID: 0x1050, productID: 0x9999) == "Yubico 9999")
    #expect(KnownModels.name(vendorID: 0xFFFE, productID: 1) == nil)
    #expect(Self.node("/dev/hidraw0") { $0.setHIDID("0003:0000FFFE:00000001") }.name == "fffe:0001")
  }

  @Test(
    "a device that the kernel made up is simulated",
    arguments: [
      ("/sys/devices/virtual/misc/uhid/0003:1209:F1D0.0001", true),
      ("/sys/devices/platform/dummy_hcd.0/usb1/1-1/1-1:1.0/0003:1209:F1D0.0002", true),
      ("/sys/devices/platform/vhci_hcd.0/usb3/3-1/3-1:1.0/0003:1209:F1D0.0003", true),
      ("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/0003:1050:0407.0001", false),
    ])
  func simulated(path: String, expected: Bool) {
    let node = HIDNode(path: "/dev/hidraw0", systemPath: path, descriptor: [])
    #expect(node.isSimulated == expected)
  }

  @Test("only FIDO nodes are keys")
  func onlyFIDO() {
    let keys = KeyDiscovery.keys(of: [
      Self.node("/dev/hidraw0") { $0.descriptor = HIDReportDescriptorTests.keyboard }, Self.node("/dev/hidraw1"),
      Self.node("/dev/hidraw2") { $0.descriptor = [] },
    ])
    #expect(keys.map(\.placeName) == ["/dev/hidraw1"])
    #expect(keys.first?.kindName == "hidraw")
  }

  @Test("an id follows the serial number through every socket, and the socket where there is none")
  func stableIDs() throws {
    func id(_ node: HIDNode) throws -> String { try #require(FoundKey(node)).id }
    let first = try id(Self.node("/dev/hidraw0"))
    #expect(first.count == 6)
    #expect(try id(Self.node("/dev/hidraw7")) == first)
    #expect(try id(Self.node("/dev/hidraw0") { $0.physicalPath = "usb-0000:00:14.0-3/input0" }) != first)
    let serial = try id(Self.node("/dev/hidraw0") { $0.unique = "42" })
    #expect(
      try id(
        Self.node("/dev/hidraw3") {
          $0.unique = "42"
          $0.physicalPath = "elsewhere"
        }) == serial)
    #expect(serial != first)
  }

  @Test("ids in a list differ even for keys that cannot be told apart")
  func distinctIDs() {
    let keys = KeyDiscovery.keys(of: (0..<4).map { i in Self.node("/dev/hidraw\(i)") { $0.unique = "same" } })
    #expect(Set(keys.map(\.id)).count == 4)
    for key in keys { #expect(throws: Never.self) { try KeyDiscovery.find(key.id, among: keys) } }
  }

  @Test("a short id finds its key by any beginning that is its own")
  func findByID() throws {
    let keys = KeyDiscovery.keys(of: (0..<40).map { i in Self.node("/dev/hidraw\(i)") { $0.unique = "\(i)" } })
    for key in keys { #expect(try KeyDiscovery.find(key.id, among: keys) == key) }
    let first = Dictionary(grouping: keys) { $0.id.first }
    let shared = try #require(first.first { $0.value.count > 1 })
    let letter = String(try #require(shared.key))
    #expect(throws: KeyAddressError.ambiguous(letter, count: shared.value.count)) {
      try KeyDiscovery.find(letter, among: keys)
    }
    #expect(throws: KeyAddressError.notThere("zz")) { try KeyDiscovery.find("zz", among: keys) }
  }

  @Test("changes between two looks: what went, then what came")
  func changes() throws {
    let a = try #require(FoundKey(Self.node("/dev/hidraw0") { $0.unique = "a" }))
    let b = try #require(FoundKey(Self.node("/dev/hidraw1") { $0.unique = "b" }))
    let c = try #require(FoundKey(Self.node("/dev/hidraw0") { $0.unique = "c" }))
    #expect(KeyWatch.changes(from: [], to: [a]) == [.appeared(a)])
    #expect(KeyWatch.changes(from: [a, b], to: [a]) == [.gone(b)])
    #expect(KeyWatch.changes(from: [a, b], to: [c, b]) == [.gone(a), .appeared(c)])
    #expect(KeyWatch.changes(from: [a, b], to: [a, b]).isEmpty)
  }

  @Test("the list of this computer can be had, and watching it can be stopped")
  func realComputer() async {
    let listed = KeyDiscovery.list()
    let task = Task { for await _ in KeyWatch.changes() {} }
    task.cancel()
    await task.value
    #expect(Set(listed.map(\.id)).count == listed.count)
  }
}

@Suite("Key addresses")
struct KeyAddressTests {
  @Test(
    "every form",
    arguments: [
      ("/dev/hidraw3", .node("/dev/hidraw3")), ("nfc", .nfc(reader: nil)),
      ("nfc:ACR122U 00 00", .nfc(reader: "ACR122U 00 00")),
      ("nfc:A:B", .nfc(reader: "A:B")), ("virtual", .virtual(model: nil)), ("virtual:solo", .virtual(model: "solo")),
      ("udp:8111", .udp(port: 8111, replyPort: nil)), ("udp:8111:7112", .udp(port: 8111, replyPort: 7112)),
      ("3fa9c1", .shortID("3fa9c1")), ("3FA9C1-2", .shortID("3fa9c1-2")), ("/dev/fido:x", .node("/dev/fido:x")),
    ] as [(String, KeyAddress)])
  func forms(text: String, expected: KeyAddress) throws { #expect(try KeyAddress(parsing: text) == expected) }

  @Test(
    "what is no address",
    arguments: [
      "", "nfc:", "virtual:", "udp", "udp:", "udp:0", "udp:70000", "udp:-1", "udp:+8111", "udp:1:", "udp:1:2:3",
      "udp:1:x",
      "hidraw0", "key", "a b", "é", String(repeating: "a", count: 65),
    ])
  func notForms(text: String) {
    #expect(throws: KeyAddressError.notUnderstood(text)) { try KeyAddress(parsing: text) }
  }
}

@Suite("Node locks")
struct NodeLockTests {
  @Test(
    "what cannot be opened says why",
    arguments: ["/dev/hidraw-none", "/dev/null/x", "/tmp", "/etc/passwd"])
  func absent(path: String) {
    #expect(throws: TransportError.absent(path)) { _ = try NodeLock.open(path, until: .now, nil) }
  }

  @Test("a lock is waited for until the deadline, then its holder is named; a cancel ends the wait")
  func locked() throws {
    // A terminal's other end is a character device that can be locked like any other.
    var (master, terminal) = (Int32(-1), Int32(-1))
    var name = [CChar](repeating: 0, count: 256)
    try #require(openpty(&master, &terminal, &name, nil, nil) == 0)
    // A program that another test starts must not hold it too.
    for descriptor in [master, terminal] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    defer {
      close(master)
      close(terminal)
    }
    let path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let first = try NodeLock.open(path, until: .now, nil)
    #expect(NodeLock.access(path) == .inUse(by: nil))
    #expect(throws: TransportError.inUse(by: nil)) {
      _ = try NodeLock.open(path, until: .after(.milliseconds(50)), nil)
    }
    let cancel = CancelSwitch()
    cancel.pull()
    #expect(throws: TransportError.cancelled) { _ = try NodeLock.open(path, until: .after(.seconds(5)), cancel) }
    #expect(
      DetachedThread.start {
        usleep(30000); close(first)
      })
    let second = try NodeLock.open(path, until: .after(.seconds(5)), nil)
    close(second)
    // A program that another test has just begun to start still holds it for a moment.
    for _ in 0..<500 where NodeLock.access(path) != .ready { usleep(10_000) }
    #expect(NodeLock.access(path) == .ready)
  }
}
