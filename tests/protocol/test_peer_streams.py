# SPDX-License-Identifier: GPL-2.0-or-later
"""Several connections to one peer: which block is read on which of them."""

import signal
import socket
import struct
import threading

from tests.support import peer_wire as wire
from tests.support.peers import at, free_address, read_all
from tests.support.waiting import eventually
from tools.vreadd import stop_process

MIB = 1 << 20
READ_BODY = struct.Struct("<IIQ")
GENSTAMP = 1001


class Streams:
    """A peer that opens blocks.  It answers a READ of offset 0 after the next STAT on the same
    connection, and others at once.  where: for each READ the number of its connection, from 0.
    accepts: connections that get a HELLO.  Further ones are closed, or hear nothing if silent."""

    def __init__(self, accepts=8, silent=False):
        self.accepts, self.silent = accepts, silent
        self.connections, self.where, self.kept = [], [], []
        self._lock = threading.Lock()

    def __call__(self, fake, connection):
        with self._lock:
            number = len(self.connections)
            self.connections.append(connection)
        if number >= self.accepts:
            if self.silent:
                fake.ended.wait()
            connection.tls.shutdown(socket.SHUT_RDWR)
            return
        wire.greet(connection)
        while message := connection.receive():
            kind, _, id_, body = message
            if kind == wire.OPEN:
                connection.send(wire.OPENED, id_, wire.opened_body(9 << 20, GENSTAMP))
            elif kind == wire.STAT:
                connection.send(wire.STATED, id_, wire.opened_body(9 << 20, GENSTAMP, handle=0))
                self._release(connection)
            elif kind == wire.READ:
                self._read(connection, number, id_, *READ_BODY.unpack(body)[1:])

    def _read(self, connection, number, id_, length, offset):
        self.where.append(number)
        if offset:
            connection.send(wire.DATA, id_, b"z" * length)
        else:
            self.kept.append((connection, id_, length))

    def _release(self, connection):
        for each, id_, length in self.kept:
            if each is connection:
                connection.send(wire.DATA, id_, b"k" * length)


def up(asker):
    return asker.peer("b")["streams"]


def busy(asker, streams, block):
    """A handle with a READ under way that makes its connection a busy one, and the READ's tag."""
    before = len(streams.kept)
    handle = asker.open(block)[0]
    tag = asker.begin_read(handle, 0, MIB)
    eventually(lambda: len(streams.kept) == before + 1)
    return handle, tag


def test_a_block_opened_beside_a_busy_connection_gets_another(fake_peer, start_asker, image):
    streams, block = Streams(), image.blocks[0]
    with fake_peer(streams) as fake:
        asker = start_asker(at(fake.address))
        first, tag = busy(asker, streams, block)
        early = asker.open(block)[0]  # waits for no second connection
        eventually(lambda: up(asker) == 2)
        later = asker.open(block)[0]
        assert asker.read(early, 5, 100, place=MIB) == b"z" * 100
        assert asker.read(later, 5, 100, place=MIB) == b"z" * 100
        assert streams.where == [0, 0, 1]
        asker.stat(first)
        assert asker.error(tag) is None
        assert asker.bytes(0, MIB) == b"k" * MIB
        asker.open(block)
        seen = asker.peer("b")
        assert (seen["streams"], seen["connects"], seen["failures"]) == (2, 2, 0)
        assert seen["bytes"] == MIB + 200


def two_busy(asker, streams, block):
    """busy() on the first connection, and on a second one once that is up."""
    first = busy(asker, streams, block)
    eventually(lambda: up(asker) == 2 or not asker.open(block))
    second = busy(asker, streams, block)
    assert streams.where == [0, 1]
    return first, second


def test_an_idle_connection_serves_all(fake_peer, start_asker, image):
    streams, block = Streams(), image.blocks[0]
    with fake_peer(streams) as fake:
        asker = start_asker(at(fake.address))
        handles = [asker.open(block)[0] for _ in range(4)]
        small = asker.begin_read(handles[0], 0, MIB - 1)
        eventually(lambda: streams.kept)
        for handle in (asker.open(block)[0], *handles):
            assert asker.read(handle, 5, MIB, place=MIB) == b"z" * MIB
        assert set(streams.where) == {0}
        asker.stat(handles[0])
        assert asker.error(small) is None
        assert asker.peer("b")["connects"] == 1


def test_no_more_connections_than_configured(fake_peer, start_asker, image):
    streams, block = Streams(), image.blocks[0]
    with fake_peer(streams) as fake:
        asker = start_asker(at(fake.address), keys={"streams": 3})
        for count in (1, 2, 3):
            eventually(lambda c=count: up(asker) == c or not asker.open(block))
            busy(asker, streams, block)
        for _ in range(3):
            busy(asker, streams, block)
        assert sorted(streams.where) == [0, 0, 1, 1, 2, 2]
        assert len(streams.connections) == asker.peer("b")["connects"] == 3


def test_one_connection_only(fake_peer, start_asker, image):
    streams, block = Streams(), image.blocks[0]
    with fake_peer(streams) as fake:
        asker = start_asker(at(fake.address), keys={"streams": 1})
        for _ in range(3):
            busy(asker, streams, block)
        assert streams.where == [0, 0, 0]
        assert len(streams.connections) == 1


def test_a_further_connection_that_fails_costs_nothing(fake_peer, start_asker, image):
    streams, block = Streams(accepts=1), image.blocks[0]
    with fake_peer(streams) as fake:
        asker = start_asker(at(fake.address))
        first, tag = busy(asker, streams, block)
        asker.open(block)
        eventually(lambda: asker.peer("b")["failures"] == 1)
        later = asker.open(block)[0]
        assert asker.read(later, 5, 100, place=MIB) == b"z" * 100
        asker.stat(first)
        assert asker.error(tag) is None
        seen = asker.peer("b")
        assert (seen["state"], seen["streams"]) == ("up", 1)
        assert seen["last_error"]


def test_a_further_connection_that_hangs_delays_nobody(fake_peer, start_asker, image, clock):
    """The clock stands still: whoever waited for it would wait for ever."""
    streams, block = Streams(accepts=1, silent=True), image.blocks[0]
    with fake_peer(streams) as fake:
        asker = start_asker(at(fake.address), keys={"idle-timeout": 600})
        first, tag = busy(asker, streams, block)
        asker.open(block)
        eventually(lambda: len(streams.connections) == 2)
        for _ in range(3):
            later = asker.open(block)[0]
            assert asker.read(later, 5, 100, place=MIB) == b"z" * 100
        asker.stat(first)
        assert asker.error(tag) is None
        clock.until(lambda: asker.peer("b")["failures"] == 1, step=5)
        assert "no HELLO" in asker.peer("b")["last_error"]
        assert asker.read(later, 5, 100, place=MIB) == b"z" * 100


def test_the_end_of_a_connection_ends_its_own_reads(fake_peer, start_asker, image):
    streams, block = Streams(), image.blocks[0]
    with fake_peer(streams) as fake:
        asker = start_asker(at(fake.address))
        (first, tag), (later, ending) = two_busy(asker, streams, block)
        streams.connections[1].tls.shutdown(socket.SHUT_RDWR)
        assert asker.error(ending) == "EAGAIN"
        assert asker.error(asker.begin_read(later, 5, 100)) == "EAGAIN"
        assert asker.read(first, 5, 100, place=MIB) == b"z" * 100
        asker.stat(first)
        assert asker.error(tag) is None


def test_a_new_address_ends_all_connections(fake_peer, start_asker, image):
    streams, block = Streams(), image.blocks[0]
    with fake_peer(streams) as fake:
        asker = start_asker(at(fake.address))
        (_, tag), (_, other) = two_busy(asker, streams, block)
        asker.reload(at(free_address()))
        assert {asker.error(tag), asker.error(other)} == {"EAGAIN"}
        eventually(lambda: up(asker) == 0)


def test_only_the_first_connection_hears_of_storages(start_host, start_asker, image):
    """A second list would be a second announcement of each storage."""
    host, address = start_host()
    asker = start_asker(at(address, storages="dn1/DS-bait", datanodes="*"))
    assert asker.error(asker.begin_open(image.blocks[0], ["DS-bait"])) == "ENODEV"  # it connects
    eventually(lambda: asker.peer("b")["heard"])
    handle = asker.open(image.blocks[0])[0]
    announced, block = asker.peer("b")["announced"], image.blocks[0]
    stop_process(host.process.pid)
    tags = [asker.begin_read(handle, n * MIB, MIB, n * MIB) for n in range(2)]
    opening = asker.begin_open(block)
    host.process.send_signal(signal.SIGCONT)
    assert [asker.error(tag) for tag in (*tags, opening)] == [None] * 3
    eventually(lambda: up(asker) == 2)
    assert read_all(asker, block) == image.contents[block.id]
    assert asker.peer("b")["announced"] == announced
