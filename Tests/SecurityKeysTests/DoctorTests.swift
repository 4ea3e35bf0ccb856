// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc
import TestSupport
import Testing
import WebAuthnCore

@testable import SecurityKeys

/// A computer made of files.
private struct MadeComputer {
  let folder: TemporaryFolder
  var variables: [String: String] = [:]
  var unusable: Set<String> = []
  var user = SystemRoot.User(id: 1000, groups: [1000])

  static let fido: [UInt8] = [
    0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x81,
    0x02,
    0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xC0,
  ]

  init() throws { folder = try TemporaryFolder() }

  func put(_ path: String, _ bytes: [UInt8], mode: mode_t = 0o644) throws {
    let whole = folder.path + path
    _ = try Program.run("mkdir", ["-p", String(whole[..<(whole.lastIndex(of: "/") ?? whole.endIndex)])])
    let descriptor = open(whole, O_WRONLY | O_CREAT | O_TRUNC, mode)
    try #require(descriptor >= 0)
    #expect(write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
    chmod(whole, mode)
  }

  func put(_ path: String, _ text: String = "", mode: mode_t = 0o644) throws {
    try put(path, Array(text.utf8), mode: mode)
  }

  /// A key of a vendor and product on a node, where sysfs shows it.
  func plug(_ number: Int, _ vendor: String, _ product: String, on bus: String = "pci0/usb1/1-1/1-1:1.0") throws {
    let device = "/sys/devices/\(bus)/0003:\(vendor):\(product).000\(number)"
    try put(
      "\(device)/uevent", "HID_ID=0003:0000\(vendor):0000\(product)\nHID_NAME=Key \(number)\nHID_PHYS=usb-1/input0\n")
    try put("\(device)/report_descriptor", Self.fido)
    try put("\(device)/hidraw/hidraw\(number)/dev", "243:\(number)")
    _ = try Program.run("mkdir", ["-p", "\(folder.path)/sys/class/hidraw"])
    _ = try Program.run(
      "ln", ["-s", "\(folder.path)\(device)/hidraw/hidraw\(number)", "\(folder.path)/sys/class/hidraw/hidraw\(number)"])
    _ = try Program.run("ln", ["-s", "../..", "\(folder.path)\(device)/hidraw/hidraw\(number)/device"])
  }

  func node(_ number: Int, mode: mode_t) throws { try put("/dev/hidraw\(number)", "", mode: mode) }

  var root: SystemRoot {
    let (variables, unusable, prefix) = (variables, unusable, folder.path)
    return SystemRoot(
      prefix: prefix, user: user, mayUse: { path in !unusable.contains(String(path.dropFirst(prefix.count))) },
      variable: { variables[$0] })
  }

  func look(_ problem: CardError? = .libraryAbsent, readers: Int = 0, now: Int64 = 1_800_000_000) -> [Finding] {
    Doctor.look(at: root, readerProblem: problem, readers: readers, now: now)
  }

  static let detection = "SUBSYSTEM==\"hidraw\", IMPORT{program}=\"fido_id\"\n"
  static let uaccess = "# all of it\nENV{ID_SECURITY_TOKEN}==\"?*\", \\\n  TAG+=\"uaccess\"\n"
}

extension [Finding] {
  fileprivate func one(_ name: String) -> Finding? { first { $0.name == name } }
}

/// Every fault that a person's computer may have, made up, and found.
@Suite("Doctor", .programs)
struct DoctorTests {
  @Test("a node that may not be used: what is missing is named, for the bus it sits on")
  func permission() throws {
    var computer = try MadeComputer()
    try computer.plug(0, "1050", "0407")
    try computer.plug(1, "1209", "BEEE", on: "virtual/misc/uhid")
    for number in 0...1 {
      try computer.node(number, mode: 0o600)
      computer.unusable.insert("/dev/hidraw\(number)")
    }
    let without = computer.look()
    let nodes = without.filter { $0.name == "nodeNotPermitted" }
    #expect(nodes.map(\.subject) == ["/dev/hidraw0", "/dev/hidraw1"])
    #expect(nodes.allSatisfy { $0.verdict == .bad && $0.message.contains("mode 600") })
    #expect(nodes[0].next?.contains(#"ATTRS{idVendor}=="1050", ATTRS{idProduct}=="0407", TAG+="uaccess""#) == true)
    #expect(nodes[1].next?.contains(#"KERNELS=="0003:1209:BEEE.*", TAG+="uaccess""#) == true)
    #expect(without.one("udevRulesMissing")?.next?.contains("70-sealkey.rules") == true)

    // With the system's rules the node is for whoever sits at the screen, and this session is another.
    try computer.put("/usr/lib/udev/rules.d/60-fido-id.rules", MadeComputer.detection)
    try computer.put("/usr/lib/udev/rules.d/70-uaccess.rules", MadeComputer.uaccess)
    let with = computer.look()
    #expect(with.filter { $0.name == "nodeNotGiven" }.count == 2)
    #expect(with.one("udevRules")?.verdict == .good)

    // And usable: why.
    computer.unusable = []
    #expect(computer.look().filter { $0.name == "nodeUsable" }.count == 2)
    try computer.node(0, mode: 0o666)
    #expect(computer.look().one("nodeUsable")?.message.contains("everybody") == true)
    computer.user = .init(id: 0, groups: [0])
    #expect(computer.look().one("nodeUsable")?.message.contains("root") == true)
  }

  @Test("no node, no hidraw, no key")
  func absent() throws {
    let computer = try MadeComputer()
    #expect(computer.look().one("noHidraw")?.verdict == .bad)
    try computer.plug(3, "1050", "0407")
    #expect(computer.look().one("nodeMissing")?.next?.contains("--device /dev/hidraw3") == true)
    let keyboard = try MadeComputer()
    try keyboard.put("/sys/class/hidraw/hidraw0/device/uevent", "HID_ID=0003:0000046D:0000C31C\n")
    try keyboard.put("/sys/class/hidraw/hidraw0/device/report_descriptor", [0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0xC0])
    #expect(keyboard.look().one("noKeyOnUSB")?.verdict == .note)
  }

  @Test("rules: for all, for some, hidden by another file, without udev's own look")
  func rules() throws {
    func name(_ files: [(String, String)]) throws -> String {
      let computer = try MadeComputer()
      for (path, text) in files { try computer.put(path, text) }
      return DeviceRules(computer.root).finding.name
    }
    let (id, all) = ("/lib/udev/rules.d/60-fido-id.rules", "/lib/udev/rules.d/70-uaccess.rules")
    #expect(try name([(id, MadeComputer.detection), (all, MadeComputer.uaccess)]) == "udevRules")
    #expect(try name([(all, MadeComputer.uaccess)]) == "udevDetectionMissing")
    #expect(
      try name([
        (id, MadeComputer.detection), (all, MadeComputer.uaccess), ("/etc/udev/rules.d/70-uaccess.rules", "# no\n"),
      ])
        == "udevRulesMasked")
    #expect(
      try name([("/etc/udev/rules.d/70-u2f.rules", #"KERNEL=="hidraw*", ATTRS{idVendor}=="1050|20a0", TAG+="uaccess""#)]
      )
        == "udevRulesForSome")
    #expect(try name([(all, "# ENV{ID_SECURITY_TOKEN}==\"?*\", TAG+=\"uaccess\"")]) == "udevRulesMissing")
    #expect(try name([(all, #"ENV{ID_SECURITY_TOKEN}=="?*", TAG-="uaccess""#)]) == "udevRulesMissing")
  }

  @Test("the rules that come with sealkey cover every model that it knows by number")
  func ourRules() throws {
    let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let text = String(
      decoding: SystemNodes.contents("/\(here)/Packaging/70-sealkey.rules", limit: 1 << 16), as: UTF8.self)
    try #require(!text.isEmpty)
    let computer = try MadeComputer()
    try computer.put("/etc/udev/rules.d/70-sealkey.rules", text)
    let rules = DeviceRules(computer.root)
    #expect(rules.forAll == "/etc/udev/rules.d/70-sealkey.rules")
    #expect(KnownModels.vendors.count > 20)
    for vendor in KnownModels.vendors { #expect(rules.covers(vendor), "\(HIDNode.hex(vendor))") }
    #expect(!rules.covers(0x046D))
  }

  @Test("readers: pcscd, its policy, and drivers of the kernel")
  func readers() throws {
    let computer = try MadeComputer()
    #expect(computer.look(nil, readers: 1).one("pcscd")?.verdict == .good)
    #expect(computer.look(.serviceAbsent).one("pcscdAbsent")?.verdict == .note)
    #expect(computer.look(.notPermitted).one("readersNotPermitted")?.verdict == .bad)
    try computer.put("/run/pcscd/pcscd.comm")
    #expect(computer.look(.serviceAbsent).one("pcscdSilent")?.verdict == .bad)
    try computer.put("/usr/share/polkit-1/actions/org.debian.pcsc-lite.policy")
    #expect(computer.look(.notPermitted).one("readersNotPermitted")?.message.contains("over ssh") == true)
    #expect(computer.look(nil).one("kernelHoldsReader") == nil)
    try computer.put("/sys/bus/usb/drivers/pn533_usb/bind")
    #expect(computer.look(nil).one("kernelHoldsReader") == nil)
    try computer.put("/sys/bus/usb/drivers/pn533_usb/1-2:1.0/uevent")
    let held = computer.look(nil).one("kernelHoldsReader")
    #expect(held?.subject == "1-2:1.0")
    #expect(held?.next?.contains("blacklist pn533_usb") == true)
  }

  @Test func confinement() throws {
    var computer = try MadeComputer()
    #expect(computer.look().one("confinement")?.verdict == .good)
    computer.variables = ["SNAP": "/snap/x/1", "SNAP_NAME": "x"]
    #expect(computer.look().one("snap")?.next?.contains("x:u2f-devices") == true)
    computer.variables = [:]
    try computer.put("/.flatpak-info", "[Application]")
    #expect(computer.look().one("flatpak")?.verdict == .bad)
    try computer.put("/run/.containerenv")
    #expect(computer.look().one("container")?.verdict == .note)
  }

  @Test func libraries() {
    for (release, functions) in [
      ("1.12", []), ("1.13", ["fido_assert_empty_allow_list"]),
      ("1.15", ["fido_assert_empty_allow_list", "fido_assert_authdata_raw_ptr", "fido_cred_x5c_list_count"]),
      ("1.17", ["fido_dev_get_puat"]),
    ] as [(String, Set<String>)] {
      let findings = LibraryCheck.findings(hasFunction: functions.contains, hasMLKEM: release == "1.17")
      #expect(findings.one("libfido2")?.message.contains(release) == true)
      #expect((findings.one("mlkem") != nil) == (release == "1.17"))
      #expect((findings.one("mlkemMissing") == nil) == (release == "1.17"))
    }
    // This very process.
    #expect(LibraryCheck.findings().count == 2)
  }

  @Test func clocks() {
    #expect(Doctor.clock(now: 0, isSynchronised: true).name == "clockWrong")
    #expect(Doctor.clock(now: 9_999_999_999, isSynchronised: nil).name == "clockWrong")
    #expect(Doctor.clock(now: 1_800_000_000, isSynchronised: false).name == "clockNotSynchronised")
    for known in [nil, true] { #expect(Doctor.clock(now: 1_800_000_000, isSynchronised: known).name == "clock") }
  }

  @Test(
    "published weaknesses, by maker and firmware",
    arguments: [
      (0x1050, "YubiKey 5", [5, 4, 3], ["YSA-2025-02", "YSA-2024-03"]),
      (0x1050, "YubiKey 5", [5, 7, 0], ["YSA-2025-02"]),
      (0x1050, "YubiKey 5", [5, 6, 255], ["YSA-2025-02", "YSA-2024-03"]), (0x1050, "YubiKey 5", [5, 7, 4], []),
      (0x1050, "YubiKey Bio", [5, 7, 1], ["YSA-2025-02", "YSA-2024-03"]),
      (0x1050, "YubiKey Bio", [5, 7, 2], ["YSA-2025-02"]),
      (0x1050, "YubiKey 4", [4, 3, 4], ["YSA-2017-01"]), (0x1050, "YubiKey 4", [4, 3, 5], []),
      (0x1050, "YubiKey FIPS", [4, 4, 2], ["YSA-2019-02"]), (0x1050, "YubiKey FIPS", [4, 4, 5], []),
      (0x1050, "YubiKey NEO", [3, 4, 9], ["CVE-2021-3011"]), (0x1050, "YubiKey", nil, []),
      (0x096E, "Feitian", nil, ["YSA-2024-03"]), (0x20A0, "Nitrokey", [1, 0, 0], []), (nil, "card", [5, 1, 0], []),
    ] as [(Int?, String, [Int]?, [String])])
  func advisories(vendor: Int?, name: String, firmware: [Int]?, ids: [String]) {
    let found = Advisory.about(
      vendorID: vendor.map { UInt16($0) }, productID: 0x0407, name: name, firmware: firmware)
    #expect(found.map(\.id) == ids)
    #expect(found.allSatisfy { !$0.meaning.isEmpty })
  }

  @Test("firmware is read where the maker writes it")
  func firmware() throws {
    func facts(_ number: UInt64?, _ version: [UInt8]) -> KeyFacts {
      var info = number == nil ? nil : ModelInfo.any
      info?.firmwareVersion = number
      return KeyFacts(
        name: "k", transport: "hidraw", isSimulated: false,
        initReply: InitReply(deviceVersion: version, capabilities: 4), info: info)
    }
    #expect(facts(0x050403, [0, 0, 0]).firmware(vendorID: 0x1050) == [5, 4, 3])
    #expect(facts(nil, [4, 3, 1]).firmware(vendorID: 0x1050) == [4, 3, 1])
    #expect(facts(7, [0, 0, 0]).firmware(vendorID: 0x1050) == nil)
    #expect(facts(0x050403, [5, 4, 3]).firmware(vendorID: 0x20A0) == nil)
    #expect(facts(0x050403, [5, 4, 3]).advisories(vendorID: 0x18D1, productID: 0x5026).map(\.id) == ["CVE-2021-3011"])
  }

  @Test func answers() {
    let good = Readiness.Key(name: "A", obstacle: nil, es256: true, prf: true, verifiesPerson: true)
    let u2f = Readiness.Key(name: "B", obstacle: nil, es256: true, prf: false, verifiesPerson: false)
    let blocked = Readiness.Key(
      name: "C", obstacle: .init("its PIN is blocked"), es256: true, prf: true,
      verifiesPerson: true)
    let bare = Readiness.Key(name: "D", obstacle: nil, es256: true, prf: true, verifiesPerson: false)
    for act in Readiness.Act.allCases {
      #expect(Readiness.answer(act, keys: [good]).can)
      #expect(!Readiness.answer(act, keys: []).can)
      #expect(Readiness.answer(act, keys: [blocked]).because.contains("its PIN is blocked"))
      #expect(Readiness.answer(act, keys: [blocked, good]).can)
      #expect(!Readiness.answer(act, keys: [good], obstacle: "the clock").can)
      #expect(Readiness.answer(act, keys: [u2f]).can == (act != .unlock))
    }
    #expect(Readiness.answer(.unlock, keys: [bare]).because.contains("pin set"))
    #expect(Readiness.answer(.unlock, keys: [u2f]).because.contains("hmac-secret"))
  }

  @Test(
    "what a PIN that cannot be used leaves to a touch alone",
    arguments: [
      (["clientPin": true], [.tap]), (["clientPin": true, "makeCredUvNotRqd": true], [.register, .tap]),
      (["clientPin": true, "makeCredUvNotRqd": true, "alwaysUv": true], []),
      (["clientPin": true, "uv": true], [.register, .tap, .unlock]),
    ] as [([String: Bool], Set<Readiness.Act>)])
  func touchAlone(options: [String: Bool], left: Set<Readiness.Act>) throws {
    var info = try #require(ModelInfo.any)
    info.options = options
    var changing = info
    changing.forcePINChange = true
    for (info, tries) in [(info, 0), (info, 3), (changing, 8)] {
      let obstacle = Readiness.obstacle(info, triesLeft: tries, lastTries: false)
      let key = Readiness.Key(name: "A", obstacle: obstacle, es256: true, prf: true, verifiesPerson: true)
      for act in Readiness.Act.allCases {
        let answer = Readiness.answer(act, keys: [key])
        #expect(answer.can == left.contains(act), "\(act): \(answer)")
        #expect(answer.because.contains("--no-uv") == (answer.can && options["uv"] == nil), "\(act): \(answer)")
      }
    }
  }
}

private enum ModelInfo {
  /// A getInfo like any.
  static var any: AuthenticatorInfo? {
    try? AuthenticatorInfo(
      parsing: CBORValue.encode(
        .intMap([(1, .array([.text("FIDO_2_0")])), (3, .bytes([UInt8](repeating: 1, count: 16)))])))
  }
}
