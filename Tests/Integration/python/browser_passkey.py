# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Headless Chromium and its own virtual authenticator as the other side: a page on this computer, under Seal's name,
registers and signs with the options that `sealkey request` writes, and `sealkey import` takes the answers."""
import atexit
import base64
import hashlib
import http.server
import json
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading

from browser import Browser

sealkey = sys.argv[1]
host = "sealmessenger.com"
home = pathlib.Path(tempfile.mkdtemp(prefix="sealkey-passkey."))
atexit.register(shutil.rmtree, home, ignore_errors=True)


def tool(*arguments, expect=0):
    done = subprocess.run([sealkey, *arguments, "--data-dir", home / "data"], capture_output=True, text=True)
    assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def serve():
    """A page over TLS on this computer; gives the port, and what makes the browser take its certificate for good."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-keyout", home / "key.pem",
         "-out", home / "cert.pem"], check=True, capture_output=True)
    spki = subprocess.run(
        ["openssl", "x509", "-in", home / "cert.pem", "-pubkey", "-noout"], check=True, capture_output=True).stdout
    der = base64.b64decode(b"".join(line for line in spki.splitlines() if b"-----" not in line))

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<!DOCTYPE html><html lang=en><title>page</title><p>page"
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(home / "cert.pem", home / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port, base64.b64encode(hashlib.sha256(der).digest()).decode()


CREATE = """navigator.credentials.create({publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(%s)})
    .then(c => JSON.stringify(c.toJSON()))"""
GET = """navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(%s)})
    .then(c => JSON.stringify(c.toJSON()))"""

port, spki = serve()
with Browser(f"--host-resolver-rules=MAP {host} 127.0.0.1:{port}", f"--ignore-certificate-errors-spki-list={spki}") as b:
    b.open(f"https://{host}/")
    b.send("WebAuthn.enable")
    for number, (name, options) in enumerate([
        ("a security key with a PIN", {"protocol": "ctap2", "transport": "usb", "hasUserVerification": True}),
        ("a security key without one", {"protocol": "ctap2", "transport": "usb"}),
        ("a U2F key", {"protocol": "u2f", "transport": "usb"}),
        ("a passkey of the device",
         {"protocol": "ctap2", "transport": "internal", "hasUserVerification": True, "hasResidentKey": True}),
    ]):
        verifies = options.get("hasUserVerification", False)
        device = b.send(
            "WebAuthn.addVirtualAuthenticator",
            options={**options, "automaticPresenceSimulation": True, "isUserVerified": verifies})["authenticatorId"]

        def ask(word, script, result, *more):
            wish, pending, answer = home / "wish", home / f"{word}.pending", home / "answer"
            tool("request", word, "--pending", pending, "--out", wish, "--replace", "--quiet", *more)
            answer.write_text(b.evaluate(script % wish.read_text()))
            tool("import", answer, "--pending", pending, "--out", result, "--replace", "--quiet")
            return answer.read_text()

        person, endorsement, tap = (home / f"{number}-{kind}.json" for kind in ("person", "endorsement", "tap"))
        ask("register", CREATE, person, "--name", f"Person {number}")
        answer = ask("endorse", GET, endorsement, "--identity", person, "--device", f"device-{number}")
        ask("tap", GET, tap, "--identity", person, "--estate", "E", "--epoch", "1", "--claim", "C", "--head", "")
        for file in (person, endorsement, tap):
            tool("verify", file, "--identity", person)
        flags = base64.urlsafe_b64decode(json.loads(answer)["response"]["authenticatorData"] + "==")[32]
        assert flags & 1 and bool(flags & 4) == verifies, f"{name}: flags {flags:#x}"
        data = json.loads(base64.urlsafe_b64decode(json.loads(answer)["response"]["clientDataJSON"] + "=="))
        assert data["origin"] == f"https://{host}" and data["type"] == "webauthn.get"

        # An old answer to a new question.
        (home / "old").write_text(answer)
        tool("request", "tap", "--identity", person, "--estate", "E", "--epoch", "2", "--claim", "C", "--head", "",
             "--pending", home / "next.pending", "--out", home / "next", "--replace", "--quiet")
        tool("import", home / "old", "--pending", home / "next.pending", expect=1)
        b.send("WebAuthn.removeVirtualAuthenticator", authenticatorId=device)
        print(f"ok: {name}: registered, endorsed a device, tapped a release; all verify; an old answer is refused")
    version = b.send("Browser.getVersion")["product"]
print(f"4 passed, 0 failed: {version}")
