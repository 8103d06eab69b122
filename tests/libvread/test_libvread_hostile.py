# SPDX-License-Identifier: GPL-2.0-or-later
"""A hostile backend: libvread must end the connection or the call, and never crash.

Also tests of the requests that libvread sends to a correct backend: which, when and how many.
"""

import errno
import os
import select
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.libvread import vreadlib
from tests.libvread.backend import (
    CLOSE,
    KEYS,
    MAGIC,
    OPEN,
    PAGE,
    READ,
    RSP_PROD,
    WELCOME,
    Backend,
    sealed_memfd,
)
from tests.libvread.vreadlib import clock
from tests.libvread.waits import Call
from tests.support.block_token import Key
from tests.support.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
CHUNK = 512 << 10  # the length at which the library splits READs
CONTENT = bytes(range(251)) * 20_000  # 5 MB
KEY = (1, 2)


@pytest.fixture
def backend(endpoint):
    with Backend(endpoint, {KEY: CONTENT}) as b:
        yield b


@pytest.fixture
def connection(lib, backend):
    with vreadlib.Connection(lib, backend.path) as c:
        yield c


def open_file(connection):
    return connection.open("BP-1", *KEY)


def reads(backend):
    return [(r.offset, r.length) for r in backend.requests if r.op == READ]


def expect(number, call):
    with pytest.raises(OSError) as error:
        call()
    assert error.value.errno == number


def has_hung_up(channel):
    poll = select.poll()
    poll.register(channel.sock, select.POLLRDHUP)
    return bool(poll.poll(0))


# ---- the ring ----------------------------------------------------------------


def wrong_id(channel, request):
    channel.respond(request, 100, id=request.id + 1)


def id_outside(channel, request):
    channel.respond(request, 100, id=65535)


def wrong_operation(channel, request):
    channel.respond(request, 100, op=OPEN)


def operation_zero(channel, request):
    channel.respond(request, 100, op=0)


def answered_twice(channel, request):
    channel.respond(request, request.length)
    channel.respond(request, request.length)


def producer_ahead(channel, request):
    channel.put(RSP_PROD, channel.produced + 2)
    channel.notify()


def producer_far_ahead(channel, request):
    channel.put(RSP_PROD, 0x80000000)
    channel.notify()


def producer_behind(channel, request):
    channel.put(RSP_PROD, channel.produced - 1)
    channel.notify()


def alive_byte_cleared(channel, request):
    channel.ring[16] = 0
    channel.notify()


def event_without_answer_then_hang_up(channel, request):
    channel.notify()
    channel.sock.shutdown(socket.SHUT_RDWR)


def data_on_the_socket(channel, request):
    channel.sock.send(b"unexpected")


@pytest.mark.parametrize(
    "answer",
    [
        wrong_id,
        id_outside,
        wrong_operation,
        operation_zero,
        producer_ahead,
        producer_far_ahead,
        producer_behind,
        alive_byte_cleared,
        event_without_answer_then_hang_up,
        data_on_the_socket,
    ],
)
def test_protocol_violation_ends_the_connection(lib, backend, connection, answer):
    """The backend hears of it when the program disconnects: it frees the pool then, and threads of
    the program may still copy bytes of earlier responses."""
    with open_file(connection) as f:
        (channel,) = backend.channels
        good, backend.on_request = backend.on_request, answer
        expect(errno.ENOTCONN, lambda: f.pread(1000, 0))
        expect(errno.ENOTCONN, lambda: f.read(10))
        expect(errno.ENOTCONN, lambda: open_file(connection))
        assert not connection.connected()
        assert answer is event_without_answer_then_hang_up or not has_hung_up(channel)
    connection.close()
    eventually(lambda: not backend.channels)  # the backend sees the closed socket
    backend.on_request = good
    with vreadlib.Connection(lib, backend.path) as c, open_file(c) as f:
        assert f.pread(1000, 0) == CONTENT[:1000]


def test_answered_twice(backend, connection):
    def some_calls():
        for _ in range(20):
            f.pread(1000, 0)  # may get only the first answer, which is good, or an earlier one

    with open_file(connection) as f:
        backend.on_request = answered_twice
        with pytest.raises(OSError) as error:
            some_calls()
    # Responses share the ring with requests.  The extra response may overwrite the second request
    # before the backend reads it; this request then gets the answer to another.
    assert error.value.errno in (errno.ENOTCONN, errno.EIO)


# ---- statuses and contents of answers ------------------------------------------


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (1001, errno.EIO),
        (2**31 - 1, errno.EIO),
        (999, errno.EIO),  # a short read that is not at the end of the block
        (0, errno.EIO),
        (-errno.EBADMSG, errno.EBADMSG),
        (-errno.EAGAIN, errno.EAGAIN),
        (-(2**31), errno.EIO),
        (-5000, errno.EIO),
    ],
)
def test_status_of_a_read(backend, connection, status, expected):
    with open_file(connection) as f:
        backend.on_request = lambda channel, request: channel.respond(request, status)
        expect(expected, lambda: f.pread(1000, 0))
        expect(expected, lambda: f.read(1000))
        f.submit(0, 1000)
        (completion,) = connection.reap()
        assert (completion.result, completion.data) == (-expected, None)
        connection.release(completion)
        assert connection.connected()


def test_one_bad_range_of_many(backend, connection):
    def answer(channel, request):
        if request.op == READ and request.offset < 100_000 < request.offset + request.length:
            channel.respond(request, -errno.EBADMSG)
        else:
            backend.answer(channel, request)

    with open_file(connection) as f:
        backend.on_request = answer
        status, results = f.preadv([(0, 1000), (99_000, 300_000), (4_000_000, 1000)])
        assert status == -errno.EBADMSG
        assert results == [CONTENT[:1000], -errno.EBADMSG, CONTENT[4_000_000:4_001_000]]


@pytest.mark.parametrize(
    ("override", "visible", "expected"),
    [
        ({"length": 99, "genstamp": 2}, 100, errno.ERANGE),
        ({"length": 2**63, "genstamp": 2}, 100, errno.EIO),
        ({"length": 100, "genstamp": 3}, 100, errno.EEXIST),
    ],
)
def test_open_that_finds_another_block(backend, connection, override, visible, expected):
    def answer(channel, request):
        if request.op == OPEN:
            channel.respond(request, 0, 5, **override)
        else:
            closed.append(request.handle)
            channel.respond(request, 0)

    closed = []
    backend.on_request = answer
    expect(expected, lambda: connection.open("BP-1", 1, 2, visible))
    eventually(lambda: closed == [5])


def test_update(backend, connection):
    with open_file(connection) as f:
        f.update()
        backend.blocks[KEY] += b"more"
        f.update()
        assert f.stat().length == len(CONTENT) + 4
        assert f.stat().visible_length == len(CONTENT)
        backend.blocks[KEY] = CONTENT[:-1]
        expect(errno.EAGAIN, f.update)
        del backend.blocks[KEY]
        expect(errno.EAGAIN, f.update)


# ---- the welcome ---------------------------------------------------------------


def good_welcome(channel, **change):
    fields = {
        "magic": MAGIC,
        "version": 1,
        "status": 0,
        "pages": len(channel.pool) // PAGE,
        "queues": 1,
        "order": 2,
    } | change
    return WELCOME.pack(*fields.values())


def all_fds(channel):
    return [channel.pool_fd, channel.ring_fd, *channel.events]


def short_memory(size):
    fd = os.memfd_create("short", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    return fd


WELCOMES = {
    "magic": lambda c: (good_welcome(c, magic=1), all_fds(c)),
    "version": lambda c: (good_welcome(c, version=2), all_fds(c)),
    "pages": lambda c: (good_welcome(c, pages=17), all_fds(c)),
    "queues": lambda c: (good_welcome(c, queues=2), all_fds(c)),
    "order": lambda c: (good_welcome(c, order=3), all_fds(c)),
    "positive status": lambda c: (good_welcome(c, status=5), all_fds(c)),
    "short": lambda c: (good_welcome(c)[:-1], all_fds(c)),
    "long": lambda c: (good_welcome(c) + b"x", all_fds(c)),
    "no descriptors": lambda c: (good_welcome(c), []),
    "one descriptor missing": lambda c: (good_welcome(c), all_fds(c)[:3]),
    "one descriptor more": lambda c: (good_welcome(c), [*all_fds(c), 0]),
    "many descriptors": lambda c: (good_welcome(c), all_fds(c) * 50),
    "pool too small": lambda c: (
        good_welcome(c),
        [sealed_memfd("p", len(c.pool) - PAGE), *all_fds(c)[1:]],
    ),
    "pool not sealed": lambda c: (good_welcome(c), [short_memory(len(c.pool)), *all_fds(c)[1:]]),
    "ring too small": lambda c: (
        good_welcome(c),
        [c.pool_fd, sealed_memfd("r", PAGE), *c.events],
    ),
    "pool is a file": lambda c: (
        good_welcome(c),
        [os.open(__file__, os.O_RDONLY), *all_fds(c)[1:]],
    ),
    "event is a pipe": lambda c: (good_welcome(c), [c.pool_fd, c.ring_fd, os.pipe()[1], 0]),
    "event is a socket": lambda c: (good_welcome(c), [c.pool_fd, c.ring_fd, c.sock.fileno(), 0]),
    "swapped": lambda c: (good_welcome(c), all_fds(c)[::-1]),
}


# Connects in a process of its own, in which nothing else opens or closes descriptors.
CONNECT = """
import os, sys
from tests.libvread import vreadlib
lib = vreadlib.load(sys.argv[1])
before = os.listdir("/proc/self/fd")
try:
    vreadlib.Connection(lib, sys.argv[2])
except OSError as error:
    print(error.errno, os.listdir("/proc/self/fd") == before)
"""


@pytest.mark.parametrize("name", WELCOMES)
def test_bad_welcome(lib, backend, name):
    """The connection must be refused, and the descriptors of the welcome closed."""
    backend.make_welcome = lambda channel, hello: WELCOMES[name](channel)
    command = [sys.executable, "-c", CONNECT, lib._name, backend.path]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{errno.EPROTO} True\n", "")


def test_ring_not_initialised(lib, backend):
    def welcome(channel, hello):
        channel.ring[16] = 0
        return backend.welcome(channel, hello)

    backend.make_welcome = welcome
    expect(errno.EPROTO, lambda: vreadlib.Connection(lib, backend.path))


@pytest.mark.parametrize("status", [errno.EACCES, errno.ENOMEM, errno.ENOSPC, errno.EINVAL])
def test_refused(lib, backend, status):
    backend.make_welcome = lambda c, hello: (good_welcome(c, status=-status), [])
    expect(status, lambda: vreadlib.Connection(lib, backend.path))


@pytest.mark.parametrize(
    ("pool_bytes", "asked"),
    [(0, [1024, 512, 256, 128, 64, 32]), (1 << 20, [256]), (64 << 10, [16])],
)
def test_pool_without_room(lib, backend, pool_bytes, asked):
    """The library asks for less only if the caller left the size to it, and never for less than a
    small share."""
    hellos = []

    def refuse(channel, hello):
        hellos.append(struct.unpack("<IIIHH4I", hello)[2])
        return good_welcome(channel, status=-errno.ENOSPC), []

    backend.make_welcome = refuse
    expect(errno.ENOSPC, lambda: vreadlib.Connection(lib, backend.path, pool_bytes=pool_bytes))
    assert hellos == asked


@pytest.mark.parametrize("free", [32, 100, 1024])
def test_default_pool_takes_what_is_there(lib, backend, free):
    hellos = []

    def welcome(channel, hello):
        hellos.append(struct.unpack("<IIIHH4I", hello)[2])
        if hellos[-1] > free:
            return good_welcome(channel, status=-errno.ENOSPC), []
        return backend.welcome(channel, hello)

    backend.make_welcome = welcome
    with vreadlib.Connection(lib, backend.path) as c, open_file(c) as f:
        assert f.read(len(CONTENT)) == CONTENT
    assert hellos[-1] == max(n for n in (1024, 512, 256, 128, 64, 32) if n <= free)


def test_closed_without_a_welcome(lib, backend):
    backend.make_welcome = lambda c, hello: (None, [])
    expect(errno.ENOTCONN, lambda: vreadlib.Connection(lib, backend.path))


def test_hello(lib, backend):
    hellos = []

    def welcome(channel, hello):
        hellos.append(hello)
        return backend.welcome(channel, hello)

    backend.make_welcome = welcome
    with vreadlib.Connection(lib, backend.path, pool_bytes=100_000):
        pass
    assert hellos == [struct.pack("<IIIHH4I", MAGIC, 1, 25, 1, 2, 0, 0, 0, 0)]


# ---- timeouts and late answers ---------------------------------------------------


class Held:
    """Holds back answers to one operation until let_go()."""

    def __init__(self, backend, operation):
        self.backend, self.operation = backend, operation
        self.requests = []
        backend.on_request = self.answer

    def answer(self, channel, request):
        if request.op == self.operation:
            self.requests.append((channel, request))
        else:
            self.backend.answer(channel, request)

    def expect_timeout(self, function, requests=1):
        """Runs a call that must make so many requests, and end when its timeout has passed."""
        before = len(self.requests)
        call = Call(function)
        eventually(lambda: len(self.requests) == before + requests)
        clock.advance(vreadlib.TIMEOUT / 1000)
        assert call.error() == errno.ETIME

    def let_go(self):
        self.backend.on_request = self.backend.answer
        for channel, request in self.requests:
            self.backend.answer(channel, request)


def waiting_for_room(function):
    call = Call(function)
    eventually(lambda: call.sleeps_in("poll"))
    return call


def test_late_open_is_closed(lib, backend):
    held = Held(backend, OPEN)
    with vreadlib.Connection(lib, backend.path) as c:
        held.expect_timeout(lambda: open_file(c))
        held.let_go()
        assert backend.open_handles
        with open_file(c) as f:
            assert f.pread(10, 0) == CONTENT[:10]
        eventually(lambda: not backend.open_handles)


def test_late_read_writes_where_nobody_looks(lib, backend):
    """A READ is given up.  Its pages must not be used again before its answer has come."""
    with vreadlib.Connection(lib, backend.path) as c, open_file(c) as f:
        held = Held(backend, READ)
        held.expect_timeout(lambda: f.pread(4 * CHUNK, 0), requests=4)
        late = {page for _, r in held.requests for page in range(r.page, r.page + r.pages)}
        backend.on_request = backend.answer
        first = len(backend.requests)
        for _ in range(5):
            assert f.pread(1 << 20, 100) == CONTENT[100 : 100 + (1 << 20)]
        for request in backend.requests[first:]:
            assert late.isdisjoint(range(request.page, request.page + request.pages))
        held.let_go()
        f.submit(0, 4 << 20)  # all pages are free once the answers have come
        (completion,) = c.reap()
        assert vreadlib.data(completion) == CONTENT[: 4 << 20]
        c.release(completion)


def test_slice_full_of_late_reads(lib, backend):
    """READs that were given up fill the slice.  Other READs must time out, and work again when the
    late answers have come."""
    with vreadlib.Connection(lib, backend.path, pool_bytes=64 << 10) as c, open_file(c) as f:
        held = Held(backend, READ)
        for _ in range(2):  # each call takes half of the slice
            held.expect_timeout(lambda: f.pread(64 << 10, 0), requests=2)
        for length in (64 << 10, 4096):
            call = waiting_for_room(lambda length=length: f.pread(length, 0))
            clock.advance(vreadlib.TIMEOUT / 1000)
            assert call.error() == errno.ETIME
        assert len(held.requests) == 4
        held.let_go()
        assert f.pread(200_000, 7) == CONTENT[7:200_007]


SECRET = b"sEcReT-of-BLOCKS"


def keys_in_the_pool(backend):
    return SECRET in bytes(backend.channels[0].pool)


@pytest.mark.parametrize("status", [0, -errno.EPERM])
def test_keys_are_wiped_after_the_answer(backend, connection, status):
    """A backend has the pool mapped for its whole life."""
    seen = []

    def answer(channel, request):
        seen.append(keys_in_the_pool(backend))
        channel.respond(request, status)

    backend.on_request = answer
    call = Call(lambda: connection.publish_keys("BP-1", "DS-1", [Key(1, SECRET)]))
    assert (call.error(), seen) == (-status, [True])
    assert not keys_in_the_pool(backend)


def test_keys_are_wiped_after_a_late_answer(lib, backend):
    with vreadlib.Connection(lib, backend.path) as c:
        held = Held(backend, KEYS)
        held.expect_timeout(lambda: c.publish_keys("BP-1", "DS-1", [Key(1, SECRET)]))
        assert keys_in_the_pool(backend), "the backend may be reading them"
        held.let_go()
        with open_file(c) as f:
            assert f.pread(10, 0) == CONTENT[:10]
        assert not keys_in_the_pool(backend)


def test_close_with_reads_in_flight(lib, backend):
    with vreadlib.Connection(lib, backend.path) as c:
        f = open_file(c)
        held = Held(backend, READ)
        for n in range(3):
            f.submit(n * 1000, 1000)
        f.close()
        eventually(lambda: len(held.requests) == 3)
        held.let_go()
        eventually(lambda: not backend.open_handles)
        assert c.reap(timeout_ms=0) == []  # their file is closed


def test_room_comes_while_a_reader_waits(lib, backend):
    """A reader waits for room.  vread_release() in another thread must wake it."""
    with vreadlib.Connection(lib, backend.path, pool_bytes=64 << 10) as c, open_file(c) as f:
        f.submit(0, 64 << 10)
        (completion,) = c.reap()
        data = []
        reader = waiting_for_room(lambda: data.append(f.pread(100, 9)))
        assert reads(backend) == [(0, 64 << 10)]
        c.release(completion)
        assert reader.error() == 0
        assert data == [CONTENT[9:109]]


# ---- what a backend sees ---------------------------------------------------------


def test_small_sequential_reads_are_few_requests(backend, connection):
    with open_file(connection) as f:
        while f.read(4096):
            pass
    asked = reads(backend)
    assert len(asked) < 40
    assert sum(length for _, length in asked) == len(CONTENT)
    assert asked[0] == (0, 65536)


def test_random_reads_fetch_only_what_is_asked(backend, connection):
    with open_file(connection) as f:
        for offset in (1_000_000, 50_000, 3_000_000):
            f.seek(offset)
            assert f.read(100) == CONTENT[offset : offset + 100]
            assert f.pread(100, offset + 5000) == CONTENT[offset + 5000 : offset + 5100]
    assert sum(length for _, length in reads(backend)) == 600


def test_read_ahead_can_be_switched_off(lib, backend):
    with vreadlib.Connection(lib, backend.path, readahead=1) as c, open_file(c) as f:
        for _ in range(10):
            f.read(1000)
    assert reads(backend) == [(n * 1000, 1000) for n in range(10)]


def test_reads_ahead_while_the_caller_computes(backend, connection):
    with open_file(connection) as f:
        for _ in range(8):
            f.read(4096)
        eventually(lambda: (1 << 20, CHUNK) in reads(backend))
        eventually(lambda: backend.channels[0].produced == len(backend.requests))
        # served from read-ahead: the backend need not answer any more
        backend.on_request = lambda channel, request: None
        for at in range(8 * 4096, 1 << 20, 4096):
            assert f.read(4096) == CONTENT[at : at + 4096]
        backend.on_request = backend.answer


def test_seeking_within_what_is_there_keeps_it(backend, connection):
    with open_file(connection) as f:
        f.read(4096)
        f.read(4096)
        count = len(reads(backend))
        f.seek(50_000)
        assert f.read(1000) == CONTENT[50_000:51_000]
        assert (50_000, 1000) not in reads(backend)[count:]


def test_a_long_pread_is_several_requests_in_flight(backend, connection):
    with open_file(connection) as f:
        held = Held(backend, READ)
        call = Call(lambda: f.pread(4 * CHUNK, 0))
        eventually(lambda: len(held.requests) == 4)
        held.let_go()
        assert call.error() == 0
    assert reads(backend) == [(n * CHUNK, CHUNK) for n in range(4)]


def test_vectored_ranges_are_in_flight_together(backend, connection):
    with open_file(connection) as f:
        held = Held(backend, READ)
        ranges = [(n * 100_000, 100) for n in range(10)]
        result = []
        call = Call(lambda: result.append(f.preadv(ranges)))
        eventually(lambda: len(held.requests) == 10)
        held.let_go()
        assert call.error() == 0
        assert result == [(0, [CONTENT[o : o + n] for o, n in ranges])]


def test_idle_read_ahead_gives_way(lib, backend):
    """Many files have read-ahead in the slice.  A READ that needs the slice must get it."""
    with vreadlib.Connection(lib, backend.path, pool_bytes=1 << 20) as c:
        files = [open_file(c) for _ in range(30)]
        for f in files:
            assert f.read(100) == CONTENT[:100]
        for f in files:
            assert f.read(100) == CONTENT[100:200]
        assert files[0].pread(1 << 20, 5) == CONTENT[5 : 5 + (1 << 20)]
        for f in files:
            f.close()


def test_more_files_than_slots(backend, connection):
    files = [open_file(connection) for _ in range(300)]
    for f in files:
        assert f.read(100) == CONTENT[:100]
    for f in files:
        f.close()
    eventually(lambda: drained(connection, backend))


def test_closed_handles_reach_a_slow_backend(lib, backend):
    """More files are closed than the ring has entries, while the backend answers nothing.  No CLOSE
    may be lost."""
    with vreadlib.Connection(lib, backend.path) as c:
        files = [open_file(c) for _ in range(200)]
        held = Held(backend, CLOSE)
        for f in files:
            f.close()
        assert len(backend.open_handles) == 200
        held.let_go()
        eventually(lambda: c.connected() and drained(c, backend))


def drained(connection, backend):
    connection.reap(timeout_ms=0)
    return not backend.open_handles


def test_requests_carry_zeroes_elsewhere(backend, connection):
    with open_file(connection) as f:
        f.pread(100, 5)
        f.update()
    eventually(lambda: backend.requests[-1].op == CLOSE)
    opened, read, stat, close = [r.raw for r in backend.requests]
    assert opened[3] == 0 and opened[12:16] == bytes(4) and opened[44:] == bytes(20)
    assert read[3] == 0 and read[28:] == bytes(36)
    for raw in (stat, close):
        assert raw[3:12] == bytes(9) and raw[16:] == bytes(48)


def test_ring_indexes_wrap(backend, connection):
    """1000 requests make the ring's indexes pass its size many times.  All bytes must be right."""
    with open_file(connection) as f:
        for n in range(1000):
            assert f.pread(10, n) == CONTENT[n : n + 10]
    assert backend.channels[0].produced > 1000
