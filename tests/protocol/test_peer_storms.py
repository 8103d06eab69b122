# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that sends as many messages as it can, of whatever kind.  Others are served in between.  A
host that may not ask any more is disconnected although it does not stop sending."""

import contextlib
import ctypes
import os
import select
import socket
import struct
import threading

import pytest

from tests.support import peer_wire as wire
from tests.support.hanging_disk import HangingDisk
from tests.support.hdfs_dir import POOL
from tests.support.reloading import changed
from tests.support.waiting import eventually
from tools.peers import Authority, peer

NOTHING = 0xFFFF  # an id that no request has
NO_BLOCK = 77
CREDITS = 32  # requests that a host may have unanswered
BOTH = peer("a", allow_datanodes="dn1") + peer("d", allow_datanodes="dn1")
STAT = wire.message(wire.STAT, 1, struct.pack("<I", NO_BLOCK))
READ_OF_NOTHING = wire.message(wire.READ, 1, struct.pack("<IIQ", NO_BLOCK, 10, 0))
CANCEL = wire.message(wire.CANCEL, 1)


@pytest.fixture
def authority(tmp_path):
    """An authority for one test, because the tests revoke certificates."""
    return Authority(tmp_path)


@pytest.fixture
def as_a(authority):
    return authority.certificate("a"), authority.ca


@pytest.fixture
def as_d(authority):
    return authority.certificate("d"), authority.ca


def opening(image):
    block = image.blocks[1]
    return wire.open_body(POOL, block.id, block.genstamp, ["DS-1"])


def change_keys(tls):
    """Sends a KeyUpdate of TLS.  Python has no call for it, but its object holds OpenSSL's."""
    library = ctypes.CDLL("libssl.so.3")
    connection = ctypes.c_void_p.from_address(id(tls._sslobj) + 24)
    library.SSL_key_update(connection, 0)
    while (result := library.SSL_do_handshake(connection)) != 1:
        if library.SSL_get_error(connection, result) != 3:  # SSL_ERROR_WANT_WRITE
            raise OSError("the connection has ended")
        select.select([], [tls], [], wire.PATIENCE)


class Storm:
    """Sends `messages` again and again, on a thread, and takes `answers` answers each time.
    messages may be a function that sends."""

    def __init__(self, connection, messages, answers=0):
        self.connection, self.messages, self.answers = connection, messages, answers
        self.sent = 0
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):  # of the socket: the thread uses the TLS object
            socket.socket.shutdown(self.connection.tls, socket.SHUT_RDWR)
        self.thread.join()

    def _run(self):
        with contextlib.suppress(OSError):  # the host ends the connection
            while True:
                if callable(self.messages):
                    self.messages(self.connection.tls)
                else:
                    self.connection.tls.sendall(self.messages)
                self.sent += 1
                for _ in range(self.answers):
                    if self.connection.receive() is None:
                        return

    def is_over(self):
        return not self.thread.is_alive()

    def rages(self):
        """True if the host takes what is sent, or has ended the connection."""
        before = self.sent
        eventually(lambda: self.sent > before + 20 or self.is_over())
        return True


def serve(connection, image, times=3):
    """The host opens and reads a block for this connection, several times."""
    block = image.blocks[1]
    for _ in range(times):
        connection.send(wire.OPEN, 1, opening(image))
        handle = connection.until(wire.OPENED)[3][:4]
        connection.send(wire.READ, 2, handle + struct.pack("<IQ", block.length, 0))
        assert connection.until(wire.DATA)[3] == image.contents[block.id]
        connection.send(wire.CLOSE, 0, handle)


STORMS = {  # messages, answers to them
    "cancels": (wire.message(wire.CANCEL, NOTHING) * 1000, 0),
    "stats": (STAT * 16, 16),
    "stats whose answers are not taken": (STAT * 16, 0),
    "reads that are cancelled": ((READ_OF_NOTHING + CANCEL) * 16, 0),
    "changes of keys": (change_keys, 0),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", STORMS)
@pytest.mark.parametrize("variant", ["asan", "release"])
def test_others_are_served_and_the_revoked_is_not(
    start_host, image, authority, clock, as_a, as_d, kind, variant
):
    crl = authority.revoke()
    host, address = start_host(peers=BOTH, keys={"crl": crl}, variant=variant)
    with (
        wire.connect(address, *as_a) as raging,
        wire.connect(address, *as_d) as other,
        Storm(raging, *STORMS[kind]) as storm,
    ):
        assert storm.rages()
        serve(other, image)
        with wire.connect(address, *as_d) as another:
            serve(another, image)
        authority.revoke(as_a[0][0])
        clock.advance(2)
        eventually(storm.is_over)
        serve(other, image)
    assert host.memory_kib() < 1 << 20


@pytest.mark.thorough
@pytest.mark.parametrize("kind", STORMS)
def test_a_removed_host_is_disconnected(start_host, image, edit, as_a, as_d, kind):
    host, address = start_host(peers=BOTH)
    with (
        wire.connect(address, *as_a) as raging,
        wire.connect(address, *as_d) as other,
        Storm(raging, *STORMS[kind]) as storm,
    ):
        assert storm.rages()
        edit(host, "[peer a]\nallow-datanodes = dn1\n", "")
        changed(host, "[peer a]: removed")
        eventually(storm.is_over)
        serve(other, image)


@pytest.mark.parametrize("kind", ["stats whose answers are not taken", "reads that are cancelled"])
def test_answers_that_nobody_takes_take_no_memory(start_host, as_a, kind):
    """A request counts as unanswered until the host has taken the answer from this host."""
    host, address = start_host(variant="release")
    with wire.connect(address, *as_a) as raging:
        before = host.memory_kib()
        with Storm(raging, *STORMS[kind]) as storm:
            eventually(lambda: storm.is_over() or host.memory_kib() > before + (32 << 10))
            assert host.memory_kib() <= before + (32 << 10)
            assert storm.is_over()


def test_a_cancel_gives_its_credit_back_once(start_host, tmp_path, image, as_a):
    """A READ is cancelled while a worker carries it out.  The host that asked has its credit back
    then, and not once more when the worker ends."""
    disk = HangingDisk(tmp_path, image)
    host, address = start_host(wrapper=disk.wrapper)
    with wire.connect(address, *as_a) as connection:
        connection.send(wire.OPEN, 1, opening(image))
        handle = connection.until(wire.OPENED)[3][:4]
        read = handle + struct.pack("<IQ", image.blocks[1].length, 0)
        disk.hang()
        connection.send(wire.READ, 2, read)
        eventually(disk.reads)
        connection.send(wire.CANCEL, 2)
        assert connection.until(wire.FAILED)[2] == 2
        os.close(disk.answer())
        eventually(lambda: host.status()["peers"]["server"]["buffers_used"] == 0)
        disk.hang()
        for n in range(CREDITS + 1):
            connection.send(wire.READ, 10 + n, read)
        assert connection.ended()
    os.close(disk.answer())


def test_a_hello_comes_once(start_host, as_a):
    """Also if the hosts have no transport in common, and so the first HELLO was refused."""
    _, address = start_host()
    with wire.connect(address, *as_a, hello=False) as connection:
        connection.send(wire.HELLO, 0, wire.hello_body(transports=2))
        assert connection.until(wire.HELLO)
        connection.send(wire.HELLO, 0, wire.hello_body(transports=2))
        assert connection.receive() is None


def test_cancels_cost_credit(start_host, image, as_a):
    """A host may cancel each request once.  One that sends more CANCELs is disconnected."""
    _, address = start_host()
    with wire.connect(address, *as_a) as connection:
        with contextlib.suppress(OSError):  # the host may close it first
            connection.tls.sendall(wire.message(wire.CANCEL, NOTHING) * 5000)
        assert connection.ended()
    with wire.connect(address, *as_a) as connection:
        for _ in range(100):  # late CANCELs, of requests that were answered meanwhile
            connection.send(wire.STAT, 1, struct.pack("<I", NO_BLOCK))
            assert connection.until(wire.FAILED)
            connection.send(wire.CANCEL, 1)
        serve(connection, image)
