# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Runs of commands that the tests do not run with --json, each for its output: (arguments, exit code, output)."""

import base64
import hashlib
import json
import pathlib
import signal
import subprocess
import tempfile
import time


def interrupted(program, arguments):
    """For the two commands that do not end by themselves."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [program, *arguments, "--json", "--data-dir", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        return arguments, process.returncode, out.decode()


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def answer(options):
    """What a browser gives for creation options: a new passkey, attestation none."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from fido2 import cbor

    numbers = ec.generate_private_key(ec.SECP256R1()).public_key().public_numbers()
    x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
    credential = bytes(range(32))
    data = hashlib.sha256(options["rp"]["id"].encode()).digest() + bytes([0x5D]) + bytes(4)
    data += bytes(16) + len(credential).to_bytes(2, "big") + credential
    data += cbor.encode({1: 2, 3: -7, -1: 1, -2: x, -3: y})
    client = {"type": "webauthn.create", "challenge": options["challenge"], "origin": f"https://{options['rp']['id']}",
              "crossOrigin": False}
    return {
        "id": url64(credential), "rawId": url64(credential), "type": "public-key", "clientExtensionResults": {},
        "response": {
            "clientDataJSON": url64(json.dumps(client).encode()),
            "attestationObject": url64(cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})),
        },
    }


def all_runs(program, house):
    found = [interrupted(program, ["watch"]), interrupted(program, ["virtual", "run", "--udp", "0"])]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(*arguments, pin=None):
            arguments = [str(argument) for argument in arguments]
            line = [program, *arguments, "--json"] + (["--pin-fd", "0"] if pin else [])
            done = subprocess.run(
                line, input=pin.encode() if pin else None, stdin=None if pin else subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder)
            found.append((arguments, done.returncode, done.stdout.decode()))
            try:
                return json.loads(done.stdout)
            except ValueError:
                return {}

        key = ["--key", "virtual", "--data-dir", folder / "data"]
        estate = ["--estate", "6F9619FF-8B86-4D01-B42D-00CF4FC964FF", "--epoch", "1", "--head", ""]
        run("list")
        run("virtual", "models")
        run("commitment", "identity.delete.v1", f"nonce={'00' * 32}")
        run("inspect", "a0")
        run("help")
        run("help", "tap")
        run("help", "reset")
        run("register", "--name", "Ada", "--out", folder / "ada.json", *key)
        run("device", "make", "laptop", *key)
        ask = ["--pending", folder / "pending", "--replace", "--identity", "ada.json", *key]
        run("request", "endorse", "--device", "laptop", *ask)
        run("request", "revoke-device", "--device", "laptop", *ask)
        run("request", "tap", "--claim", "0E984725-C51C-4BF4-9960-E1C80E27ABA0", *estate, *ask)
        run("request", "confirm", *estate, *ask)
        run("request", "delete", *ask)
        asked = run("request", "register", "--name", "Eve", "--pending", folder / "pending", "--replace", *key)
        if "publicKey" in asked:
            (folder / "answer.json").write_text(json.dumps(answer(asked["publicKey"])))
            run("import", folder / "answer.json", "--pending", folder / "pending", *key)
        run("doctor", *key)
        run("pin", "set", *key, pin="2468\n2468\n")
        run("pin", "status", *key)
        run("pin", "change", *key, pin="2468\n1357\n1357\n")
        run("passkeys", "list", *key, pin="1357\n")
        run("settings", "require-pin-change", "--yes", *key, pin="1357\n")
        sheet = folder / "sheet.md"
        sheet.write_text((house / "docs/SECURITY_KEY_TEST_MATRIX.md").read_text())
        (folder / "runs").mkdir()
        for verb in ("fill", "check"):
            run("matrix", verb, sheet, "--runs", folder / "runs")
        place = ["--key", "virtual", "--data-dir", folder / "matrix", "--practice", folder / "practice"]
        record = run("matrix", "run", "--tester", "schemas", *place).get("file")
        if record:
            run("matrix", "diff", record, record)
            run("matrix", "report", "--out", folder / "page.html", *place)
    return found
