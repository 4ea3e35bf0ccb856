# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Pictures of pages at a phone's and a desktop's width and as they are printed, and what must hold in each."""
import base64
import pathlib
import sys

from browser import Browser

folder = pathlib.Path(sys.argv[1])
# Nothing of the network can be reached: a page that wants any of it is seen in the list of its requests.
with Browser("--host-resolver-rules=MAP * ~NOTFOUND") as browser:
    browser.send("Network.enable")
    for page in map(pathlib.Path, sys.argv[2:]):
        address = page.absolute().as_uri()
        for name, width, ratio, mobile in [("phone", 390, 2, True), ("desktop", 1280, 1, False)]:
            browser.send(
                "Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=ratio, mobile=mobile)
            browser.open(address)
            asked = {
                e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"
            }
            assert asked == {address}, f"{page}: asked for {asked}"
            # Only what is in a scrolling frame of its own may be wider than the screen.
            wide = browser.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{page}: {wide} pixels wide on a {name} of {width}"
            small = browser.evaluate("""[...document.querySelectorAll('body *')].filter(e =>
                [...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim()) && !e.closest('svg') &&
                parseFloat(getComputedStyle(e).fontSize) < 11).map(e => e.outerHTML.slice(0, 80))""")
            assert not small, f"{page}: text too small to read on a {name}: {small[:3]}"
            height = browser.evaluate("document.documentElement.scrollHeight")
            picture = browser.send(
                "Page.captureScreenshot", captureBeyondViewport=True,
                clip={"x": 0, "y": 0, "width": width, "height": min(height, 6000), "scale": 1})["data"]
            (folder / f"{page.stem}-{name}.png").write_bytes(base64.b64decode(picture))
            print(f"ok: {page.name} on a {name}: {width} pixels wide, {height} high, nothing asked of any network")
        browser.send("Emulation.clearDeviceMetricsOverride")
        pdf = base64.b64decode(browser.send("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
        assert pdf.startswith(b"%PDF-") and len(pdf) > 5000
        (folder / f"{page.stem}.pdf").write_bytes(pdf)
        print(f"ok: {page.name} in print, {len(pdf)} bytes")
