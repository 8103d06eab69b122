# SPDX-License-Identifier: GPL-2.0-or-later
"""Each call of vreadd for memory, a descriptor, a thread or a file fails once, while another host
connects, asks and goes, and while vreadd asks another host.

Who asks must get an error or right bytes, and right bytes after some more attempts.  A neighbour, a
client on the same host, must read on.  vreadd must lose no descriptors.
"""

import contextlib
import socket
import struct

import pytest

from tests.support import peer_wire as wire
from tests.support.daemon import STORAGE, open_block
from tests.support.failing_calls import VREADD, FailingCalls
from tests.support.hdfs_dir import POOL
from tests.support.localfront import Gone, Refused
from tests.support.plain_frames import BARE, MARK, PLAIN, TRANSPORT, Frames, body_of
from tests.support.tiers import slow
from tests.support.waiting import eventually
from tools.peers import peer

# s until who asks tries again.  The time of vreadd stands still meanwhile, and so do its limits.
PATIENCE = 2
STEP = 5  # s of vreadd's time between attempts: a link pauses after each end of its connection
LENGTH, GENSTAMP = 300_000, 1001
# By the transport of a HELLO: what is in [peer].
PROTECTION = {1: "privacy", TRANSPORT: "integrity", BARE: "authentication"}
TRANSPORTS = (1, *slow(TRANSPORT, BARE))
CONTENT = bytes(range(256)) * (LENGTH // 256) + b"end"


@pytest.fixture
def calls(tmp_path):
    return FailingCalls(tmp_path / "calls", VREADD)


def each_call_while(ask, daemon, image, calls):
    """Each call of the daemon fails once while ask() is repeated until it returns True, which it
    must after each failure.  Returns the calls that failed."""
    big = image.blocks[0]

    def come():
        assert daemon.process.poll() is None, f"vreadd ended:\n{daemon.log()[-3000:]}"
        return ask()

    def all_arrive():
        daemon.clock.until(come, step=STEP)

    with daemon.front() as neighbour:
        handle = open_block(neighbour, big)

        def neighbour_reads():
            daemon.look()  # two looks in a row at a disk that fails would be believed
            assert neighbour.read(handle, 0, 65536) == image.contents[big.id][:65536], daemon.log()

        all_arrive()
        before = daemon.fds()
        failed = calls.sweep(all_arrive, neighbour_reads)
        eventually(lambda: daemon.fds() <= before, what="descriptors back")
    return failed


def asked(connection, block, content, transport):
    """Opens a block of the host and reads it, as another host does.  True: all bytes came.
    transport: 1, or that of the frames to come."""
    connection.send(wire.HELLO, 0, wire.hello_body(transports=1 | transport))
    if not connection.until(wire.HELLO):
        return False
    connection.send(wire.OPEN, 1, wire.open_body(POOL, block.id, block.genstamp, [STORAGE]))
    answer = connection.until(wire.OPENED, wire.FAILED)
    if not answer or answer[0] == wire.FAILED:
        return False
    (handle,) = struct.unpack_from("<I", answer[3])
    connection.send(wire.STAT, 2, struct.pack("<I", handle))
    read = struct.pack("<IIQ", handle, len(content), 0)
    if transport != 1:
        return in_frames(connection, read, content, transport)
    connection.send(wire.READ, 3, read)
    data = b""
    while message := connection.until(wire.DATA, wire.FAILED):
        kind, flags, id_, body = message
        if id_ == 3 and kind == wire.FAILED:
            return False
        data += body if id_ == 3 else b""
        if id_ == 3 and not flags & wire.MORE:
            break
    connection.send(wire.CLOSE, 4, struct.pack("<I", handle))
    assert content.startswith(data)
    return data == content


def in_frames(connection, read, content, transport):
    """Sends that READ.  True: its bytes came in frames, with right MACs if they have any."""
    frames, data = Frames(connection, transport), b""
    connection.send(wire.READ, 3, read, PLAIN)
    while len(data) < len(content):
        (unit,) = (unit for unit in frames.units(1) if unit[0] == MARK)
        assert transport == BARE or frames.is_right(frames.sent, unit)
        frames.sent += 1
        data += body_of(unit)
    assert data == content
    return True


@pytest.mark.thorough
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_each_call_of_an_answering_host(start_host, authority, image, calls, transport):
    peers = peer("a", allow_datanodes="dn1", protection=PROTECTION[transport])
    daemon, address = start_host(wrapper=calls.wrapper, program=VREADD, peers=peers)
    certificate = authority.certificate("a")
    block = image.blocks[1]
    content = image.contents[block.id]

    def ask():
        with (
            contextlib.suppress(OSError),
            wire.connect(
                address, certificate, authority.ca, hello=False, patience=PATIENCE
            ) as connection,
        ):
            return asked(connection, block, content, transport)

    failed = each_call_while(ask, daemon, image, calls)
    assert len(failed) >= 20, failed


def answers(fake, connection):
    """A host that has a block of CONTENT, and goes when the block is closed.  It sends frames to
    who wants them."""
    if not (hello := connection.until(wire.HELLO)):
        return
    offered = struct.unpack("<IHHII", hello[3])[2]
    transport = next(kind for kind in (BARE, TRANSPORT, 1) if offered & kind)
    connection.send(wire.HELLO, 0, wire.hello_body(transports=transport, credits=32))
    frames = Frames(connection, transport)
    while message := connection.receive():
        kind, _, id_, body = message
        if kind == wire.OPEN:
            connection.send(wire.OPENED, id_, wire.opened_body(len(CONTENT), GENSTAMP))
        elif kind == wire.STAT:
            connection.send(wire.STATED, id_, wire.opened_body(len(CONTENT), GENSTAMP, handle=0))
        elif kind == wire.READ:
            _, length, offset = struct.unpack("<IIQ", body)
            data = CONTENT[offset : offset + length]
            if transport != 1:
                frames.send(id_, data)
            else:
                connection.send(wire.DATA, id_, data)
        elif kind == wire.CLOSE:
            connection.tls.shutdown(socket.SHUT_RDWR)


@pytest.mark.thorough
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_each_call_of_an_asking_host(start_daemon, authority, fake_peer, image, calls, transport):
    with fake_peer(answers) as fake:
        extra = authority.host("a", answer_timeout=60_000)
        extra += peer(
            "b",
            address=fake.address,
            storages="dn-there/DS-there",
            protection=PROTECTION[transport],
        )
        daemon = start_daemon(extra=extra, allow="*", wrapper=calls.wrapper, program=VREADD)

        def ask():
            """True: all bytes came."""
            with (
                contextlib.suppress(OSError, Gone, Refused),
                daemon.front(pool_pages=512, timeout=PATIENCE) as front,
            ):
                opened = front.open(7, GENSTAMP, POOL, ["DS-there"])
                if opened.status < 0:
                    return False
                front.stat(opened.handle)
                data = front.read(opened.handle, 0, len(CONTENT))
                front.close_handle(opened.handle)
                assert data == CONTENT
                return True

        failed = each_call_while(ask, daemon, image, calls)
    assert len(failed) >= 20, failed
