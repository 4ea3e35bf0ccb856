// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CUdev
import Glibc

/// The hidraw nodes of this computer, by libudev.
enum SystemNodes {
  /// All of them, FIDO or not, in the order of their paths. Nothing is opened.
  static func all() -> [HIDNode] {
    guard let udev = udev_new() else { return [] }
    defer { udev_unref(udev) }
    guard let enumeration = udev_enumerate_new(udev) else { return [] }
    defer { udev_enumerate_unref(enumeration) }
    guard udev_enumerate_add_match_subsystem(enumeration, "hidraw") == 0,
      udev_enumerate_scan_devices(enumeration) >= 0
    else { return [] }
    var nodes: [HIDNode] = []
    var entry = udev_enumerate_get_list_entry(enumeration)
    while let current = entry {
      if let path = udev_list_entry_get_name(current), let device = udev_device_new_from_syspath(udev, path) {
        if let node = node(device) { nodes.append(node) }
        udev_device_unref(device)
      }
      entry = udev_list_entry_get_next(current)
    }
    return nodes.sorted { $0.path < $1.path }
  }

  private static func node(_ device: OpaquePointer) -> HIDNode? {
    // Parents are borrowed from the device.
    guard let path = text(udev_device_get_devnode(device)),
      let hid = udev_device_get_parent_with_subsystem_devtype(device, "hid", nil),
      let systemPath = text(udev_device_get_syspath(hid))
    else { return nil }
    var node = HIDNode(
      path: path, systemPath: systemPath, descriptor: contents("\(systemPath)/report_descriptor", limit: 4096))
    if let id = text(udev_device_get_property_value(hid, "HID_ID")) { node.setHIDID(id) }
    node.hidName = text(udev_device_get_property_value(hid, "HID_NAME"))
    node.physicalPath = text(udev_device_get_property_value(hid, "HID_PHYS"))
    node.unique = text(udev_device_get_property_value(hid, "HID_UNIQ"))
    if let usb = udev_device_get_parent_with_subsystem_devtype(device, "usb", "usb_device") {
      node.manufacturer = text(udev_device_get_sysattr_value(usb, "manufacturer"))
      node.product = text(udev_device_get_sysattr_value(usb, "product"))
      node.unique = text(udev_device_get_sysattr_value(usb, "serial")) ?? node.unique
    }
    return node
  }

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }

  /// The first `limit` bytes of a file; empty when it cannot be read. A sysfs file may hold NULs, which libudev drops.
  static func contents(_ path: String, limit: Int) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count < limit {
      let count = read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }
}
