// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CUdev
import Glibc

/// What stands around keys on card readers, and around this program: pcscd, the kernel's NFC drivers, sandboxes.
enum SurroundingsCheck {
  /// pcscd, its policy, and drivers of the kernel that hold a reader.
  /// - Parameter problem: why pcscd's readers could not be listed; nil when they could.
  static func readers(_ root: SystemRoot, problem: CardError?, count: Int) -> [Finding] {
    var findings: [Finding] = []
    let hasPolicy = root.exists("/usr/share/polkit-1/actions/org.debian.pcsc-lite.policy")
    let policy =
      hasPolicy ? " polkit decides who may use it: whoever sits at the screen; over ssh it refuses." : ""
    switch problem {
    case nil:
      findings.append(
        Finding(.good, "pcscd", "pcscd runs and shows \(count == 1 ? "one reader" : "\(count) readers").\(policy)"))
    case .notPermitted?:
      findings.append(
        Finding(
          .bad, "readersNotPermitted", "pcscd runs and does not let you use its readers.\(policy)",
          next: CardError.notPermitted.next))
    case .serviceAbsent? where root.exists("/run/pcscd/pcscd.comm"):
      findings.append(
        Finding(
          .bad, "pcscdSilent", "pcscd's socket is there and nothing answers on it.",
          next: "Restart it: sudo systemctl restart pcscd.socket pcscd"))
    case let error?:
      // Only who has a reader needs it.
      findings.append(Finding(.note, error.name, error.message, next: error.next))
    }
    for driver in ["pn533_usb", "port100", "nfcmrvl_usb"] {
      for device in root.names("/sys/bus/usb/drivers/\(driver)") where device.contains(":") {
        findings.append(
          Finding(
            .bad, "kernelHoldsReader", "The kernel's driver \(driver) holds a card reader, so pcscd cannot use it.",
            about: device,
            next: "echo 'blacklist \(driver)' | sudo tee /etc/modprobe.d/sealkey-nfc.conf && sudo modprobe -r \(driver)"
          ))
      }
    }
    return findings
  }

  /// Sandboxes that hide keys.
  static func confinement(_ root: SystemRoot) -> [Finding] {
    var findings: [Finding] = []
    if let snap = root.variable("SNAP_NAME") ?? (root.variable("SNAP") == nil ? nil : "this snap") {
      findings.append(
        Finding(
          .bad, "snap", "This runs inside a snap, which sees security keys only when it is connected to them.",
          next: "sudo snap connect \(snap):u2f-devices; and for readers \(snap):pcscd"))
    }
    if root.exists("/.flatpak-info") {
      findings.append(
        Finding(
          .bad, "flatpak", "This runs inside a flatpak, which sees security keys only with all devices.",
          next: "flatpak override --user --device=all APPLICATION; for readers: --socket=pcsc"))
    }
    if root.exists("/.dockerenv") || root.exists("/run/.containerenv") || root.variable("container") != nil {
      findings.append(
        Finding(
          .note, "container", "This runs in a container: it sees the keys that were passed in when it was started.",
          next: "Pass the node in: --device /dev/hidrawN"))
    }
    if findings.isEmpty {
      findings.append(
        Finding(.good, "confinement", "This runs in no snap, flatpak or container that could keep keys from it."))
    }
    return findings
  }

  /// Memory that is never written to disk.
  static func lockedMemory() -> Finding {
    let limit = cudev_locked_memory()
    // A ceremony holds a few dozen secrets at a time, a page each.
    guard limit < 64 * 4096 else {
      return Finding(.good, "lockedMemory", "Secrets can be held in memory that is never written to disk.")
    }
    return Finding(
      .note, "lockedMemoryShort",
      "Only \(limit / 1024) KB may be locked: some secrets could be written to a swap file for a moment.",
      next: "Raise the limit (ulimit -l), or encrypt the swap.")
  }
}
