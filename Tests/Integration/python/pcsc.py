# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The virtual key as a contactless card, through a real pcscd: pcsc.py SEALKEY.

For each scenario a fresh key on vpcd's reader, a pcscd of its own on a socket of its own, and the independent client.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVER = "/usr/lib/pcsc/drivers/serial/libifdvpcd.so"
SCENARIOS = [
    ("info", "virtual"),
    ("ceremonies", "virtual"),
    ("pin", "virtual"),
    ("hmac_secret", "virtual"),
    ("resident", "virtual"),
    ("resident", "final"),
    ("extensions", "virtual"),
    ("config", "virtual"),
    ("bio", "bio"),
    ("reset", "virtual"),
    ("u2f", "virtual"),
    ("ceremonies", "protocol2"),
]


def end_with_parent():
    """Run in a child: it ends when this program does, however that comes about."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def start_pcscd(folder, port, host="127.0.0.1"):
    """A pcscd that listens on a socket of ours and knows one reader, whose driver connects to host, or listens on port
    when that is /dev/null."""
    # The daemon reads every file in the folder of its configuration.
    readers = os.path.join(folder, "readers")
    os.mkdir(readers)
    with open(os.path.join(readers, "vpcd"), "w") as config:
        config.write(
            'FRIENDLYNAME "Virtual FIDO"\nDEVICENAME %s:0x%X\nLIBPATH %s\nCHANNELID 0x%X\n' % (host, port, DRIVER, port)
        )
    path = os.path.join(folder, "comm")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(16)
    help_text = subprocess.run(["pcscd", "--help"], capture_output=True, text=True).stdout
    arguments = ["pcscd", "-f", "-c", readers] + (["--disable-polkit"] if "disable-polkit" in help_text else [])
    pid = os.fork()
    if pid == 0:
        end_with_parent()
        os.dup2(listener.fileno(), 3)
        # It may have been 3 already.
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
        log = os.open(os.path.join(folder, "log"), os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.execvp("pcscd", arguments)
    listener.close()
    return pid, path


def run(sealkey, scenario, model):
    with tempfile.TemporaryDirectory() as folder:
        host = subprocess.Popen(
            [sealkey, "virtual", "run", "--vpcd", "0", "--model", model, "--data-dir", os.path.join(folder, "key"), "--json"],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=end_with_parent,
        )
        try:
            port = json.loads(host.stdout.readline())["port"]
            pid, path = start_pcscd(folder, port)
            try:
                client = subprocess.run(
                    [sys.executable, "-B", os.path.join(HERE, "client.py"), "pcsc", scenario],
                    env=dict(os.environ, PCSCLITE_CSOCK_NAME=path),
                    capture_output=True,
                    text=True,
                    timeout=120,
                )
            finally:
                os.kill(pid, signal.SIGTERM)
                os.waitpid(pid, 0)
        finally:
            host.send_signal(signal.SIGINT)
            host.wait(20)
        good = client.returncode == 0 and client.stdout.endswith("passed\n")
        print("%s: %s on a %s card" % ("ok" if good else "FAILED", scenario, model), flush=True)
        if not good:
            print(client.stdout + client.stderr)
        return good


if __name__ == "__main__":
    results = [run(sys.argv[1], scenario, model) for scenario, model in SCENARIOS]
    print("%d passed, %d failed" % (results.count(True), results.count(False)))
    sys.exit(0 if all(results) else 1)
