// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

private enum SmallDisks {
  /// Whether this user may make one that only a child process sees.
  static let areThere = (try? Program.run("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"]))?.code == 0
}

/// Disks that are full or read-only, small ones made for the test where this user may do so.
@Suite("disks", .programs, .enabled(if: SmallDisks.areThere)) struct DiskTests {
  /// Runs shell commands on a disk of `size`, at $disk; $sealkey is the program with a virtual key on it.
  private func run(size: String, _ script: String) throws -> Program.Result {
    let folder = try TemporaryFolder()
    return try Program.run(
      "unshare",
      [
        "-m", "sh", "-euc",
        """
        disk='\(folder.path)'
        mount -t tmpfs -o size=\(size) none "$disk"
        sealkey="\(Program.sealkey) --json --key virtual --data-dir $disk/data"
        \(script)
        """,
      ])
  }

  @Test(
    "a full disk under the virtual key is called that, with the file, whatever the act",
    arguments: [
      "register --name Ada", "pin set --pin-fd 7", "matrix run --practice $elsewhere --runs $elsewhere",
    ])
  func full(act: String) throws {
    let made = try run(
      size: "64k",
      """
      $sealkey info >$disk/info
      head -c 65536 /dev/zero >$disk/filler 2>$disk/said || true
      elsewhere=$(mktemp -d)
      echo 2468 >$elsewhere/pin
      exec 7<$elsewhere/pin
      code=0
      $sealkey \(act) 2>/dev/null || code=$?
      echo "code $code"
      ls $disk/data
      rm -r $elsewhere
      """)
    #expect(made.code == 0, "\(made.err)")
    #expect(made.out.contains("code 7"), "\(act): \(made.out)")
    #expect(made.out.contains("No space left on device"), "\(made.out)")
    #expect(made.out.contains("\"virtualKeyUnwritable\"") && made.out.contains("/data/virtual-key cannot be saved"))
    #expect(!made.out.contains(".new.") && !made.out.contains(".tmp-"), "\(made.out)")
  }

  @Test("a read-only disk is called that, and no state is called damaged")
  func readOnly() throws {
    let made = try run(
      size: "64k",
      """
      $sealkey info >$disk/info
      mount -o remount,ro $disk
      for act in info 'register --name Ada' 'store check'; do
        code=0
        $sealkey $act 2>/dev/null || code=$?
        echo "code $code"
      done
      """)
    #expect(made.code == 0, "\(made.err)")
    #expect(
      made.out.split(separator: "\n").filter { $0.hasPrefix("code") } == ["code 7", "code 7", "code 1"], "\(made.out)")
    #expect(made.out.split(separator: "virtualKeyUnwritable").count == 4, "\(made.out)")
    #expect(made.out.contains("Read-only file system") && made.out.contains("The disk is read-only"))
    #expect(!made.out.contains("amaged") && !made.out.contains("Restore"), "\(made.out)")
  }
}
