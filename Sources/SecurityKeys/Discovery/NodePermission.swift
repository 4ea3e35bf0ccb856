// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// What gives a person the use of a key's node.
public enum NodePermission {
  /// What to do about a node that this user may not open: a group to join where one may use it, else a udev rule for
  /// the key that sits there.
  public static func remedy(_ path: String) -> String {
    var status = stat()
    let isThere = stat(path, &status) == 0
    let node = SystemNodes.all().first { $0.path == path }
    return remedy(
      group: isThere && status.st_mode & 0o060 == 0o060 && status.st_gid != 0 ? groupName(status.st_gid) : nil,
      node: node)
  }

  static func remedy(group: String?, node: HIDNode?) -> String {
    if let group { return "Join the group that may: sudo usermod -aG \(group) $USER, then log in again." }
    return "Put this line into /etc/udev/rules.d/70-security-key.rules and plug the key in again: \(rule(node))"
  }

  /// The udev rule that lets whoever sits at this computer use the key.
  public static func rule(_ node: HIDNode?) -> String {
    var matches: [String] = []
    // Only what hangs on the USB bus has USB's attributes. The HID device is there for all: its name in the kernel begins
    // with bus, vendor and product.
    if let node, let vendor = node.vendorID, let product = node.productID {
      if node.isOnUSB {
        matches = ["ATTRS{idVendor}==\"\(HIDNode.hex(vendor))\"", "ATTRS{idProduct}==\"\(HIDNode.hex(product))\""]
      } else {
        let name = [node.bus ?? 3, vendor, product].map { HIDNode.hex($0).uppercased() }.joined(separator: ":")
        matches = ["KERNELS==\"\(name).*\""]
      }
    }
    return (["SUBSYSTEM==\"hidraw\""] + matches + ["TAG+=\"uaccess\""]).joined(separator: ", ")
  }

  private static func groupName(_ id: gid_t) -> String {
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: 16384)
    guard getgrgid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.gr_name else {
      return "\(id)"
    }
    return String(cString: name)
  }
}
