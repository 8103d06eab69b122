# SPDX-License-Identifier: GPL-2.0-or-later
"""A local connection with several rings: READs must be spread over them, and each ring must be
watched and checked."""

import ctypes
import errno
import os
import select

import pytest

from tests.libvread import vreadlib
from tests.libvread.backend import CLOSE, OPEN, READ, STAT, Backend
from tests.libvread.vreadlib import clock
from tests.libvread.waits import Call
from tests.support.waiting import eventually

CONTENT = bytes(range(251)) * 20_000  # 5 MB
KEY = (1, 2)


@pytest.fixture
def backend(endpoint):
    with Backend(endpoint, {KEY: CONTENT}) as b:
        yield b


@pytest.fixture
def connection(lib, backend):
    with vreadlib.Connection(lib, backend.path, queues=2) as c:
        yield c


def open_file(connection):
    return connection.open("BP-1", *KEY)


@pytest.mark.parametrize("queues", [1, 2, 3, 8])
def test_same_bytes_by_any_number(lib, vreadd, served, queues):
    block = served[1]["large"]
    content = block.content()
    with (
        vreadlib.Connection(lib, vreadd.endpoint, queues=queues) as connection,
        connection.open(block.pool, block.id, block.genstamp) as f,
    ):
        read = b""
        while chunk := f.read(1_000_000):
            read += chunk
        assert read == content
        assert f.pread(3_000_000, 12_345) == content[12_345:3_012_345]
        ranges = [(n * 600_000, 500_000) for n in range(10)]
        assert f.preadv(ranges) == (0, [content[o : o + n] for o, n in ranges])


def rings_of(backend):
    eventually(lambda: backend.channels)
    return len(backend.channels[0].rings)


@pytest.mark.parametrize("pool_kib", [0, 4096, 128])
def test_how_many_by_default(lib, backend, pool_kib):
    processors = os.sysconf("SC_NPROCESSORS_ONLN")
    with vreadlib.Connection(lib, backend.path, pool_bytes=pool_kib << 10, queues=0):
        assert rings_of(backend) == (1 if pool_kib == 128 else min(processors, 4))


def test_a_publisher_has_one(lib, backend):
    options = vreadlib.Options(
        endpoint=str(backend.path).encode(), timeout_ms=vreadlib.TIMEOUT, publisher=1
    )
    pointer = ctypes.c_void_p()
    pointers = (ctypes.byref(pointer), ctypes.byref(options))
    vreadlib.check(lib.vread_connect_sized(*pointers, ctypes.sizeof(options)))
    assert rings_of(backend) == 1
    lib.vread_disconnect(pointer)


def test_reads_are_spread_and_nothing_else(backend, connection):
    with open_file(connection) as f:
        assert f.pread(4_000_000, 0) == CONTENT[:4_000_000]
        f.update()
    eventually(lambda: backend.requests[-1].op == CLOSE)
    used = {op: {r.queue for r in backend.requests if r.op == op} for op in range(1, 5)}
    assert used == {OPEN: {0}, READ: {0, 1}, CLOSE: {0}, STAT: {0}}


def test_indexes_of_both_wrap(backend, connection):
    with open_file(connection) as f:
        for n in range(300):
            assert f.pread(140_000, n) == CONTENT[n : n + 140_000]  # makes two READs or more
    assert all(ring.produced > 256 for ring in backend.channels[0].rings)


def test_event_descriptor(backend, connection):
    with open_file(connection) as f:
        poll = select.poll()
        poll.register(connection.event_fd(), select.POLLIN)
        for _ in range(20):
            expected = {0: 1000, 5000: 2000, 9000: 3000}
            for offset, length in expected.items():
                f.submit(offset, length)
            while expected:
                assert poll.poll(120_000), "an answer came without an event"
                for completion in connection.reap(timeout_ms=0):
                    assert completion.result == expected.pop(completion.offset)
                    connection.release(completion)


def swap_rings(held, channel, request):
    """Holds two requests, one of each ring, and answers each on the other ring."""
    held.append(request)
    if {r.queue for r in held} == {0, 1}:
        for r in held:
            channel.respond(r, r.length, queue=1 - r.queue)


def only_on_the_other(_, channel, request):
    channel.respond(request, request.length, queue=1 - request.queue)


@pytest.mark.parametrize(("answer", "length"), [(swap_rings, 200_000), (only_on_the_other, 100)])
def test_answer_on_the_wrong_ring(backend, connection, answer, length):
    held = []
    with open_file(connection) as f:
        backend.on_request = lambda channel, request: answer(held, channel, request)
        with pytest.raises(OSError) as error:
            f.pread(length, 0)
        assert error.value.errno == errno.ENOTCONN
        assert not connection.connected()


def test_a_ring_that_is_not_served(lib, backend):
    """The backend ignores one ring.  A read that uses it must time out, and not wait longer."""
    ignored = []
    with vreadlib.Connection(lib, backend.path, queues=2) as c, open_file(c) as f:
        backend.on_request = lambda channel, request: (
            ignored.append(request) if request.queue else backend.answer(channel, request)
        )
        call = Call(lambda: f.pread(1_000_000, 0))
        eventually(lambda: ignored)
        assert call.goes_on()
        clock.advance(vreadlib.TIMEOUT / 1000)
        assert call.error() == errno.ETIME


@pytest.mark.parametrize("descriptors", [4, 5, 8])
def test_descriptors_of_another_number(lib, backend, descriptors):
    def welcome(channel, hello):
        payload, fds = backend.welcome(channel, hello)
        return payload, (fds + fds)[:descriptors]

    backend.make_welcome = welcome
    with pytest.raises(OSError) as error:
        vreadlib.Connection(lib, backend.path, queues=2)
    assert error.value.errno == errno.EPROTO


def test_too_many_are_refused_here(lib, backend):
    with pytest.raises(OSError) as error:
        vreadlib.Connection(lib, backend.path, queues=9)
    assert error.value.errno == errno.EINVAL
    assert not backend.channels
