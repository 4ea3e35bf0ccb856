# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Reads what strace says of sealkey's main paths. Called by process.sh."""

import os
import re
import subprocess
import sys
import tempfile

SEALKEY = sys.argv[1]
problems = []

# Calls that give a descriptor, and the word that keeps a child from inheriting it.
OPENERS = {
    "open": "O_CLOEXEC", "openat": "O_CLOEXEC", "creat": None, "socket": "SOCK_CLOEXEC", "accept": None,
    "accept4": "SOCK_CLOEXEC", "socketpair": "SOCK_CLOEXEC", "pipe": None, "pipe2": "O_CLOEXEC", "eventfd": None,
    "eventfd2": "EFD_CLOEXEC", "epoll_create": None, "epoll_create1": "EPOLL_CLOEXEC", "inotify_init": None,
    "inotify_init1": "IN_CLOEXEC", "timerfd_create": "TFD_CLOEXEC", "signalfd4": "SFD_CLOEXEC", "dup": None,
    "memfd_create": "MFD_CLOEXEC",
}
CALL = re.compile(r"^\d+\s+(\w+)\((.*)\)\s+=\s+(-?\d+)")


def traced(arguments, folder, environment=None, stdin=None):
    """The calls of one run, and what it said."""
    log = os.path.join(folder, "strace")
    done = subprocess.run(
        ["strace", "-f", "-qq", "-o", log, "-e",
         "trace=%s,fcntl,close,umask,prctl,setrlimit,prlimit64,mlock,mlock2,madvise,execve"
         % ",".join("?" + name for name in OPENERS),
         SEALKEY] + arguments + ["--data-dir", os.path.join(folder, "data")],
        capture_output=True, text=True, timeout=300, stdin=stdin or subprocess.DEVNULL,
        env=dict(os.environ, **(environment or {})))
    whole, begun = [], {}
    with open(log) as file:
        for line in file:
            line = line.rstrip("\n")
            process = line.split(" ", 1)[0]
            if line.endswith("<unfinished ...>"):
                begun[process] = line[:-len("<unfinished ...>")].rstrip()
            elif "resumed>" in line and process in begun:
                whole.append(begun.pop(process) + line.split("resumed>", 1)[1])
            else:
                whole.append(line)
    return whole, done


def check_descriptors(what, lines):
    """Every descriptor above 2 is close-on-exec, at once or by the next calls on it."""
    open_ones, given = {}, 0
    for line in lines:
        match = CALL.match(line)
        if not match or int(match.group(3)) < 0:
            continue
        name, arguments, result = match.group(1), match.group(2), int(match.group(3))
        if name in OPENERS:
            found = [result]
            if name in ("pipe", "pipe2", "socketpair"):
                pair = re.search(r"\[(\d+), (\d+)\]", arguments)
                found = [int(pair.group(1)), int(pair.group(2))] if pair else []
            given += len(found)
            word = OPENERS[name]
            for descriptor in found:
                if descriptor > 2 and not (word and word in arguments):
                    open_ones[descriptor] = line
        elif name == "fcntl" and "F_SETFD" in arguments and "FD_CLOEXEC" in arguments:
            open_ones.pop(int(arguments.split(",")[0]), None)
        elif name == "close":
            open_ones.pop(int(arguments), None)
    for line in open_ones.values():
        problems.append("%s: a child would inherit it: %s" % (what, line[:150]))
    if given < 10:
        problems.append("%s: only %d descriptors were seen" % (what, given))
    return given


def check_hardening(what, lines):
    text = "\n".join(lines)
    for wanted in (
            r"prctl\(PR_SET_DUMPABLE, (SUID_DUMP_DISABLE|0)", r"RLIMIT_CORE, \{rlim_cur=0, rlim_max=0\}",
            r"umask\(0?77\)", r"mlock2?\(0x[0-9a-f]+, \d+.*\)\s+= 0", r"madvise\(.*MADV_DONTDUMP\)\s+= 0",
            r"madvise\(.*MADV_WIPEONFORK\)\s+= 0"):
        if not re.search(wanted, text):
            problems.append("%s: not seen: %s" % (what, wanted))
    if len(re.findall(r"\bexecve\(", text)) != 1:
        problems.append("%s: it ran another program" % what)


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            ("list", ["list"], {}), ("info", ["info", "--key", "virtual"], {}),
            ("register", ["register", "--name", "A", "--endorse", "--device", folder + "/device", "--key", "virtual",
                          "--out", folder + "/a"], {}),
            ("sign-in", ["sign-in", "--key", "virtual"], {}),
            ("sponsor", ["sponsor", "--name", "E", "--key", "virtual:ctap20", "--out", folder + "/e"], {}),
            ("demo", ["demo"], {}),
        ]
        for what, arguments, environment in paths:
            lines, done = traced(arguments, folder, environment)
            if done.returncode not in (0, 3, 4, 6):
                problems.append("%s: exit code %d %s" % (what, done.returncode, done.stderr[-200:]))
            given = check_descriptors(what, lines)
            if what not in ("list", "info"):
                check_hardening(what, lines)
            print("%s: %d descriptors, exit code %d" % (what, given, done.returncode))
        loud = subprocess.run(
            [SEALKEY, "info", "--key", "virtual", "--data-dir", folder + "/data"], capture_output=True, text=True,
            env=dict(os.environ, FIDO_DEBUG="1"), stdin=subprocess.DEVNULL, timeout=120)
        if "FIDO_DEBUG is set and was ignored" not in loud.stderr:
            problems.append("FIDO_DEBUG: not said: " + loud.stderr)
        for word in ("fido_tx", "fido_rx", "0000:"):
            if word in loud.stderr + loud.stdout:
                problems.append("FIDO_DEBUG: it printed frames: " + loud.stderr[:300])
        # Files are for their owner alone.
        for place, _, names in os.walk(folder + "/data"):
            for path in [place] + [os.path.join(place, name) for name in names]:
                if os.stat(path).st_mode & 0o077:
                    problems.append("%s: mode %o" % (path, os.stat(path).st_mode & 0o777))
    for problem in problems:
        print("PROBLEM " + problem)
    if problems:
        sys.exit("%d problems" % len(problems))
    print("no descriptor is inherited; no core, no trace, private files, locked secrets, no frames")


main()
