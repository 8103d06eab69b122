# SPDX-License-Identifier: GPL-2.0-or-later
"""Speaks to a vread-opener as vreadd does, or as a vreadd that was taken over might.

with Opener(config) as opener:
    fd = opener.image("/srv/dn1.img")
    opener.raw(b"...")
"""

import os
import socket
import struct
import subprocess

from tests.support.daemon import binary

CHANNELS = 16
IMAGE, NAMED, STAT = 1, 2, 3
FIXED = struct.Struct("iIQQQ")


class Refused(OSError):
    """errno and strerror are what the opener answered."""


class Opener:
    def __init__(self, config, variant="asan", wrapper=(), environment=None):
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(CHANNELS)]
        self.channels = [ours for ours, _ in pairs]
        theirs = [other for _, other in pairs]
        high = [os.dup2(s.fileno(), 200 + i) for i, s in enumerate(theirs)]
        program = binary(variant).with_name("vread-opener")
        # The shell puts the channels where the opener expects them.
        moves = " ".join(f"{3 + i}<&{fd} {fd}<&-" for i, fd in enumerate(high))
        command = [*wrapper, "bash", "-c", f'exec "$0" "$1" {moves}', program, config]
        self.process = subprocess.Popen(command, pass_fds=high, env=environment or {})
        for fd in high:
            os.close(fd)
        for s in theirs:
            s.close()
        for s in self.channels:
            s.settimeout(60)
        assert self.receive(0) == (0, 0, 0, 0, 0, "", [])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for channel in self.channels:
            channel.close()
        status = self.process.wait(60)
        if not any(error):
            assert status == 0

    def receive(self, channel=0):
        """(result, mode, dev, ino, rdev, text, descriptors)"""
        data, fds, _, _ = socket.recv_fds(self.channels[channel], 1 << 16, 8)
        assert len(data) >= FIXED.size, "the opener has ended"
        return (*FIXED.unpack_from(data), data[FIXED.size :].decode(), fds)

    def raw(self, message, channel=0, fds=()):
        """Sends any bytes.  Returns the answer."""
        socket.send_fds(self.channels[channel], [message], fds)
        return self.receive(channel)

    def ask(self, kind, path, top="", image="", channel=0):
        texts = b"".join(os.fsencode(text) + b"\0" for text in (path, top, image))
        answer = self.raw(struct.pack("I", kind) + texts, channel)
        if answer[0] < 0:
            assert answer[6] == []
            raise Refused(-answer[0], answer[5])
        return answer

    def image(self, path, **arguments):
        (fd,) = self.ask(IMAGE, path, **arguments)[6]
        return fd

    def named(self, path, top):
        (fd,) = self.ask(NAMED, path, top, top)[6]
        return fd

    def alive(self):
        return self.process.poll() is None
