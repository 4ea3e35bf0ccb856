# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""sealkey itself on a card reader, through a real pcscd: nfc.py SEALKEY.

Run it in a network namespace of its own (unshare -n): the reader's driver listens on every address it finds.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import pcsc

PORT = 36000
READER = "Virtual FIDO 00 00"
# Odd cards: what they do, and whether the whole job works on them.
ODD_CARDS = [
    "select-61xx",
    "select-refuses-le",
    "select-needs-le",
    "no-extended",
    "no-extended,le-on-last",
    "no-chaining",
    "response:16",
    "response:255",
    "no-polling",
    "polls:2",
    "select-61xx,no-extended,le-on-last,response:100,polls:1",
]


class Failed(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        expect(time.monotonic() < end, "%s never came" % what)
        time.sleep(0.05)


def bring_loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


class Bench:
    """A pcscd with one reader, and what is laid on it."""

    def __init__(self, sealkey, folder):
        self.sealkey = sealkey
        self.folder = folder
        self.pid, path = pcsc.start_pcscd(folder, PORT, "/dev/null")
        self.env = dict(os.environ, PCSCLITE_CSOCK_NAME=path)
        self.host = None
        self.key = "nobody"
        self.wait("noCard")

    def close(self):
        self.take()
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)

    def access(self):
        keys = self.json("list")[1].get("keys", [])
        return next((k["access"] for k in keys if k["path"] == READER), None)

    def wait(self, access):
        seen = []

        def reached():
            seen[:] = [self.access()]
            return seen[0] == access

        try:
            wait_for(reached, access)
        except Failed as e:
            raise Failed("%s, only %s" % (e, seen[0]))
        if access == "noCard":
            # The daemon looks at a card every 400 ms: a person is not quicker, and neither is this.
            time.sleep(0.5)

    def lay(self, key, *options):
        """Lays a card on the reader: a virtual key whose state is the file of that name."""
        self.take()
        self.key = key
        self.host = subprocess.Popen(
            [self.sealkey, "virtual", "run", "--vpcd", "connect:%d" % PORT, "--json"]
            + ["--data-dir", os.path.join(self.folder, key)]
            + list(options),
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=pcsc.end_with_parent,
        )
        self.host.stdout.readline()
        self.wait("ready")

    def take(self):
        if self.host:
            self.host.send_signal(signal.SIGINT)
            self.host.wait(20)
            self.host.stdout.close()
            self.host = None
            self.wait("noCard")

    def lift(self):
        self.host.send_signal(signal.SIGUSR1)

    def lay_again(self):
        self.host.send_signal(signal.SIGUSR2)

    def start(self, *arguments, pin=None):
        words = [self.sealkey, *arguments, "--key", "nfc", "--data-dir", self.path(self.key + "-store")]
        stdin = subprocess.DEVNULL
        if pin:
            words += ["--pin-fd", "0"]
            stdin = subprocess.PIPE
        p = subprocess.Popen(
            words, env=self.env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if pin:
            p.stdin.write(pin)
            p.stdin.close()
            p.stdin = None
        return p

    def run(self, *arguments, pin=None):
        p = self.start(*arguments, pin=pin)
        out, err = p.communicate(timeout=120)
        return p.returncode, out, err

    def json(self, verb, *arguments, key=None, pin=None, env=None):
        words = [self.sealkey, verb, *arguments, "--json", "--data-dir", self.path(self.key + "-store")]
        words += ["--key", key] if key else []
        if pin:
            words += ["--pin-fd", "0"]
        done = subprocess.run(
            words, env=env or self.env, input=pin, capture_output=True, text=True, timeout=120
        )
        return done.returncode, json.loads(done.stdout)

    def path(self, name):
        return os.path.join(self.folder, name)

    def good(self, *arguments, pin=None):
        code, out, err = self.run(*arguments, pin=pin)
        expect(code == 0, "%s: %d\n%s%s" % (arguments[0], code, out, err))
        return out, err

    def tap(self, identity, name):
        return ["tap", "--identity", identity, "--estate", "E", "--epoch", "1", "--claim", "C", "--head", ""] + (
            ["--out", name, "--replace"] if name else ["--json"]
        )


def error_of(out):
    return json.loads(out)["error"]["name"]


def nothing_there(b):
    code, answer = b.json("info", "--timeout", "1", key="nfc")
    expect(answer["error"]["name"] == "noCard" and code == 3, answer)
    code, answer = b.json("info", key="nfc:Omnikey")
    expect(answer["error"]["name"] == "noSuchReader" and code == 3, answer)
    gone = dict(b.env, PCSCLITE_CSOCK_NAME="/nonexistent/comm")
    code, answer = b.json("info", key="nfc", env=gone)
    expect(answer["error"]["name"] == "pcscdAbsent" and code == 3, answer)
    code, answer = b.json("list", env=gone)
    expect(code == 0 and answer["readersUnavailable"]["name"] == "pcscdAbsent", answer)
    code, answer = b.json("doctor", env=gone)
    names = [f["name"] for f in answer["findings"]]
    expect(code == 1 and ("pcscdAbsent" in names or "pcscdSilent" in names), answer)


def no_library(b):
    """The PC/SC library is hidden from sealkey, in a mount namespace: only readers are missing."""
    ctypes.CDLL("libpcsclite.so.1")
    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if "libpcsclite.so" in line)

    def run(*words):
        hide = 'mount --bind /dev/null "$1" && shift && exec "$@"'
        words = ["unshare", "--mount", "sh", "-c", hide, "sh", library, b.sealkey, *words]
        done = subprocess.run(words + ["--json", "--data-dir", b.path("no-store")], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)

    code, answer = run("list")
    expect(code == 0 and answer["readersUnavailable"]["name"] == "pcscLibraryAbsent", answer)
    code, answer = run("info", "--key", "nfc")
    expect(code == 3 and answer["error"]["name"] == "pcscLibraryAbsent", answer)
    code, answer = run("info", "--key", "virtual")
    expect(code == 0 and answer["simulated"], answer)


def whole_job(b, *options, key="job", polls=True):
    b.lay(key, *options)
    ada, endorsement, tap = (b.path("%s-%s.json" % (key, n)) for n in ("ada", "e", "t"))
    code, answer = b.json("info", key="nfc:fido 00 00")
    expect(code == 0 and answer["transport"] == "pcsc" and answer["simulated"], answer)
    b.good("register", "--name", "Ada", "--endorse", "--device", b.path(key + ".device"), "--out", ada)
    b.good("endorse", "--identity", ada, "--device", b.path(key + "2.device"), "--out", endorsement)
    b.good(*b.tap(ada, tap))
    for file in (ada, endorsement, tap):
        b.good("verify", file, "--identity", ada)
        with open(file) as f:
            expect(json.load(f)["simulated"], "%s is not marked simulated" % file)


def pin_and_secret(b):
    b.lay("pin")
    b.good("pin", "set", pin="2468\n")
    code, answer = b.json("register", "--name", "Bob", key="nfc", pin="1357\n")
    expect(code == 4 and answer["error"]["name"] == "pinInvalid", answer)
    expect("7 tries" in answer["error"]["message"], answer)
    bob = b.path("bob.json")
    b.good("register", "--name", "Bob", "--out", bob, pin="2468\n")
    with open(bob) as f:
        evidence = json.load(f)["evidence"]["attestationObjectHex"]
    expect("UV: 1" in b.good("inspect", evidence)[0], "UV is not set")
    b.lay("emma")
    b.good("pin", "set", pin="2468\n")
    emma = b.path("emma.json")
    b.good("sponsor", "--name", "Emma", "--out", emma, pin="2468\n2468\n2468\n")
    b.good("unlock", emma, pin="2468\n2468\n")
    expect(b.json("info", key="nfc")[1]["pinTriesLeft"] == 8, "tries were lost")


def matrix(b):
    """The whole run over NFC, and a run over another wire with --also nfc."""
    b.lay("matrix")
    b.good("pin", "set", pin="2468\n")
    places = ["--runs", b.path("runs"), "--practice", b.path("practice")]

    def check(run, steps):
        expect(run["simulated"], "not marked simulated")
        bad = {s["step"]: s["result"] for s in run["steps"] if s["result"] != "works"}
        expect(bad == steps, bad)
        b.good("matrix", "verify", run["file"])
        with open(run["file"]) as f:
            return json.load(f)

    code, answer = b.json("matrix", "run", *places, key="nfc", pin="2468\n")
    expect(code == 0, answer)
    # Being laid on the reader is the touch: there is nothing to cancel.
    record = check(answer, {"cancel": "notDone"})
    expect(record["key"]["transport"] == "pcsc" and READER in record["key"]["place"], record["key"])
    code, answer = b.json("matrix", "run", "--also", "nfc", *places, key="virtual", pin="2468\n")
    expect(code == 0, answer)
    # The virtual key in the process has no PIN: there is nothing to verify with.
    first = check(answer["runs"][0], {"prfAgain": "notDone"})
    second = check(answer["runs"][1], {"cancel": "notDone"})
    expect([r["key"]["transport"] for r in (first, second)] == ["virtual", "pcsc"], "the transports")
    expect(b.json("info", key="nfc")[1]["pinTriesLeft"] == 8, "tries were lost")
    expect(not os.path.exists(b.path("runs")), "a simulated run among the real ones")


def old_key(b):
    b.lay("old", "--model", "u2f")
    ada, tap = b.path("old.json"), b.path("old-t.json")
    b.good("register", "--name", "Ada", "--out", ada)
    b.good(*b.tap(ada, tap))
    b.good("verify", tap, "--identity", ada)


def odd_cards(b):
    for traits in ODD_CARDS:
        try:
            whole_job(b, "--card", traits, key="odd-" + traits.replace(",", "-").replace(":", ""))
        except Failed as e:
            raise Failed("%s: %s" % (traits, e))
    for traits, name in (("usb-face", "useUSB"), ("restricted", "notASecurityKeyCard")):
        b.lay("none", "--card", traits)
        code, answer = b.json("info", "--timeout", "1", key="nfc:" + READER)
        expect(answer["error"]["name"] == name and code == 3, answer)


def tap_for_each(b):
    b.lay("each", "--card", "tap-for-each")
    out = b.path("each.json")
    p = b.start("register", "--name", "Ada", "--endorse", "--device", b.path("each.device"), "--out", out, "--replace")
    asked = 0
    for line in p.stderr:
        if "lay it on again" in line:
            asked += 1
            b.lift()
            b.wait("noCard")
            b.lay_again()
    expect(p.wait(60) == 0 and asked == 1, "asked %d times" % asked)
    p.stdout.close()
    p.stderr.close()
    b.good("verify", out, "--identity", out)


def lifted_anywhere(b):
    """The card is lifted at each APDU in turn: a name each time, and the next act works."""
    b.lay("lifted")
    ada = b.path("lifted.json")
    b.good("register", "--name", "Ada", "--out", ada)
    index, names = 0, []
    while True:
        b.lay("lifted", "--lift", str(index))
        code, out, err = b.run(*b.tap(ada, None), "--timeout", "1")
        if code == 0:
            break
        names.append(error_of(out))
        expect(names[-1] in ("cardRemoved", "noCard"), "APDU %d: %s" % (index, out))
        b.wait("noCard")
        b.lay_again()
        b.wait("ready")
        b.good(*b.tap(ada, b.path("lifted-t.json")))
        index += 1
    expect(len(names) >= 4, names)


def cancelled(b):
    b.lay("wait", "--virtual-touch", "60000")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130)):
        p = b.start("register", "--name", "Ada", "--json")
        for line in p.stderr:
            if "Touch the key" in line:
                p.send_signal(number)
                break
        out, _ = p.communicate(timeout=60)
        expect(p.returncode == code and error_of(out) == "cancelled", out)
        expect(b.json("info", key="nfc")[0] == 0, "the card does not answer after a cancel")
    p = b.start("register", "--name", "Ada", "--json")
    for line in p.stderr:
        if "Touch the key" in line:
            b.lift()
            break
    out, _ = p.communicate(timeout=60)
    expect(error_of(out) == "cardRemoved", out)


def held(b):
    """Another program has the reader to itself."""
    b.lay("held")
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import smartcard.scard as s\n"
            "_, c = s.SCardEstablishContext(s.SCARD_SCOPE_USER)\n"
            "r, h, _ = s.SCardConnect(c, %r, s.SCARD_SHARE_EXCLUSIVE, s.SCARD_PROTOCOL_ANY)\n"
            "print(r, flush=True)\ninput()\n" % READER,
        ],
        env=b.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=pcsc.end_with_parent,
    )
    try:
        expect(holder.stdout.readline() == "0\n", "the other program did not get the reader")
        code, answer = b.json("info", key="nfc")
        expect(answer["error"]["name"] == "readerInUse" and code == 8, answer)
        expect("(process %d)" % holder.pid in answer["error"]["message"], answer)
        keys = b.json("list")[1]["keys"]
        expect([k["access"] for k in keys if k["path"] == READER] == ["inUse"], keys)
        code, answer = b.json("doctor")
        found = {f["name"]: f for f in answer["findings"]}
        expect(code == 1 and found["pcscd"]["verdict"] == "good", answer)
        expect("(process %d)" % holder.pid in found["keyInUse"]["message"], answer)
        expect(not answer["answers"]["tap"]["can"], answer)
        # It is waited for, too.
        p = b.start("info", "--json")
        time.sleep(1)
        holder.communicate("\n", timeout=20)
        p.communicate(timeout=60)
        expect(p.returncode == 0, "the reader was not waited for")
    finally:
        holder.kill()
        holder.wait()


def watched(b):
    b.take()
    log = b.path("watch")
    with open(log, "w") as f:
        w = subprocess.Popen(
            [b.sealkey, "watch", "--json"], env=b.env, stdout=f, preexec_fn=pcsc.end_with_parent
        )

    def events():
        with open(log) as f:
            # The last line may be half written.
            lines = [json.loads(line) for line in f.read().split("\n")[:-1]]
        return [e["event"] for e in lines if e.get("path") == READER]

    wait_for(lambda: events() == ["readerAppeared"], "the reader's event")
    b.lay("watched")
    wait_for(lambda: events() == ["readerAppeared", "cardLaid"], "the card's event")
    b.lift()
    wait_for(lambda: events() == ["readerAppeared", "cardLaid", "cardLifted"], "the lift's event")
    w.send_signal(signal.SIGINT)
    expect(w.wait(20) == 130, "watch ended with %d" % w.returncode)


SCENARIOS = [
    ("no card, no such reader, no pcscd: each by its name", nothing_there),
    ("no PC/SC library: everything else works", no_library),
    ("list, info, register, endorse, tap", whole_job),
    ("PIN set and used, a wrong one, UV, hmac-secret", pin_and_secret),
    ("matrix run over NFC, and with --also nfc", matrix),
    ("a U2F key", old_key),
    ("the same on each odd card", odd_cards),
    ("a card that wants a tap for each ceremony", tap_for_each),
    ("lifted at each APDU", lifted_anywhere),
    ("Ctrl-C, SIGTERM and a lift during the touch", cancelled),
    ("a reader that another program holds", held),
    ("watch", watched),
]


def main(sealkey):
    bring_loopback_up()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(sealkey, folder)
        with contextlib.closing(b):
            for name, scenario in SCENARIOS:
                begin = time.monotonic()
                try:
                    scenario(b)
                    print("ok: %s (%.1f s)" % (name, time.monotonic() - begin), flush=True)
                except Exception as e:
                    failures += 1
                    print("FAILED: %s: %s" % (name, e), flush=True)
    print("%d passed, %d failed" % (len(SCENARIOS) - failures, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
