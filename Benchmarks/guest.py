# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""sealkey beside fido2-tools on one kernel device. Called by guest.sh, inside the guest."""

import base64
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

SEALKEY, NODE = sys.argv[1:3]
RP, ROUNDS = "sealmessenger.com", 9


def run(command, text=None):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit("%s: %s %s" % (command, done.stdout, done.stderr))
    return done.stdout, wall * 1000, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def commands(command, text=None):
    """How many CTAP commands go to the node: writes of first packets of CTAPHID_CBOR, as strace sees them."""
    if shutil.which("strace") is None:
        return None
    log = "/tmp/strace-%d" % os.getpid()
    subprocess.run(
        ["strace", "-f", "-qq", "-xx", "-s", "16", "-e", "trace=write", "-P", NODE, "-o", log] + command, input=text,
        capture_output=True, text=True, timeout=240)
    names = {1: "makeCredential", 2: "getAssertion", 4: "getInfo", 6: "clientPIN", 11: "selection"}
    found = []
    for line in open(log):
        match = re.search(r'write\(\d+(?:<[^>]*>)?, "((?:\\x[0-9a-f]{2})+)"', line)
        data = bytes.fromhex(match.group(1).replace("\\x", "")) if match else b""
        # A report id, the channel, the command, the length, and then CTAP's own command byte.
        if len(data) > 8 and data[5] == 0x90:
            found.append(names.get(data[8], hex(data[8])))
    os.unlink(log)
    return found


def compare(title, mine, theirs, limit):
    times = [[], []]
    for _ in range(ROUNDS):
        for index, (command, text) in enumerate((mine(), theirs())):
            _, wall, cpu = run(command, text)
            times[index].append((wall, cpu))
    wall, cpu = [[statistics.median(t[k] for t in side) for side in times] for k in (0, 1)]
    sent = [commands(*mine()), commands(*theirs())]
    said = ["–" if s is None else "%d (%s)" % (len(s), ", ".join(s)) for s in sent]
    ratio = cpu[0] / max(cpu[1], 0.001)
    print("| %s | %.1f / %.1f ms | %+.1f ms | %.1f / %.1f ms | %.2f%s | %s | %s |" % (
        title, wall[0], wall[1], wall[0] - wall[1], cpu[0], cpu[1], ratio,
        "" if limit is None else " (at most %.1f: %s)" % (limit, "yes" if ratio <= limit else "**no**"), said[0], said[1]))
    sys.stdout.flush()


def random64():
    return base64.b64encode(os.urandom(32)).decode()


def cred_input():
    return "%s\n%s\nuser\n%s\n" % (random64(), RP, base64.b64encode(os.urandom(16)).decode())


made = run(["fido2-cred", "-M", NODE], cred_input())[0].split("\n")
credential = made[4]
run([SEALKEY, "register", "--name", "A", "--key", NODE, "--out", "me", "--data-dir", "d0"])
turn = [0]


def register():
    turn[0] += 1
    folder = "d-%d" % turn[0]
    os.mkdir(folder)
    return [SEALKEY, "register", "--name", "A", "--key", NODE, "--out", folder + "/me", "--data-dir", folder], None


def tap():
    return [SEALKEY, "tap", "--identity", "me", "--estate", "E", "--epoch", "1", "--claim", "C", "--head", "", "--key",
            NODE, "--out", "t", "--yes", "--data-dir", "d0"], None


print("\n## Beside fido2-tools, on a kernel device (uhid, in a virtual machine)\n")
print("| Act | Wall, sealkey / fido2-tools | Difference | Processor | Ratio | sealkey's commands | fido2-tools' commands |")
print("|---|---|---|---|---|---|---|")
compare("`list` / `fido2-token -L`", lambda: ([SEALKEY, "list"], None), lambda: (["fido2-token", "-L"], None), None)
compare("`info` / `fido2-token -I`", lambda: ([SEALKEY, "info", "--key", NODE], None),
        lambda: (["fido2-token", "-I", NODE], None), None)
compare("`register` / `fido2-cred -M`", register, lambda: (["fido2-cred", "-M", NODE], cred_input()), 1.3)
compare("`tap` / `fido2-assert -G`", tap,
        lambda: (["fido2-assert", "-G", NODE], "%s\n%s\n%s\n" % (random64(), RP, credential)), 1.3)
