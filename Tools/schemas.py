#!/usr/bin/env python3
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Checks what commands really printed with --json against the published schemas.

    Tools/schemas.py [--strict] FOLDER [SEALKEY]

FOLDER holds what the tests kept (see Tests/TestSupport/KeptOutput.swift). Every schema must be a valid one, every output
must be what its schema says and have no member that it does not name, and every command must have printed at least one result.
"""

import collections
import json
import pathlib
import subprocess
import sys

import jsonschema

import schema_runs

HOUSE = pathlib.Path(__file__).resolve().parent.parent


def closed(schema):
    """The schema, with no member allowed that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {name: closed(part) for name, part in schema.items()}
    if "properties" in out and isinstance(out["properties"], dict) and out.get("type") == "object":
        out.setdefault("additionalProperties", False)
    return out


def load():
    found = {}
    for path in sorted((HOUSE / "schemas").glob("*.schema.json")):
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        found[path.name.removesuffix(".schema.json")] = (
            jsonschema.Draft202012Validator(schema), jsonschema.Draft202012Validator(closed(schema)))
    return found


def once(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a member is named twice")
    return dict(pairs)


class Table:
    """The commands, their words, and which options take a value."""

    def __init__(self, program):
        raw = json.loads(subprocess.run([program, "help", "--json"], check=True, capture_output=True).stdout)
        self.words, self.valued = {}, set()
        for command in raw["commands"]:
            firsts = [form.split()[0] for form in command["operands"]]
            self.words[command["name"]] = [first for first in firsts if first[0].islower()]
            self.valued |= {f"--{o['name']}" for o in command["options"] if o.get("value")}
        self.valued |= {f"--{o['name']}" for o in raw["options"] if o.get("value")}

    def names(self):
        for verb, words in self.words.items():
            yield from [f"{verb}-{word}" for word in words] or [verb]

    def name(self, arguments):
        """`tap`, or `capsule-verify`: the command of a line, as its schema is called."""
        if "--help" in arguments:
            return "help"
        operands, rest = [], iter(arguments)
        for argument in rest:
            if argument in self.valued:
                next(rest, None)
            elif not argument.startswith("-"):
                operands.append(argument)
        verb, word = (operands + ["", ""])[:2]
        return f"{verb}-{word}" if word in self.words.get(verb, []) else verb


# These need a passkey on a key, the payload of the FIDO Metadata Service, or a second computer.
NOT_SEEN = {"passkeys-rename", "passkeys-delete", "matrix-atlas", "matrix-second-host"}


def main():
    words = [word for word in sys.argv[1:] if word != "--strict"]
    strict = len(words) < len(sys.argv) - 1
    program = words[1] if len(words) > 1 else str(HOUSE / ".build/debug/sealkey")
    schemas, table = load(), Table(program)
    runs = []
    for path in sorted(pathlib.Path(words[0]).glob("run-*")):
        code, rest = path.read_bytes().decode().split("\n", 1)
        # An argument may have lines of its own.
        arguments, _, out = rest.partition("\0\n")
        arguments += "\0"
        runs.append((arguments.split("\0")[:-1], int(code), out))
    runs += schema_runs.all_runs(program, HOUSE)

    good, errors, bad, notes = collections.Counter(), collections.Counter(), [], []
    for arguments, code, out in runs:
        if "--version" in arguments:
            continue
        name = table.name(arguments)
        for line in out.splitlines() if name in ("watch", "virtual-run") else [out]:
            if not line.strip():
                continue
            try:
                value = json.loads(line, object_pairs_hook=once)
            except ValueError as error:
                bad.append(f"sealkey {' '.join(arguments)}: no JSON: {error}")
                continue
            failed = isinstance(value, dict) and set(value) == {"error"}
            schema = "error" if failed else name
            if schema not in schemas:
                bad.append(f"sealkey {' '.join(arguments)}: there is no schema for {schema}")
                continue
            usual, exact = schemas[schema]
            faults = list(usual.iter_errors(value))
            unnamed = [] if faults else list(exact.iter_errors(value))
            for fault in (faults + unnamed)[:3]:
                where = "/".join(str(part) for part in fault.absolute_path)
                (bad if faults or strict else notes).append(f"{schema}: at /{where}: {fault.message[:300]}")
            if failed:
                errors[value["error"].get("name")] += 1
                if code not in (1, 2, 3, 4, 5, 6, 7, 8, 130):
                    bad.append(f"sealkey {' '.join(arguments)}: an error, and exit code {code}")
            else:
                good[name] += 1
                # What was done in part is a result all the same, and says what was not.
                half = isinstance(value, dict) and ("notEndorsed" in value or "notWritten" in value)
                if code not in (0, 1, 130) and not half:
                    bad.append(f"sealkey {' '.join(arguments)}: a result, and exit code {code}")
    for name in table.names():
        if not good[name] and name not in NOT_SEEN:
            bad.append(f"no result of 'sealkey {name.replace('-', ' ', 1)}' was seen")
    for name in schemas.keys() - set(table.names()) - {"error"}:
        bad.append(f"schemas/{name}.schema.json belongs to no command")
    for line in dict.fromkeys(notes):
        print(f"schemas: to be named: {line}")
    for line in dict.fromkeys(bad):
        print(f"schemas: {line}")
    if not bad:
        print(f"schemas: {sum(good.values())} results of {len(good)} commands and {sum(errors.values())} errors "
              f"({len(errors)} names) are what the schemas say")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
