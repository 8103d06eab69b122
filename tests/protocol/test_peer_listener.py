# SPDX-License-Identifier: GPL-2.0-or-later
"""The port where other hosts connect.  A client that sends nothing, connects too often, or asks for
a transport that this host does not have costs little and keeps nobody out."""

import contextlib
import itertools
import re
import socket
import ssl
import struct

import pytest

from tests.support import peer_wire as wire
from tests.support.hdfs_dir import POOL
from tests.support.peers import at, read_all
from tests.support.sockets import copies
from tests.support.waiting import eventually
from tools.peers import peer

MAX_STRANGERS, MAX_OF_ADDRESS, MAX_EACH = 32, 8, 8
ADDRESSES = [f"127.0.1.{n}" for n in range(1, 20)]  # that strangers connect from
HELLO = wire.message(wire.HELLO, 0, wire.hello_body())


@pytest.fixture
def as_a(authority):
    return authority.certificate("a"), authority.ca


def refusals(host):
    server = host.status()["peers"]["server"]
    return server["refused"], server["last_refused"]


def plain_connection(address, source=None):
    ip, port = address.split(":")
    source = (source, 0) if source else None
    return socket.create_connection((ip, int(port)), wire.PATIENCE, source)


def strangers(host):
    """(connections not authenticated yet, {how such connections ended: number})"""
    seen = host.status()["peers"]["server"]["strangers"]
    return seen["waiting"], seen["ended"]


def lines_of_strangers(host):
    return [
        line for line in host.log().splitlines() if re.search("connection.* of|connections ", line)
    ]


@pytest.mark.parametrize(
    "sources,most", [(["127.0.0.1"], MAX_OF_ADDRESS), (ADDRESSES, MAX_STRANGERS)]
)
def test_strangers_are_bounded(start_host, start_asker, image, sources, most):
    """At no time are there too many strangers, of one address or of all: a new one replaces the
    oldest."""
    host, address = start_host()
    before = host.fds()
    with contextlib.ExitStack() as stack:
        for _, source in zip(range(100), itertools.cycle(sources), strict=False):
            stack.enter_context(plain_connection(address, source))
        eventually(lambda: strangers(host)[1]["displaced"] == 100 - most)
        assert strangers(host)[0] == most
        assert refusals(host) == (100 - most, None)
        assert host.fds() - before <= most + 4  # it may have the image open at this moment
        asker = start_asker(at(address))
        assert read_all(asker, image.blocks[1]) == image.contents[image.blocks[1].id]
    assert lines_of_strangers(host) == []


def test_hang_ups_cost_no_line_each(start_host, clock):
    host, address = start_host()
    for _ in range(300):
        plain_connection(address).close()
    eventually(lambda: strangers(host)[1]["hung_up"] == 300)
    assert refusals(host) == (0, None)
    clock.advance(60)
    assert lines_of_strangers(host) == []
    clock.until(lambda: lines_of_strangers(host), step=60)
    (line,) = lines_of_strangers(host)
    assert "300 connections sent nothing; the last one: 127.0.0.1:" in line


def test_failed_handshakes_cost_no_line_each(start_host, as_a, clock):
    """There is a line about the first, and one a minute later about the others.  A host at an
    address of the configuration has its own."""
    other = peer("b", address=f"{ADDRESSES[0]}:1")
    host, address = start_host(peers=peer("a", allow_datanodes="dn1") + other)

    def fail(count, source):
        before = strangers(host)[1]["failed"]
        for _ in range(count):
            with plain_connection(address, source) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        eventually(lambda: strangers(host)[1]["failed"] == before + count)

    fail(30, ADDRESSES[1])
    (line,) = lines_of_strangers(host)
    assert f"a connection of {ADDRESSES[1]}:" in line
    assert line.endswith(" was refused: it does not speak TLS")
    fail(1, ADDRESSES[0])
    assert f"a connection of {ADDRESSES[0]}:" in lines_of_strangers(host)[1]
    clock.advance(61)
    eventually(lambda: len(lines_of_strangers(host)) == 3)
    assert "29 connections were refused before they were auth" in lines_of_strangers(host)[2]
    assert refusals(host)[0] == 31


class Slow:
    """A host that authenticates itself in two steps."""

    def __init__(self, address, files, ca, source):
        self.socket = plain_connection(address, source)
        self.received, self.sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = wire.context(False, files, ca).wrap_bio(self.received, self.sent)
        self.step()

    def step(self):
        """True: the handshake is done."""
        done = True
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            done = False
        self.socket.sendall(self.sent.read())
        return done

    def ends_well(self):
        while not self.step():
            data = self.socket.recv(65536)
            assert data, "the host closed the connection"
            self.received.write(data)
        return True


@pytest.mark.parametrize("known", [True, False])
def test_a_host_comes_in_among_strangers(start_host, as_a, known):
    """A host whose address is configured has room of its own, even if strangers send something.
    Another host is not displaced by strangers that send nothing."""
    section = peer(
        "a", allow_datanodes="dn1", **({"address": f"{ADDRESSES[0]}:1"} if known else {})
    )
    host, address = start_host(peers=section)
    slow = Slow(address, *as_a, ADDRESSES[0])
    eventually(lambda: strangers(host)[0] == 1)
    with slow.socket, contextlib.ExitStack() as stack:
        for _, source in zip(range(200), itertools.cycle(ADDRESSES[1:]), strict=False):
            stranger = stack.enter_context(plain_connection(address, source))
            if known:
                stranger.sendall(b"\x16\x03\x01\x02")
        eventually(lambda: strangers(host)[1]["displaced"] >= 200 - MAX_STRANGERS)
        assert slow.ends_well()
        eventually(lambda: host.status()["peers"]["peers"][0]["answered"]["connections"] == 1)


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


def test_a_known_host_that_says_nothing_is_no_stranger(start_host, as_a, clock):
    """It is not displaced, but it is disconnected if it says no hello in time."""
    host, address = start_host()
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(wire.connect(address, *as_a, hello=False)) for _ in range(4)]
        eventually(lambda: strangers(host)[0] == 0)
        for _ in range(MAX_STRANGERS):
            stack.enter_context(plain_connection(address))
        eventually(lambda: strangers(host)[1]["displaced"] == MAX_STRANGERS - MAX_OF_ADDRESS)
        assert host.status()["peers"]["peers"][0]["answered"]["connections"] == 4
        clock.until(lambda: "refused: no HELLO in time" in host.log(), step=1)
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


def test_the_last_to_authenticate_stays(start_host, as_a):
    """Although it was the first to connect."""
    host, address = start_host()
    slow = Slow(address, *as_a, ADDRESSES[0])
    eventually(lambda: strangers(host)[0] == 1)
    with slow.socket, contextlib.ExitStack() as stack:
        others = [stack.enter_context(wire.connect(address, *as_a)) for _ in range(MAX_EACH)]
        assert slow.ends_well()
        assert others[0].ended()
        eventually(
            lambda: host.status()["peers"]["peers"][0]["answered"]["connections"] == MAX_EACH
        )


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


def test_another_version(start_host, as_a):
    """A host of another version of the protocol is told this host's version, and nothing else: no
    storages, and no answer."""
    host, address = start_host()
    with wire.connect(address, *as_a, hello=False) as connection:
        connection.send(wire.HELLO, 0, wire.hello_body(version=9))
        kind, _, _, body = connection.receive()
        assert (kind, struct.unpack("<IHHII", body)[1]) == (wire.HELLO, 1)
        connection.send(wire.STAT, 1, struct.pack("<I", 1))
        assert connection.receive() is None
    eventually(lambda: host.status()["peers"]["server"]["connections"] == 0)
