# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Questions on a real terminal: the PIN is not shown, Ctrl-C ends the question at once and gives the terminal back."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

program, common = sys.argv[1], sys.argv[2:]
passed = 0


def ok(what, good, detail=""):
    global passed
    if not good:
        print(f"FAILED: {what}: {detail!r}")
        sys.exit(1)
    passed += 1


class Session:
    def __init__(self, *words):
        self.master, slave = pty.openpty()
        self.slave = slave

        def own_terminal():
            os.setsid()
            import fcntl

            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [program, *words, *common], stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal)
        self.seen = b""

    def until(self, text, limit=60):
        end = time.monotonic() + limit
        while text not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                self.seen += os.read(self.master, 4096)
        return text in self.seen

    def echoes(self):
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def wait_hidden(self):
        for _ in range(300):
            if not self.echoes():
                return True
            time.sleep(0.1)
        return False

    def type(self, data):
        os.write(self.master, data)

    def end(self, limit=60):
        code = self.process.wait(limit)
        while select.select([self.master], [], [], 0.2)[0]:
            self.seen += os.read(self.master, 4096)
        return code


# The PIN is hidden, and taken.
s = Session("passkeys", "list")
ok("asks for the PIN", s.until(b"PIN of"), s.seen)
ok("hides it", s.wait_hidden())
s.type(b"2468\n")
code = s.end()
ok("takes it, shows it to nobody", code == 0 and b"2468" not in s.seen and s.echoes(), (code, s.seen))

# Ctrl-C at the question.
s = Session("passkeys", "list")
s.until(b"PIN of")
s.wait_hidden()
s.type(b"\x03")
code = s.end()
ok("Ctrl-C ends the question with 130 and gives the echo back", code == 130 and s.echoes(), (code, s.seen))

# SIGTERM likewise.
s = Session("passkeys", "list")
s.until(b"PIN of")
s.wait_hidden()
s.process.send_signal(signal.SIGTERM)
code = s.end()
ok("so does SIGTERM", code == 130 and s.echoes(), (code, s.seen))

# Nothing was spent by all this.
s = Session("pin", "status")
ok("no try was spent", s.end() == 0 and b"8 tries left" in s.seen, s.seen)

# A PIN from before the minimum was raised is still the PIN, and can be changed.
s = Session("settings", "min-pin-length", "8", "--yes")
ok("asks for the PIN", s.until(b"PIN of") and s.wait_hidden(), s.seen)
s.type(b"2468\n")
ok("says that a new PIN is wanted", s.end() == 0 and b"sealkey pin change" in s.seen, s.seen)
s = Session("pin", "change")
for question, answer in ((b"tries left): ", b"2468"), (b"New PIN of", b"13572468"), (b"again: ", b"13572468")):
    ok("asks", s.until(question) and s.wait_hidden(), s.seen)
    s.type(answer + b"\n")
ok("takes the short old one", s.end() == 0 and b"has the new PIN" in s.seen, s.seen)
print(f"{passed} passed")
