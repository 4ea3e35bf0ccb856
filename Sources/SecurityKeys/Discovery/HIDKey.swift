// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import CUdev
import Glibc
import WebAuthnCore

/// A FIDO key that the kernel shows as a hidraw node.
public struct HIDKey: Sendable, Hashable {
  /// The node, for example `/dev/hidraw3`.
  public let path: String
  /// A short id, the same as long as the key stays where it is.
  public let id: String
  /// What it calls itself.
  public let name: String
  /// USB vendor number.
  public let vendor: UInt16
  /// USB product number.
  public let product: UInt16
  /// The other end is a program: a uhid device, a USB gadget or a USB/IP link.
  public let isSimulated: Bool
  /// How long its reports are.
  public let descriptor: HIDReportDescriptor

  /// Whether this user may open the node.
  public var isPermitted: Bool { access(path, R_OK | W_OK) == 0 }

  /// Every FIDO key that is plugged in, by libudev; a node without permission is listed too.
  public static func all() -> [HIDKey] {
    guard let udev = udev_new() else { return [] }
    defer { udev_unref(udev) }
    guard let enumeration = udev_enumerate_new(udev) else { return [] }
    defer { udev_enumerate_unref(enumeration) }
    guard udev_enumerate_add_match_subsystem(enumeration, "hidraw") >= 0,
      udev_enumerate_scan_devices(enumeration) >= 0
    else { return [] }
    var keys: [HIDKey] = []
    var entry = udev_enumerate_get_list_entry(enumeration)
    while let current = entry {
      if let path = udev_list_entry_get_name(current), let device = udev_device_new_from_syspath(udev, path) {
        if let key = HIDKey(device) { keys.append(key) }
        udev_device_unref(device)
      }
      entry = udev_list_entry_get_next(current)
    }
    return keys.sorted { $0.path < $1.path }
  }

  /// The key behind a udev device of the subsystem hidraw; nil when it is no FIDO key.
  init?(_ device: OpaquePointer) {
    guard let node = udev_device_get_devnode(device),
      let hid = udev_device_get_parent_with_subsystem_devtype(device, "hid", nil),
      let systemPath = udev_device_get_syspath(hid)
    else { return nil }
    let folder = String(cString: systemPath)
    guard let descriptor = HIDReportDescriptor(Self.read("\(folder)/report_descriptor")) else { return nil }
    func property(_ name: String) -> String? {
      udev_device_get_property_value(hid, name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
    let usb = udev_device_get_parent_with_subsystem_devtype(device, "usb", "usb_device")
    func attribute(_ name: String) -> String? {
      usb.flatMap { udev_device_get_sysattr_value($0, name) }.map { String(cString: $0) }
        .flatMap { $0.isEmpty ? nil : $0 }
    }
    // HID_ID is bus:vendor:product in hexadecimal, four, eight and eight digits.
    let numbers = (property("HID_ID") ?? "").split(separator: ":").map { UInt32($0, radix: 16) ?? 0 }
    path = String(cString: node)
    vendor = UInt16(truncatingIfNeeded: numbers.count == 3 ? numbers[1] : 0)
    product = UInt16(truncatingIfNeeded: numbers.count == 3 ? numbers[2] : 0)
    let words = [attribute("manufacturer"), attribute("product")].compactMap { $0 }
    let joined = words.joined(separator: " ")
    name = Self.printable(joined.isEmpty ? property("HID_NAME") ?? "FIDO key" : joined)
    isSimulated = ["/uhid/", "dummy_hcd", "vhci_hcd"].contains { folder.contains($0) }
    let place = property("HID_UNIQ") ?? property("HID_PHYS") ?? folder
    id = String(Hex.encode(SHA256.hash(Array("\(vendor):\(product):\(place)".utf8))).prefix(6))
    self.descriptor = descriptor
  }

  /// The endpoint that opens it.
  public var endpoint: KeyEndpoint {
    let path = path
    return .reports(
      id: path, name: name, kindName: "hidraw", isSimulated: isSimulated,
      shape: .init(outputSize: descriptor.outputSize, inputSize: descriptor.inputSize, writesReportID: true)
    ) { () throws(TransportError) in try Self.open(path) }
  }

  /// Opens the node and locks it, waiting a little for another program that is just finishing.
  static func open(_ path: String, patience: Duration = .seconds(2)) throws(TransportError) -> Int32 {
    let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      switch errno {
      case EACCES, EPERM: throw .notPermitted(path: path)
      case ENOENT, ENODEV, ENXIO: throw .unplugged
      case EBUSY: throw .busy
      case let code: throw .system(call: "open \(path)", errno: code)
      }
    }
    let deadline = Deadline.after(patience)
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR, !deadline.isOver else {
        close(descriptor)
        throw .busy
      }
      usleep(50_000)
    }
    return descriptor
  }

  private static func read(_ path: String) -> [UInt8] {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    // The kernel's own limit for a report descriptor.
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    return Array(buffer.prefix(max(0, count)))
  }

  /// A key names itself; what it says must not steer a terminal.
  private static func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }))
  }
}
