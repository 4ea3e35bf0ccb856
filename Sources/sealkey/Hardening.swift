// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CProcess
import CryptoCore
import Glibc

/// What the process gives up before it touches a secret.
enum Hardening {
  /// No core dumps, no other program of the same user in its memory, no frames on stderr, as much locked memory as is
  /// allowed. Each is the best that can be had: none of it needs a privilege, and none of it can fail the run.
  static func apply() {
    _ = givenDescriptors
    // Standard streams that are closed are opened on nothing: no file or pipe of ours may take their numbers. What goes
    // to a stdout that is closed is lost, and so it must not seem to be written.
    while true {
      var descriptor = open("/dev/null", O_RDWR)
      if descriptor == 1 {
        close(descriptor)
        descriptor = open("/dev/null", O_RDONLY)
      }
      if descriptor > 2 { close(descriptor) }
      if !(0...2).contains(descriptor) { break }
    }
    cprocess_keep_private()
    // The Swift runtime would answer these with another program that reads this one's memory and shows it.
    for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { signal(number, SIG_DFL) }
    cprocess_raise_descriptors()
    cprocess_raise_locked_memory()
    // libfido2 prints every frame when this is set, PIN blocks and hmac-secret among them.
    if getenv("FIDO_DEBUG") != nil {
      unsetenv("FIDO_DEBUG")
      Console.note("FIDO_DEBUG is set and was ignored: it prints what goes to and from the key.")
    }
    umask(0o077)
    // A PIN or passphrase that waits in one is for nobody whom this program starts.
    for descriptor in givenDescriptors where descriptor > 2 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
  }

  /// The descriptors that whoever started this program gave it: those that were open before it opened any of its own. A
  /// PIN is read from one of these and from no other.
  static let givenDescriptors: Set<Int32> = Set((0..<1024).filter { fcntl($0, F_GETFD) >= 0 })

  /// How many descriptors a run may need at the same time: several keys, the store's locks, the runtime's own.
  static let descriptorsNeeded = 32

  /// Whether so many can be opened now. Without them the Swift runtime ends the process with a signal, in the middle of an
  /// act, so it is found out first.
  static func hasDescriptors() -> Bool {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    while opened.count < descriptorsNeeded {
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return false }
      opened.append(descriptor)
    }
    return true
  }
}

/// So few files may be open that nothing can be done.
struct TooFewDescriptors: NamedError {
  let name = "tooFewDescriptors"
  let message = "So few files may be open at the same time that sealkey cannot work."
  let next = "Allow \(Hardening.descriptorsNeeded + 8) or more: ulimit -n 256"
  let kind = FaultKind.file
}
