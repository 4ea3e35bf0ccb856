# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""fido2-token sets and changes a PIN as a person does: on a terminal. token_pin.py NODE"""

import os
import pty
import select
import subprocess
import sys
import time


def run(words, answers):
    """Runs it on a terminal of its own and types one answer at each question."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(words[0], words)
    seen, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.5)[0]:
            continue
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
        if part.rstrip().endswith(b":") and answers:
            time.sleep(0.2)
            os.write(master, answers.pop(0) + b"\n")
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, (words, seen)


def tries(node):
    return subprocess.run(["fido2-token", "-I", node], capture_output=True, text=True, check=True).stdout


node = sys.argv[1]
run(["fido2-token", "-S", node], [b"24680", b"24680"])
assert "pin retries: 8" in tries(node)
run(["fido2-token", "-C", node], [b"24680", b"13579", b"13579"])
run(["fido2-token", "-C", node], [b"13579", b"24680", b"24680"])
print("passed")
