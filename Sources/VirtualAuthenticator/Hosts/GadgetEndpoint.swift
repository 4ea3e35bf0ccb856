// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc
import WebAuthnCore

/// The key as a true USB device, by way of the kernel's USB gadget framework (configfs and `usb_f_hid`): on a board with
/// a USB device port, or with `dummy_hcd` on the same machine. It has USB strings and goes through `usbhid`.
final class GadgetEndpoint: ReportEndpoint {
  private(set) var descriptor: Int32 = -1
  private let reportSize: Int
  private let gadget: String

  /// - Throws: ``VirtualKeyHostError/system(call:errno:)``: it wants root, configfs, the modules `libcomposite` and
  ///   `usb_f_hid`, and a USB device controller.
  init(reportSize: Int, name: String, serial: String) throws(VirtualKeyHostError) {
    self.reportSize = reportSize
    gadget = "/sys/kernel/config/usb_gadget/sealkey-\(getpid())-\(Self.count.next())"
    do {
      try build(name: name, serial: serial)
      descriptor = try openDevice()
    } catch {
      takeDown()
      throw error
    }
  }

  private static let count = Counter()

  private final class Counter: Sendable {
    private let value = Locked(0)
    func next() -> Int {
      value.withLock {
        $0 += 1
        return $0
      }
    }
  }

  private func build(name: String, serial: String) throws(VirtualKeyHostError) {
    guard let controller = Self.firstController() else {
      throw .system(call: "finding a USB device controller (modprobe dummy_hcd makes one)", errno: ENODEV)
    }
    guard mkdir(gadget, 0o755) == 0 else { throw .last("making a USB gadget (modprobe libcomposite; mount configfs)") }
    let function = "\(gadget)/functions/hid.0"
    for directory in ["strings/0x409", "configs/c.1", "functions/hid.0"] {
      guard mkdir("\(gadget)/\(directory)", 0o755) == 0 else { throw .last("making \(directory) of a USB gadget") }
    }
    try put("idVendor", "0x1209")
    try put("idProduct", "0xf1d0")
    try put("bcdUSB", "0x0200")
    try put("strings/0x409/manufacturer", "sealkey")
    try put("strings/0x409/product", name)
    try put("strings/0x409/serialnumber", serial)
    try put("configs/c.1/MaxPower", "100")
    try put("functions/hid.0/protocol", "0")
    try put("functions/hid.0/subclass", "0")
    try put("functions/hid.0/report_length", String(reportSize))
    // Since Linux 5.16: without it hosts could only send by control transfers.
    if access("\(function)/no_out_endpoint", F_OK) == 0 { try put("functions/hid.0/no_out_endpoint", "0") }
    try put("functions/hid.0/report_desc", UHIDEndpoint.reportDescriptor(reportSize))
    guard symlink(function, "\(gadget)/configs/c.1/hid.0") == 0 else { throw .last("linking a USB function") }
    try put("UDC", controller)
  }

  private func put(_ name: String, _ text: String) throws(VirtualKeyHostError) { try put(name, Array(text.utf8)) }

  private func put(_ name: String, _ bytes: [UInt8]) throws(VirtualKeyHostError) {
    let fd = open("\(gadget)/\(name)", O_WRONLY | O_CLOEXEC)
    guard fd >= 0 else { throw .last("opening \(name) of a USB gadget") }
    defer { Glibc.close(fd) }
    guard write(fd, bytes, bytes.count) == bytes.count else { throw .last("writing \(name) of a USB gadget") }
  }

  /// `/dev/hidgN`: N is the minor number that the function names.
  private func openDevice() throws(VirtualKeyHostError) -> Int32 {
    let fd = open("\(gadget)/functions/hid.0/dev", O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else { throw .last("reading the number of a USB function") }
    var buffer = [UInt8](repeating: 0, count: 32)
    let count = read(fd, &buffer, buffer.count)
    Glibc.close(fd)
    let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    let digits = text.drop { $0 != ":" }.dropFirst().prefix { $0.isNumber }
    guard let number = Int(digits) else { throw .system(call: "reading the number of a USB function", errno: EINVAL) }
    // The node appears a moment after the gadget.
    for _ in 0..<200 {
      let device = open("/dev/hidg\(number)", O_RDWR | O_CLOEXEC | O_NONBLOCK)
      if device >= 0 { return device }
      guard errno == ENOENT || errno == ENODEV || errno == ENXIO else { break }
      usleep(10_000)
    }
    throw .last("opening /dev/hidg\(number)")
  }

  private static func firstController() -> String? {
    guard let directory = opendir("/sys/class/udc") else { return nil }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted().first
  }

  func receive() -> ReportInput {
    var buffer = [UInt8](repeating: 0, count: reportSize)
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .closed }
    return count == 0 ? .nothing : .report(Array(buffer[..<count]))
  }

  func send(_ report: [UInt8]) -> Bool {
    // One report at a time: the host has to fetch it. A host that does not for a second is gone or asleep.
    for _ in 0..<10 {
      if write(descriptor, report, report.count) >= 0 { return true }
      guard errno == EAGAIN || errno == EINTR else { return false }
      var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&polled, 1, 100)
    }
    return true
  }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
    takeDown()
  }

  /// Backwards, as configfs wants it. Parts that were never made are not there to be removed.
  private func takeDown() {
    let udc = open("\(gadget)/UDC", O_WRONLY | O_CLOEXEC)
    if udc >= 0 {
      _ = write(udc, "\n", 1)
      Glibc.close(udc)
    }
    unlink("\(gadget)/configs/c.1/hid.0")
    for directory in ["configs/c.1", "functions/hid.0", "strings/0x409"] { rmdir("\(gadget)/\(directory)") }
    rmdir(gadget)
  }
}

extension VirtualKeyHost {
  /// Serves the key as a true USB device, by the kernel's gadget framework.
  /// - Parameters:
  ///   - name: the product string.
  ///   - serial: the serial number string.
  /// - Throws: ``VirtualKeyHostError/system(call:errno:)``: it wants root, the modules `libcomposite` and `usb_f_hid`,
  ///   and a USB device controller, such as that of `dummy_hcd`.
  public static func usbGadget(
    _ key: VirtualAuthenticator, name: String = SimulatedKey.deviceName, serial: String = "virtual",
    faults: FaultScript = FaultScript()
  ) throws(VirtualKeyHostError) -> VirtualKeyHost {
    let endpoint = try GadgetEndpoint(reportSize: key.profile.reportSize, name: name, serial: serial)
    return try serve(key, endpoint, faults: faults)
  }
}
