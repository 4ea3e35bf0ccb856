#!/usr/bin/env python3
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A picture of a real run: runs a command, and draws what was typed and what came.

    Tools/picture.py OUT.svg 'LINE AS TYPED' COMMAND...
"""

import html
import subprocess
import sys
import textwrap

WIDTH, CHARACTER, LINE = 100, 8.43, 20


def main():
    out, typed, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    rows = [("typed", f"$ {typed}")]
    for line in run.stdout.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        kind = "good" if line.lstrip().startswith("good") else "plain"
        rows += [(kind, part) for part in textwrap.wrap(line.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent)]
    width, height = int(WIDTH * CHARACTER) + 32, len(rows) * LINE + 56
    colours = {"typed": "#ffffff", "good": "#8fd694", "plain": "#d0d4da"}
    text = "\n".join(
        f'<text x="16" y="{48 + number * LINE}" fill="{colours[kind]}" xml:space="preserve">{html.escape(line)}</text>'
        for number, (kind, line) in enumerate(rows))
    with open(out, "w") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            f'font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="14">\n'
            f"<title>{html.escape(typed)}</title>\n"
            f'<rect width="{width}" height="{height}" rx="8" fill="#1d2127"/>\n'
            '<circle cx="20" cy="16" r="5" fill="#5a616b"/><circle cx="38" cy="16" r="5" fill="#5a616b"/>'
            '<circle cx="56" cy="16" r="5" fill="#5a616b"/>\n'
            f"{text}\n</svg>\n")


if __name__ == "__main__":
    main()
