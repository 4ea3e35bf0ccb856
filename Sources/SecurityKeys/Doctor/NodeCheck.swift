// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// The nodes of keys: whether this user may open them, why, and if not, what is missing.
enum NodeCheck {
  /// One finding a key, or one that there is none.
  static func findings(_ root: SystemRoot, _ rules: DeviceRules) -> [Finding] {
    guard root.exists("/sys/class/hidraw") else {
      return [
        Finding(
          .bad, "noHidraw", "This kernel shows no hidraw nodes, so keys on USB cannot be used.",
          next:
            "Load the module (sudo modprobe hid-generic), or use a kernel that has it. A container must be given /sys.")
      ]
    }
    let keys = nodes(root).filter { FIDOReports(descriptor: $0.descriptor) != nil }
    guard !keys.isEmpty else {
      return [Finding(.note, "noKeyOnUSB", "No security key is plugged into USB.")]
    }
    return keys.map { finding($0, root, rules) }
  }

  private static func finding(_ node: HIDNode, _ root: SystemRoot, _ rules: DeviceRules) -> Finding {
    guard let status = root.status(node.path) else {
      return Finding(
        .bad, "nodeMissing", "The kernel knows \(node.name), but there is no \(node.path) here.", about: node.path,
        next: "In a container, pass it in (--device \(node.path)). Elsewhere: is udev running?")
    }
    let why = reason(status, root, node)
    if root.mayUse(root.prefix + node.path) {
      return Finding(
        .good, "nodeUsable", "You may use \(node.name): \(why ?? "the system allows it").", about: node.path)
    }
    let mode = String(status.st_mode & 0o777, radix: 8)
    let message =
      "You may not use \(node.name): it belongs to user \(status.st_uid), group \(status.st_gid), mode \(mode)."
    guard rules.covers(node.vendorID) else {
      return Finding(
        .bad, "nodeNotPermitted", message + " No rule gives it to whoever sits at the screen.", about: node.path,
        next: NodePermission.remedy(group: nil, node: node))
    }
    // The rule is there and has given nothing: it came after the key, or this session is not the one at the screen.
    return Finding(
      .bad, "nodeNotGiven", message + " A rule gives it to whoever sits at the screen, and that is not this session.",
      about: node.path,
      next:
        "Unplug the key and plug it in again. Over ssh or in a service: join a group that may, by a rule with GROUP.")
  }

  /// Why the node may be used.
  private static func reason(_ status: stat, _ root: SystemRoot, _ node: HIDNode) -> String? {
    if root.user.id == 0 { return "you are root" }
    if status.st_uid == root.user.id, status.st_mode & 0o600 == 0o600 { return "the node is yours" }
    if root.hasAccessList(node.path) { return "it was given to whoever sits at the screen" }
    if root.user.groups.contains(status.st_gid), status.st_mode & 0o060 == 0o060 {
      return "you are in its group, \(status.st_gid)"
    }
    if status.st_mode & 0o006 == 0o006 { return "everybody on this computer may, which is more than is needed" }
    return nil
  }

  /// The hidraw nodes that sysfs shows.
  static func nodes(_ root: SystemRoot) -> [HIDNode] {
    root.names("/sys/class/hidraw").compactMap { name in
      let device = "/sys/class/hidraw/\(name)/device"
      guard let event = root.text("\(device)/uevent") else { return nil }
      var node = HIDNode(
        path: "/dev/\(name)", systemPath: root.resolved(device) ?? device,
        descriptor: root.bytes("\(device)/report_descriptor"))
      for line in event.split(separator: "\n") {
        let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { continue }
        switch parts[0] {
        case "HID_ID": node.setHIDID(parts[1])
        case "HID_NAME": node.hidName = parts[1]
        case "HID_PHYS": node.physicalPath = parts[1]
        case "HID_UNIQ": node.unique = parts[1]
        default: break
        }
      }
      return node
    }
  }
}
