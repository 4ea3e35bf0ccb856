# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Runs each ceremony once for every C call that can fail, with that call failing. Called by failures.sh."""

import json
import os
import shutil
import subprocess
import sys
import time

SEALKEY, SHIM, WORK = sys.argv[1:4]
LIMIT = int(os.environ.get("SEALKEY_FAILURES", "0")) or None
PIN = "2468"
problems = []
# Places that allocate and have been tried, in this scene or in one before it.
seen = set()


def note(problem):
    """Remembers a problem, and says it at once: the whole takes long."""
    problems.append(problem)
    print("PROBLEM " + problem, flush=True)


def run(arguments, pin=False, preload=None, log=None):
    """One command with --json; its exit code, its JSON and what it said."""
    environment = dict(os.environ)
    if preload is not None:
        environment.update(LD_PRELOAD=SHIM, SEALKEY_FAIL=preload)
        if log:
            environment["SEALKEY_FAIL_LOG"] = log
    command = [SEALKEY] + arguments + ["--json"]
    read = None
    if pin:
        read, write = os.pipe()
        os.write(write, (PIN + "\n").encode())
        os.close(write)
        os.set_inheritable(read, True)
        command += ["--pin-fd", str(read)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
            pass_fds=[read] if read is not None else [])
    finally:
        if read is not None:
            os.close(read)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    return done.returncode, answer, done.stderr


class Key:
    """The virtual key of a data directory, behind a UDP port, in a process of its own."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [SEALKEY, "virtual", "run", "--udp", "0", "--data-dir", folder, "--json"], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL)
        self.address = "udp:%d" % json.loads(self.process.stdout.readline())["port"]

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def check(self, what):
        """The next command works, and no PIN try was spent."""
        code, info, err = run(["info", "--key", self.address])
        if code != 0:
            note("%s: the key does not do the next command: %s %s" % (what, info, err))
            return
        tries = find(info, "pinTries")
        if tries not in (None, 8):
            note("%s: the key has %s PIN tries left" % (what, tries))


def find(value, name):
    """The first member of that name, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.lower().startswith(name.lower()) and isinstance(inner, int):
                return inner
            found = find(inner, name)
            if found is not None:
                return found
    return None


class Scene:
    """A ceremony that can be done again and again from the same beginning."""

    def __init__(self, name, arguments, beginning=None, key=None, good=()):
        self.name, self.arguments, self.beginning, self.key, self.good = name, arguments, beginning, key, good
        self.folder = os.path.join(WORK, "scene")

    def play(self, failure, log=None):
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.beginning:
            shutil.copytree(self.beginning, self.folder, ignore=shutil.ignore_patterns("virtual-key*"))
        arguments = self.arguments + ["--data-dir", self.folder]
        if self.key:
            arguments += ["--key", self.key.address]
        return run(arguments, pin=self.key is not None, preload=failure, log=log)

    def numbers(self, log):
        calls, live, places = {}, {}, {}
        with open(log) as file:
            for line in file:
                kind, name, count = line.split()
                if kind == "lookup":
                    self.in_lookup = count == "1"
                    continue
                {"calls": calls, "place": places}.get(kind, live)[name] = int(count)
        os.unlink(log)
        return calls, live, places

    def usual(self, log):
        """What is called when nothing fails, where it allocates for the first time, and what is left at the end."""
        found = []
        for failure in ("none:0", "-:0", "-:0", "-:0"):
            code, answer, err = self.play(failure, log)
            if code != 0:
                sys.exit("%s does not work at all: %s %s" % (self.name, answer, err))
            found.append(self.numbers(log))
        return found[0][0], found[0][2], {name: min(f[1][name] for f in found) for name in found[0][1]}

    def left(self, failure, log, usual):
        """What is left beyond the usual, each time: no run is quite like another."""
        for _ in range(6):
            if not os.path.exists(log):
                return []
            _, live, _ = self.numbers(log)
            more = []
            for name in usual:
                count = live[name] - usual[name]
                # When there is no memory while libcrypto 3.0 looks an algorithm up, it forgets two blocks of its own.
                if count > 0 and not (self.in_lookup and name == "libcrypto" and count == 2):
                    more.append("%d more of %s left" % (count, name))
            if not more:
                return []
            self.play(failure, log)
        return more

    def try_all(self):
        log = os.path.join(WORK, "log")
        if os.path.exists(log):
            os.unlink(log)
        calls, places, usual = self.usual(log)
        new = sorted(call for place, call in places.items() if place not in seen)
        seen.update(places)
        tried = named = survived = 0
        names = {}
        for function, count in sorted(calls.items()):
            numbers = new if function == "malloc" else list(range(1, count + 1))
            if LIMIT and len(numbers) > LIMIT:
                step = (len(numbers) - 1) / max(1, LIMIT - 1)
                numbers = sorted({numbers[round(i * step)] for i in range(LIMIT)})
            for number in numbers:
                failure = "%s:%d" % (function, number)
                what = "%s, %s" % (self.name, failure)
                code, answer, err = self.play(failure, log)
                tried += 1
                error = (answer or {}).get("error") if isinstance(answer, dict) else None
                ended = code == 1 and "sealkey: cryptoFailed: " in err
                if code == 0 and answer is not None:
                    # Refused memory can be for something that is not needed, such as an error's text.
                    survived += 1
                elif error and error.get("name") and error.get("message") and 1 <= code <= 8:
                    named += 1
                    names[error["name"]] = names.get(error["name"], 0) + 1
                elif isinstance(answer, dict) and answer.get("ok") is False and code == 1:
                    # A verdict: what could not be checked was not found good.
                    bad = [c["name"] for c in answer.get("checks", []) if c.get("outcome") == "bad"] or ["notGood"]
                    named += 1
                    names[bad[0]] = names.get(bad[0], 0) + 1
                elif ended:
                    named += 1
                    names["cryptoFailed (ended)"] = names.get("cryptoFailed (ended)", 0) + 1
                else:
                    note("%s: exit code %s, %s %s" % (what, code, answer, err[-300:]))
                for more in self.left(failure, log, usual):
                    note("%s: %s" % (what, more))
                if self.key:
                    self.key.check(what)
        print("%s: %d functions, %d failures: %d with a name, %d without consequence" % (
            self.name, len(calls), tried, named, survived))
        print("  " + ", ".join("%s %d" % pair for pair in sorted(names.items(), key=lambda p: -p[1])))
        sys.stdout.flush()


def prepared(arguments):
    code, answer, err = run(arguments)
    if code != 0:
        sys.exit("preparing %s: %s %s" % (arguments, answer, err))


def main():
    # On one processor the program mostly has one thread for its tasks. On more, what libcrypto keeps for each thread until it
    # ends (an error queue, two random generators) would be there once or twice, as it happens, and leaks could hide behind it.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    people, capsule = os.path.join(WORK, "people"), os.path.join(WORK, "estate.capsule")
    prepared(["demo", "--capsule", capsule, "--stage", "open", "--people", people])
    karin = os.path.join(people, "karin")
    key, blank = Key(karin), Key(os.path.join(WORK, "blank"))
    emma = os.path.join(WORK, "emma.json")
    try:
        for each in (key, blank):
            code, answer, err = run(["pin", "set", "--key", each.address], pin=True)
            if code != 0:
                sys.exit("no PIN: %s %s" % (answer, err))
        code, answer, err = run(
            ["sponsor", "--name", "Emma", "--key", blank.address, "--out", emma, "--data-dir", os.path.join(WORK, "s")],
            pin=True)
        if code != 0:
            sys.exit("no sponsored record: %s %s" % (answer, err))
        # The owner's last sign of life, which a person would have looked at.
        code, answer, err = run(["capsule", "show", capsule, "--data-dir", karin])
        if code != 0:
            sys.exit("no estate: %s %s" % (answer, err))
        sign = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(answer["byFirstSight"]["lastSignOfOwnerEpoch"]))
        seen = ["--last-sign", sign]
        tap = os.path.join(WORK, "tap.json")
        code, answer, err = run(
            ["tap", "--capsule", capsule, "--out", tap, "--yes", *seen, "--key", key.address, "--data-dir",
             shutil.copytree(karin, os.path.join(WORK, "k"), ignore=shutil.ignore_patterns("virtual-key*"))], pin=True)
        if code != 0:
            sys.exit("no tap: %s %s" % (answer, err))
        scenes = [
            Scene("register", ["register", "--name", "A"], key=blank),
            Scene("tap with a PIN", ["tap", "--capsule", capsule, "--yes", *seen], beginning=karin, key=key),
            Scene("open a lock (PRF)", ["unlock", emma], key=blank),
            Scene("verify", ["verify", tap], beginning=karin),
            Scene("verify a capsule", ["capsule", "verify", capsule], beginning=karin),
        ]
        wanted = os.environ.get("SEALKEY_FAILURE_SCENES")
        for scene in scenes:
            if not wanted or scene.name.split()[0] in wanted.split(","):
                scene.try_all()
    finally:
        key.stop()
        blank.stop()
    if problems:
        sys.exit("%d problems" % len(problems))
    print("every failure has a name, nothing is left, and the key goes on")


main()
