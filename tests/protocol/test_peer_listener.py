# SPDX-License-Identifier: GPL-2.0-or-later
"""The port where other hosts connect.  A client that sends nothing, connects too often, or asks for
a transport that this host does not have costs little and keeps nobody out."""

import contextlib
import socket
import struct

import pytest

from tests.support import peer_wire as wire
from tests.support.hdfs_dir import POOL
from tests.support.peers import at, read_all
from tests.support.sockets import copies
from tests.support.waiting import eventually

MAX_STRANGERS, MAX_EACH = 32, 4
HELLO = wire.HEADER.pack(16, wire.HELLO, 0, 0) + wire.hello_body()


@pytest.fixture
def as_a(authority):
    return authority.certificate("a"), authority.ca


def refusals(host):
    server = host.status()["peers"]["server"]
    return server["refused"], server["last_refused"]


def plain_connection(address):
    ip, port = address.split(":")
    return socket.create_connection((ip, int(port)), timeout=wire.PATIENCE)


def test_strangers_are_bounded(start_host, start_asker, image):
    """At no time are there too many strangers: a new one replaces the oldest."""
    host, address = start_host()
    before = host.fds()
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(plain_connection(address))
        eventually(lambda: refusals(host)[0] == 100 - MAX_STRANGERS)
        assert "more than 32 connections have sent none" in host.log()
        assert host.status()["peers"]["server"]["connections"] <= MAX_STRANGERS
        assert host.fds() - before <= MAX_STRANGERS + 4  # it may have the image open at this moment
        asker = start_asker(at(address))
        assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]


@pytest.mark.parametrize("variant", ["asan", "release"])
@pytest.mark.parametrize("hello", [True, False])
def test_a_socket_that_a_child_still_has_is_heard_no_more(start_host, as_a, hello, variant):
    """Until a parser runs its program, it has copies of all sockets of vreadd.  vreadd must get no
    event of a connection that has ended."""
    host, address = start_host(variant=variant)
    with contextlib.ExitStack() as stack:
        with wire.connect(address, *as_a, hello=hello):
            eventually(lambda: host.status()["peers"]["server"]["connections"] == 1)
            stack.enter_context(copies(host.process.pid))
        eventually(lambda: host.status()["peers"]["server"]["connections"] == 0)
        with wire.connect(address, *as_a) as another:
            another.send(wire.STAT, 1, struct.pack("<I", 77))
            assert another.until(wire.FAILED)


def test_a_known_host_that_says_nothing_is_a_stranger(start_host, as_a):
    host, address = start_host()
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(wire.connect(address, *as_a, hello=False)) for _ in range(4)]
        for _ in range(MAX_STRANGERS):
            stack.enter_context(plain_connection(address))
        eventually(
            lambda: host.log().count("more than 32 connections have sent none") == len(silent)
        )
        assert all(connection.ended() for connection in silent)


def test_beginnings_that_go_on_for_ever(start_host, as_a, clock):
    """No bytes, half a handshake, no hello, half a hello: each connection ends, but a host that
    completed its hello stays connected."""
    host, address = start_host()
    with contextlib.ExitStack() as stack:
        good = stack.enter_context(wire.connect(address, *as_a))
        silent, handshake = (stack.enter_context(plain_connection(address)) for _ in range(2))
        handshake.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        no_hello, half = (
            stack.enter_context(wire.connect(address, *as_a, hello=False)) for _ in range(2)
        )
        half.tls.sendall(HELLO[:-1])
        eventually(lambda: host.status()["peers"]["server"]["connections"] == 5)
        clock.until(lambda: refusals(host)[0] == 4, step=1)
        for connection in (silent, handshake):
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        assert no_hello.ended() and half.ended()
        assert refusals(host)[1].endswith(": no HELLO in time")
        good.send(wire.STAT, 1, struct.pack("<I", 77))
        assert good.until(wire.FAILED)
    eventually(lambda: host.status()["peers"]["server"]["connections"] == 0)


def test_a_host_has_few_connections(start_host, as_a, image, clock):
    """Of many connections of one host only the newest stay, even if all come at once."""
    host, address = start_host()
    block = image.blocks[0]
    opening = wire.open_body(POOL, block.id, block.genstamp, ["DS-1"])
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(wire.connect(address, *as_a)) for _ in range(3 * MAX_EACH)]
        clock.until(
            lambda: host.status()["peers"]["peers"][0]["answered"]["connections"] == MAX_EACH
        )
        assert all(connection.ended() for connection in many[:-MAX_EACH])
        assert "too many connections" in refusals(host)[1]
        for connection in many[-MAX_EACH:]:
            connection.send(wire.OPEN, 1, opening)
            assert connection.until(wire.OPENED)


def test_a_transport_this_host_has_not(start_host, as_a):
    """A host that accepts only RDMA is told that there is none, and is not served over TLS."""
    host, address = start_host()
    with wire.connect(address, *as_a, hello=False) as connection:
        connection.send(wire.HELLO, 0, wire.hello_body(transports=2))
        _, _, _, body = connection.until(wire.HELLO)
        assert struct.unpack("<IHHII", body)[2] == 0
        connection.send(wire.STAT, 1, struct.pack("<I", 1))
        assert not connection.until(wire.FAILED)
    eventually(lambda: host.status()["peers"]["server"]["connections"] == 0)
