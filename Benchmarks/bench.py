# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Measures sealkey beside the programs that it is compared with, and writes docs/BENCHMARKS.md. `make bench` runs it.

usage: bench.py SEALKEY CORE_BENCHMARK CAPSULE_BENCHMARK OUTPUT
SEALKEY_PYTHON names a python with PyPI's fido2, for the comparison with it.
"""

import hashlib
import json
import os
import platform
import re
import resource
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SEALKEY, CORE, CAPSULE, OUTPUT = sys.argv[1:5]
PYTHON = os.environ.get("SEALKEY_PYTHON")
PIN = "2468"
HERE = os.path.dirname(os.path.abspath(__file__))


class Proxy:
    """Between a client and a key at UDP ports: counts the commands that begin on their way to the key."""

    def __init__(self, port):
        self.key = ("127.0.0.1", port)
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.back.connect(self.key)
        self.port = self.front.getsockname()[1]
        self.client = None
        self.commands = []
        threading.Thread(target=self.carry, daemon=True).start()

    def carry(self):
        while True:
            ready, _, _ = select.select([self.front, self.back], [], [])
            if self.front in ready:
                packet, self.client = self.front.recvfrom(64)
                if len(packet) > 7 and packet[4] in (0x90, 0x83):
                    # CBOR: the CTAP command; MSG: the instruction of its APDU.
                    self.commands.append(packet[7] if packet[4] == 0x90 else 0x100 + packet[8])
                try:
                    self.back.send(packet)
                except OSError:
                    pass
            if self.back in ready:
                try:
                    packet = self.back.recv(64)
                except OSError:
                    continue
                if self.client:
                    self.front.sendto(packet, self.client)


def timed(command, pin=False, text=None, env=None):
    """Runs a program: its exit code, output, wall time, and its processor time in seconds."""
    read = None
    if pin:
        read, write = os.pipe()
        os.write(write, (PIN + "\n").encode())
        os.close(write)
        os.set_inheritable(read, True)
        command = command + ["--pin-fd", str(read)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(
        command, capture_output=True, text=True, input=text, pass_fds=[read] if read is not None else [], timeout=600,
        env=dict(os.environ, **(env or {})), **({} if text is not None else {"stdin": subprocess.DEVNULL}))
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if read is not None:
        os.close(read)
    return done.returncode, done.stdout, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def alternating(programs, rounds):
    """The median wall and processor times of programs that take turns, in milliseconds; None where one is missing."""
    times = {name: ([], []) for name in programs}
    for _ in range(rounds):
        for name, command in programs.items():
            if shutil.which(command[0]) is None:
                continue
            _, _, wall, cpu, _ = timed(command)
            times[name][0].append(wall * 1000)
            times[name][1].append(cpu * 1000)
    return {name: (statistics.median(w), statistics.median(c)) if w else None for name, (w, c) in times.items()}


def openssl_rate():
    """libcrypto's own count of P-256 verifications a second on one core, without any of our code; None without it."""
    if shutil.which("openssl") is None:
        return None
    out = subprocess.run(
        ["openssl", "speed", "-seconds", "2", "-mr", "ecdsap256"], capture_output=True, text=True).stdout
    found = re.search(r"^\+F\d+:\d+:256:[\d.]+:([\d.]+)", out, re.M)
    if not found:
        return None
    value = float(found.group(1))
    # Some versions print seconds for one, some verifications a second.
    return value if value > 1 else 1 / value


class Page:
    """The page as it grows."""

    def __init__(self):
        self.lines = []

    def add(self, *lines):
        self.lines += lines
        for line in lines:
            print(line)
        sys.stdout.flush()

    def table(self, head, rows):
        self.add("", "| " + " | ".join(head) + " |", "|" + "---|" * len(head))
        for row in rows:
            self.add("| " + " | ".join(str(cell) for cell in row) + " |")
        self.add("")


def verdict(value, limit, less=True):
    return "–" if value is None else ("yes" if (value <= limit if less else value >= limit) else "**no**")


def bench_verification(page):
    page.add("## Verification", "")
    raw = openssl_rate()
    core = json.loads(timed([CORE])[1])
    after = openssl_rate()
    raw = statistics.mean([x for x in (raw, after) if x]) if raw else None
    one, two = core["assertionsPerSecondPerCore"], core["assertionsPerSecondOnTwoCores"]
    ratio = one / raw if raw else None
    page.table(["What", "Per second", "Ratio", "Target", "Met"], [
        ["libcrypto's raw P-256 verifications on one core (`openssl speed`, before and after)",
         "%.0f" % raw if raw else "no openssl", "1", "", ""],
        ["whole assertions on one core", "%.0f" % one, "%.2f of raw" % ratio if ratio else "–", "0.90",
         verdict(ratio, 0.9, less=False)],
        ["whole assertions on two cores (wall time)", "%.0f" % two, "%.2f of one core" % (two / one), "near 2", ""],
    ])
    rows = []
    for count in (20000, 100000):
        code, out, _, _, done = timed([CAPSULE, str(count)])
        try:
            r = json.loads(out)
        except ValueError:
            rows.append([count, "failed: " + done.stderr[-80:], "", "", "", "", ""])
            continue
        cores = r["cores"]
        raw_seconds = r["verifications"] / r["rawVerificationsPerSecondPerCore"] / cores
        slow = r["seconds"] / raw_seconds
        rows.append([
            format(r["events"], ","), "%.1f MB" % (r["fileBytes"] / 1e6), "%.0f" % (r["events"] / r["seconds"]),
            "%.2f" % r["coresBusy"], "%.2f (at most 1.2: %s)" % (slow, verdict(slow, 1.2)),
            "%.2f" % r["rawShareOfProcessorTime"],
            "%.2f (below 3: %s)" % (r["peakPerFileByte"], verdict(r["peakPerFileByte"], 2.999))])
    page.add("A capsule: read, every signature verified, judged. The raw time is that of its signatures alone on all cores.")
    page.table(["Events", "File", "Events a second", "Cores busy", "Time over raw time", "Raw share of processor time",
                "Peak memory over file"], rows)
    return core


def bench_start(page):
    page.add("## Start", "")
    rounds = 25
    found = alternating({
        "sealkey": [SEALKEY, "list"], "fido2-token": ["fido2-token", "-L"], "sealkey --version": [SEALKEY, "--version"],
    }, rounds)
    rows = []
    other = found["fido2-token"]
    for name in ("sealkey", "fido2-token", "sealkey --version"):
        mine = found[name]
        rows.append([
            {"sealkey": "`sealkey list`", "fido2-token": "`fido2-token -L`"}.get(name, "`%s`" % name),
            "%.1f ms" % mine[0] if mine else "not installed", "%.1f ms" % mine[1] if mine else "–",
            "%+.1f ms (at most +3: %s)" % (mine[0] - other[0], verdict(mine[0] - other[0], 3))
            if mine and other and name == "sealkey" else ""])
    page.add("Median of %d runs that take turns; no key is plugged in." % rounds)
    page.table(["Command", "Wall", "Processor", "Difference"], rows)


PYTHON_CLIENT = r"""
import os, sys
sys.path.insert(0, sys.argv[1])
from wire import open_key
from fido2.ctap2 import Ctap2
from fido2.ctap2.pin import ClientPin
ctap = Ctap2(open_key(sys.argv[2]))
act, pin, rp = sys.argv[3], "2468", "sealmessenger.com"
hash = os.urandom(32)
proof, protocol = None, None
if ctap.info.options.get("clientPin"):
    client = ClientPin(ctap)
    permission = ClientPin.PERMISSION.MAKE_CREDENTIAL if act == "register" else ClientPin.PERMISSION.GET_ASSERTION
    token = client.get_pin_token(pin, permission, rp)
    proof, protocol = client.protocol.authenticate(token, hash), client.protocol.VERSION
if act == "register":
    made = ctap.make_credential(
        hash, {"id": rp, "name": rp}, {"id": os.urandom(16), "name": "n", "displayName": "d"},
        [{"type": "public-key", "alg": -7}], pin_uv_param=proof, pin_uv_protocol=protocol)
    print(made.auth_data.credential_data.credential_id.hex())
else:
    ctap.get_assertion(rp, hash, [{"type": "public-key", "id": bytes.fromhex(sys.argv[4])}], pin_uv_param=proof,
                       pin_uv_protocol=protocol)
"""


class Bench:
    """A virtual key behind a counting proxy."""

    def __init__(self, folder, pin):
        self.process = subprocess.Popen(
            [SEALKEY, "virtual", "run", "--udp", "0", "--data-dir", folder, "--json"], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL)
        self.proxy = Proxy(json.loads(self.process.stdout.readline())["port"])
        self.address = "udp:%d" % self.proxy.port
        self.pin = pin
        if pin:
            timed([SEALKEY, "pin", "set", "--key", self.address], pin=True)

    def sealkey(self, *arguments):
        self.proxy.commands.clear()
        code, out, wall, cpu, done = timed([SEALKEY] + list(arguments) + ["--key", self.address, "--json"], pin=self.pin)
        if code != 0:
            sys.exit("sealkey %s: %d %s %s" % (arguments, code, out, done.stderr))
        return json.loads(out), cpu * 1000, list(self.proxy.commands)

    def python(self, *arguments):
        self.proxy.commands.clear()
        code, out, wall, cpu, done = timed(
            [PYTHON, "-c", PYTHON_CLIENT, HERE + "/../Tests/Integration/python", str(self.proxy.port)] + list(arguments))
        if code != 0:
            sys.exit("python %s: %s" % (arguments, done.stderr[-500:]))
        return out.strip(), cpu * 1000, list(self.proxy.commands)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def words(commands):
    names = {1: "makeCredential", 2: "getAssertion", 4: "getInfo", 6: "clientPIN", 11: "selection"}
    return "%d (%s)" % (len(commands), ", ".join(names.get(c, hex(c)) for c in commands))


def bench_ceremonies(page, folder):
    page.add("## Ceremonies", "", "One process for each, over UDP to the same virtual key: the processor time of the host",
             "(median of nine, starting the program included), and the commands that reached the key.")
    rows = []
    for pin in (False, True):
        place = os.path.join(folder, "ceremony-%s" % pin)
        bench = Bench(place, pin)
        mine, theirs = {}, {}
        try:
            for turn in range(9):
                data = os.path.join(folder, "data-%s-%d" % (pin, turn))
                out = os.path.join(data, "me")
                os.makedirs(data)
                mine.setdefault("register", []).append(
                    bench.sealkey("register", "--name", "A", "--out", out, "--data-dir", data)[1:])
                mine.setdefault("sign-in", []).append(
                    bench.sealkey("sign-in", "--data-dir", data, "--out", out + "2")[1:])
                if PYTHON:
                    made, cpu, commands = bench.python("register")
                    theirs.setdefault("register", []).append((cpu, commands))
                    theirs.setdefault("sign-in", []).append(bench.python("sign", made)[1:])
        finally:
            bench.stop()
        for act, found in mine.items():
            cpu = statistics.median(x[0] for x in found)
            other = statistics.median(x[0] for x in theirs[act]) if PYTHON else None
            rows.append([
                act + (" with a PIN" if pin else ""), "%.1f ms" % cpu, words(found[-1][1]),
                "%.1f ms" % other if other else "–", words(theirs[act][-1][1]) if PYTHON else "–",
                "%.3f (below 0.1: %s)" % (cpu / other, verdict(cpu / other, 0.1)) if other else "–"])
    page.table(["Act", "sealkey", "its commands", "python fido2", "its commands", "sealkey over python"], rows)
    page.add("`sign-in` is two acts in one, the proof of who it is and the endorsement of this computer: two assertions.",
             "python's is one. libfido2's own tools speak to kernel devices only: see `Benchmarks/guest.sh`.")


def bench_many_ids(page, folder):
    page.add("", "## One among a thousand", "")
    place = os.path.join(folder, "many")
    bench = Bench(os.path.join(place, "key"), False)
    data = os.path.join(place, "data")
    try:
        bench.sealkey("register", "--name", "Me", "--data-dir", data, "--out", place + "/me")
        path = os.path.join(data, "directory.json")
        directory = json.load(open(path))
        own = directory["records"][0]
        for number in range(999):
            other = dict(own)
            import base64
            other["credentialID"] = base64.b64encode(os.urandom(64)).decode()
            other["recordName"] = hashlib.sha256(base64.b64decode(other["credentialID"])).hexdigest()
            other["displayName"] = "Other %d" % number
            directory["records"].append(other)
        json.dump(directory, open(path, "w"))
        rows = []
        for what in ("first", "second"):
            answer, cpu, commands = bench.sealkey("sign-in", "--data-dir", data, "--out", "%s/%s" % (place, what))
            rows.append([what, "%.1f ms" % cpu, len(commands), commands.count(2), commands.count(4), commands.count(6)])
    finally:
        bench.stop()
    page.add("A key without a PIN, 1,000 known ids. One assertion proves who it is, one endorses this computer.")
    page.table(["Sign-in", "Processor time", "Commands", "getAssertion", "getInfo", "clientPIN"], rows)


def bench_card(page, core):
    page.add("## Cards", "", "A virtual card that takes extended APDUs; opening the key included.")
    rows = []
    for name, title in (("card", ""), ("cardWithPIN", " with a PIN")):
        for act, found in core[name].items():
            rows.append([act + title, found["exchanges"], found["bytes"], found["keyCommands"]])
    page.table(["Ceremony", "APDU exchanges", "Bytes both ways", "Key commands"], rows)


def bench_watch(page, seconds):
    page.add("## Watching", "")
    process = subprocess.Popen([SEALKEY, "watch", "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    def resident():
        for line in open("/proc/%d/status" % process.pid):
            if line.startswith("VmRSS"):
                return int(line.split()[1])
    time.sleep(2)
    first = resident()
    time.sleep(seconds)
    last, cpu = resident(), open("/proc/%d/stat" % process.pid).read().split()
    ticks = int(cpu[13]) + int(cpu[14])
    process.terminate()
    process.wait()
    page.add("`sealkey watch` for %d s: %d KiB at first, %d KiB at the end (%+d), %.0f ms of processor time." % (
        seconds, first, last, last - first, ticks * 1000 / os.sysconf("SC_CLK_TCK")))


def versions():
    def first(command):
        try:
            return subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0]
        except OSError:
            return "not installed"
    cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    package = lambda name: first(["dpkg-query", "-W", "-f", "${Version}", name]) or "not installed"
    return [
        "%s, %d cores" % (cpu.group(1) if cpu else platform.machine(), os.cpu_count()),
        "Linux %s; %s" % (platform.release(), first(["openssl", "version"])),
        "libfido2 %s, fido2-tools %s" % (package("libfido2-1"), package("fido2-tools")),
        "sealkey %s" % first([SEALKEY, "--version"]).replace("sealkey ", ""),
        "python fido2 %s" % (first([PYTHON, "-c", "import importlib.metadata as m; print(m.version('fido2'))"])
                             if PYTHON else "not installed"),
        "load before the run: %.2f (anything above 0.3 makes wall times worthless)" % LOAD,
    ]


LOAD = os.getloadavg()[0]
page = Page()
page.add("# Benchmarks", "", "Written by `make bench`; every number below is from one run, side by side.", "")
page.add(*["- " + line for line in versions()])
page.add("")
with tempfile.TemporaryDirectory() as folder:
    core = bench_verification(page)
    bench_start(page)
    bench_ceremonies(page, folder)
    bench_many_ids(page, folder)
    bench_card(page, core)
    bench_watch(page, int(os.environ.get("SEALKEY_WATCH_SECONDS", "60")))
if os.environ.get("SEALKEY_BENCH_GUEST", "1") == "1":
    guest = subprocess.run([HERE + "/guest.sh"], capture_output=True, text=True)
    if guest.returncode == 0:
        # From its own heading on: what the guest says while it boots is not a result.
        page.add("", *guest.stdout[guest.stdout.index("## "):].strip().split("\n"))
    else:
        page.add("", "The comparison with fido2-tools did not run here: no virtual machine (%s)." % guest.stderr.strip()[-100:])
with open(OUTPUT, "w") as file:
    file.write("\n".join(page.lines) + "\n")
print("wrote " + OUTPUT)
