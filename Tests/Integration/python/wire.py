# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A security key on the other side of a UDP socket, at a hidraw node or on a PC/SC reader, for the FIDO2 client of PyPI.

The client's own CTAPHID does the framing; over UDP this only moves 64-byte reports.
"""

import socket

from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor


class UdpConnection(CtapHidConnection):
    """Reports as datagrams to a port of this machine."""

    def __init__(self, port, timeout=20):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", port))

    def read_packet(self):
        return self.socket.recv(64)

    def write_packet(self, data):
        self.socket.send(data)

    def close(self):
        self.socket.close()


_card = None


def open_key(wire):
    """The key at that UDP port, on a fresh channel; at that node; or the one on a reader."""
    global _card
    if wire.startswith("/dev/"):
        found = [device for device in CtapHidDevice.list_devices() if device.descriptor.path == wire]
        assert len(found) == 1, "%s is not among the keys that the client finds" % wire
        return found[0]
    if wire != "pcsc":
        descriptor = HidDescriptor("udp:" + wire, 0, 0, 64, 64, "virtual", None)
        return CtapHidDevice(descriptor, UdpConnection(int(wire)))
    if _card is None:
        from fido2.pcsc import CtapPcscDevice

        devices = list(CtapPcscDevice.list_devices())
        assert len(devices) == 1, "one reader with a key, not %r" % devices
        # Kept: a connection that goes resets the card under the others.
        _card = devices[0]
    return _card
