# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A headless Chromium, spoken to over a pipe with its DevTools protocol: the standard library is all it takes."""
import json
import os
import shutil
import subprocess
import tempfile


class Browser:
    def __init__(self, *options):
        program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            raise SystemExit("No Chromium: install the Debian package chromium, or name one as $CHROMIUM.")
        self.profile = tempfile.mkdtemp(prefix="sealkey-browser.")
        to_read, self.to_write = os.pipe()
        self.to_hear, from_write = os.pipe()
        arguments = [
            program, "--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
            f"--user-data-dir={self.profile}", *options, "about:blank",
        ]
        if os.getuid() == 0:
            arguments.insert(1, "--no-sandbox")
        # Chromium reads descriptor 3 and writes descriptor 4.
        shell = f'exec "$@" 3<&{to_read} 4>&{from_write}'
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "browser", *arguments], pass_fds=(to_read, from_write), stdout=self.log,
            stderr=self.log)
        os.close(to_read)
        os.close(from_write)
        self.number = 0
        self.rest = b""
        self.events = []
        self.session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.rest:
            part = os.read(self.to_hear, 1 << 20)
            if not part:
                self.log.seek(0)
                raise SystemExit("Chromium has ended: " + self.log.read().decode(errors="replace")[-2000:])
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") != self.number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise SystemExit(f"{method}: {answer['error']}")
            return answer["result"]

    def open(self, url):
        self.events.clear()
        failed = self.send("Page.navigate", url=url).get("errorText")
        if failed:
            raise SystemExit(f"{url}: {failed}")
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._message())

    def evaluate(self, expression):
        """The value of an expression, as if a person had clicked; a promise is waited for."""
        result = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"script: {result['exceptionDetails']}")
        return result["result"].get("value")
