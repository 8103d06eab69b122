# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts on this machine that read from each other: here the host that asks (peerctl).

authority = Authority(tmp_path)                           # of tools/peers.py
peers = authority.host("b", listen="127.0.0.1:7867")
asker = Asker(tmp_path, authority.host("a") + peer("b", address="127.0.0.1:7867", ...))
assert asker.read(handle, 0, 100) == ...
"""

import contextlib
import functools
import itertools
import json
import os
import socket
import subprocess

from tests.support.daemon import REPOSITORY
from tests.support.hdfs_dir import POOL, crc32c_of
from tools.peers import peer


class Ports:
    """Ports that stay free until a test listens there: the kernel assigns none of them by itself,
    and each test process on this machine has different ones."""

    FIRST, EACH, SHARES = 20000, 250, 48  # all below the range from which the kernel assigns

    def __init__(self):
        self.owner = socket.socket(socket.AF_UNIX)  # its name is free again when the process ends
        for share in range(self.SHARES):
            with contextlib.suppress(OSError):
                self.owner.bind(f"\0vread-test-ports-{share}")
                break
        else:
            raise RuntimeError("all shares of ports are taken")
        first = self.FIRST + share * self.EACH
        self.ports = itertools.cycle(range(first, first + self.EACH))

    def next(self):
        for port in itertools.islice(self.ports, self.EACH):
            with contextlib.suppress(OSError), socket.socket() as s:
                s.bind(("127.0.0.1", port))
                return port
        raise RuntimeError("no port is free")


@functools.cache
def ports():
    return Ports()


def free_address():
    return f"127.0.0.1:{ports().next()}"


def at(address, **keys):
    return peer("b", address=address, **{"storages": "dn1/DS-1", **keys})


def read_all(asker, block, step=(1 << 20), verb="open"):
    handle = asker.open(block, verb=verb)[0]
    data = b""
    while piece := asker.read(handle, len(data), step):
        data += piece
    asker.send("close", handle)
    return data


def read_soon(asker, block):
    """As read_all(), but waits until the pauses of the links are over."""

    def attempt():
        with contextlib.suppress(Failed):
            return read_all(asker, block)

    return asker.clock.until(attempt)


class Failed(Exception):
    """An operation failed; the text is the errno's name."""


class Asker:
    """peerctl.  Finds its answers by tag, in whatever order they come."""

    def __init__(self, folder, config, variant="asan", pool=16 << 20, wrapper=(), clock=None):
        self.clock = clock
        self.log_path = folder / "asker.log"
        self.config = folder / "asker.conf"
        self.config.write_text(config)
        self.own = config.partition("[peer ")[0]
        program = REPOSITORY / "build" / variant / "peerctl"
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*wrapper, program, self.config, str(pool)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | (clock.environment if clock else {}),
            )
        self.answers = {}
        self.tags = 0
        self.killed = False
        assert self.process.stdout.readline() == b"ready\n", self.log()

    def log(self):
        return self.log_path.read_text(errors="replace")

    def send(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()

    def begin(self, verb, *words):
        self.tags += 1
        tag = f"t{self.tags}"
        self.send(verb, tag, *words)
        return tag

    def end(self, tag):
        """Waits for the answer and returns its words.  Raises Failed for an error."""
        while tag not in self.answers:
            line = self.process.stdout.readline().decode()
            assert line.endswith("\n"), f"peerctl ended: {self.log()}"
            name, result, *rest = line[:-1].split(" ", 2)
            self.answers[name] = (result, rest[0] if rest else "")
        result, rest = self.answers.pop(tag)
        if result != "ok":
            raise Failed(rest)
        return rest

    def error(self, tag):
        """Returns the error in the answer.  None: the operation succeeded."""
        try:
            self.end(tag)
        except Failed as failed:
            return str(failed)
        return None

    def begin_open(self, block, storages=("DS-1",), visible=0, verb="open"):
        return self.begin(verb, POOL, block.id, block.genstamp, visible, *storages)

    def open(self, block, storages=("DS-1",), visible=0, verb="open"):
        """Returns (handle, length, generation stamp, flags)."""
        return tuple(map(int, self.end(self.begin_open(block, storages, visible, verb)).split()))

    def begin_read(self, handle, offset, length, place=0):
        return self.begin("read", handle, offset, place, length)

    def read(self, handle, offset, length, place=0):
        """Returns the bytes, which must have the CRC32C that came with them."""
        data, crc32c = self.read_with_sum(handle, offset, length, place)
        assert crc32c == crc32c_of(data)
        return data

    def read_with_sum(self, handle, offset, length, place=0):
        length, crc32c = map(int, self.end(self.begin_read(handle, offset, length, place)).split())
        return self.bytes(place, length), crc32c

    def bytes(self, place, length):
        self.send("bytes", place, length)
        self.end("bytes")
        return self.process.stdout.read(length)

    def stat(self, handle):
        return tuple(map(int, self.end(self.begin("stat", handle)).split()))

    def move(self, storage, host):
        self.send("move", storage, host or "-")
        self.end("move")

    def status(self):
        self.send("status")
        return json.loads(self.end("status"))

    def reload(self, *peers):
        """Replaces the [peer NAME] sections.  Returns the changes."""
        self.config.write_text(self.own + "".join(peers))
        self.send("reload")
        return json.loads(self.end("reload"))

    def peer(self, name):
        return next(p for p in self.status()["peers"] if p["name"] == name)

    def stop(self, seconds=120):
        """Ends peerctl.  Returns its exit status."""
        if self.process.poll() is None:
            self.process.stdin.close()
        try:
            status = self.process.wait(seconds)
        finally:
            self.kill()
        return status

    def kill(self):
        if self.process.poll() is None:
            self.killed = True
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
