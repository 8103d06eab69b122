# SPDX-License-Identifier: GPL-2.0-or-later
"""Frontends that break the protocol: each loses its own connection and harms nobody else."""

import array
import contextlib
import errno
import fcntl
import itertools
import multiprocessing
import os
import random
import select
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.support import localfront
from tests.support.daemon import STORAGE, cpu_seconds, open_block
from tests.support.hdfs_dir import POOL
from tests.support.localfront import PAGE, READ, STAT, hello, read_part, request

SOON = 60  # s, however busy the machine is
ROUNDS = 1500
STORM = 500_000  # events
SYS_WRITE = "1"  # the number of the system call write(2)


@pytest.fixture(scope="module")
def neighbour(daemon):
    """A frontend that connected earlier; its reads must go on whatever the others do."""
    with daemon.front() as front:
        yield front


@pytest.fixture(autouse=True)
def the_neighbour_reads_on(neighbour, image):
    handle = open_block(neighbour, image.blocks[0])
    yield
    assert neighbour.read(handle, 4321, 8765) == image.contents[image.blocks[0].id][4321:13086]
    assert neighbour.close_handle(handle) == 0


# ---- hello ---------------------------------------------------------------------

BAD_HELLOS = [
    ("wrong magic", hello(magic=0x12345678), errno.EINVAL),
    ("version 0", hello(version=0), errno.EPROTO),
    ("version 2", hello(version=2), errno.EPROTO),
    ("15 pool pages", hello(pool_pages=15), errno.EINVAL),
    ("no pool", hello(pool_pages=0), errno.EINVAL),
    ("32769 pool pages", hello(pool_pages=32769), errno.EINVAL),
    ("2^32-1 pool pages", hello(pool_pages=2**32 - 1), errno.EINVAL),
    ("no queue", hello(queues=0), errno.EINVAL),
    ("9 queues", hello(queues=9), errno.EINVAL),
    ("65535 queues", hello(queues=65535), errno.EINVAL),
    ("ring of order 5", hello(order=5), errno.EINVAL),
    ("ring of order 65535", hello(order=65535), errno.EINVAL),
    ("reserved", hello(reserved=(0, 0, 0, 1)), errno.EINVAL),
    ("too short", hello()[:-1], errno.EINVAL),
    ("one byte", b"x", errno.EINVAL),
    ("too long", hello() + b"\0", errno.EINVAL),
    ("64 KiB", hello() + bytes(65536), errno.EINVAL),
]


@pytest.mark.parametrize("message,expected", [pytest.param(m, e, id=n) for n, m, e in BAD_HELLOS])
def test_bad_hello(daemon, message, expected):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(SOON)
        s.connect(str(daemon.socket))
        s.send(message)
        answer, ancillary, _, _ = s.recvmsg(100, socket.CMSG_LEN(64))
        assert len(answer) == localfront.WELCOME.size and not ancillary
        assert localfront.WELCOME.unpack(answer)[2] == -expected
        assert s.recv(1) == b""


def test_descriptors_sent_with_a_hello_are_not_kept(daemon):
    before = daemon.fds()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(SOON)
        s.connect(str(daemon.socket))
        rights = array.array("i", [0] * 50)
        s.sendmsg([hello(version=9)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        s.recv(100)
    daemon.wait_until(lambda: daemon.fds() <= before)  # more may have been counted


def refusals(daemon):
    return daemon.status()["ports"]["local"]["refused"]


def test_no_hello_at_all(daemon):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(str(daemon.socket))
        s.setblocking(False)

        def closed():
            with contextlib.suppress(BlockingIOError):
                return s.recv(1) == b""

        before, refused = daemon.clock.ms, refusals(daemon)
        daemon.clock.until(closed, step=0.5)
        assert daemon.clock.ms - before >= 5000
        assert refusals(daemon) == refused + 1


def test_data_after_the_hello(daemon):
    with daemon.front() as front:
        front.socket.send(b"more")
        assert front.closed_within(SOON)


# ---- ring -------------------------------------------------------------------------


def assert_closed_without_an_answer(daemon, front, reason):
    assert front.closed_within(SOON)
    assert front.queues[0].take() == []
    said = daemon.status()["ports"]["local"]["last_error"]
    assert f"protocol error: {reason}" in said


@pytest.mark.parametrize("produced", [33, 1000, 2**31, 2**32 - 1])
def test_producer_index_beyond_the_ring(daemon, produced):
    with daemon.front() as front:
        front.queues[0].set_producer(produced)
        front.queues[0].notify()
        assert_closed_without_an_answer(daemon, front, "request producer index beyond the ring")


def test_producer_index_taken_back(daemon):
    with daemon.front() as front:
        front.call(99)
        front.queues[0].set_producer(0)
        front.queues[0].notify()
        assert_closed_without_an_answer(daemon, front, "request producer index beyond the ring")


@pytest.mark.parametrize("bad", [32, 33, 4096, 65535])
def test_id_beyond_the_ring(daemon, bad):
    with daemon.front() as front:
        front.queues[0].push(request(STAT, 0), request(STAT, bad))
        assert_closed_without_an_answer(daemon, front, "request id beyond the ring")


def test_id_twice_in_one_batch(daemon):
    with daemon.front() as front:
        front.queues[0].push(request(STAT, 5), request(STAT, 6), request(STAT, 5))
        assert_closed_without_an_answer(daemon, front, "request id used again before its response")


def test_all_ids_of_the_largest_ring(daemon):
    with daemon.front(order=4) as front:
        count = front.queues[0].entries
        assert count == 512
        front.queues[0].push(*[request(STAT, i, handle=77) for i in range(count)])
        responses = front.responses(count)
        assert {r.id for r in responses} == set(range(count))
        assert {r.status for r in responses} == {-errno.EBADF}


def test_one_broken_queue_silences_the_others(daemon):
    with daemon.front(queues=2) as front:
        name = front_name(daemon, front)
        front.queues[1].push(request(STAT, 40))
        assert front.closed_within(SOON)
        front.queues[0].push(request(STAT, 0))
        # When this is logged, the workers of the frontend have ended.
        daemon.wait_until(lambda: f"{name}: disconnected" in daemon.log(), SOON)
        assert front.queues[0].take() == []


def flip(memory, slots, seed):
    """Rewrites all bytes of the ring's entries except the ids, for ever.  Responses are rewritten,
    too, so a test can check only their ids."""
    random_source = random.Random(seed)
    entry, header = localfront.ENTRY, localfront.RING_HEADER
    while True:
        raw = random_source.randbytes(4096)
        for i in range(4000):
            slot = header + (i % slots) * entry
            memory[slot + 2 + i % 62] = raw[i] & 7


def test_requests_rewritten_while_handled(daemon, image):
    block = image.blocks[0]
    with daemon.front(pool_pages=64) as front:
        q = front.queues[0]
        handle = open_block(front, block)
        part = read_part(0, 8 * PAGE)
        flipper = multiprocessing.get_context("fork").Process(
            target=flip, args=(q.memory, q.entries, 1)
        )
        flipper.start()
        try:
            for _ in range(ROUNDS):
                q.push(
                    *[
                        request(READ, i, pool_page=8, pool_pages=8, handle=handle, part=part)
                        for i in range(q.entries)
                    ]
                )
                responses = front.responses(q.entries)
                assert sorted(r.id for r in responses) == list(range(q.entries))
        finally:
            flipper.kill()
            flipper.join()
        # A rewritten READ may have become a CLOSE.
        handle = open_block(front, block)
        assert front.read(handle, 0, 100) == image.contents[block.id][:100]


@pytest.mark.thorough
def test_pool_rewritten_while_an_open_reads_it(daemon, image):
    block = image.blocks[0]
    good = localfront.open_data(POOL, [STORAGE])
    with daemon.front() as front:
        stop = threading.Event()

        def scribble():
            source = random.Random(7)
            while not stop.is_set():
                front.pool[source.randrange(len(good))] = source.randrange(256)
                front.pool[: len(good)] = good

        thread = threading.Thread(target=scribble)
        thread.start()
        try:
            seen = set()
            for _ in range(2000):
                part = localfront.open_part(block.id, block.genstamp, len(good))
                response = front.call(localfront.OPEN, pool_pages=1, part=part)
                seen.add(response.status)
                if response.status == 0:
                    assert front.close_handle(response.handle) == 0
        finally:
            stop.set()
            thread.join()
        assert seen <= {0, -errno.EINVAL, -errno.ENODEV}


# ---- events -------------------------------------------------------------------------


def test_event_storm(daemon):
    """Events without requests are slowed down; requests among the events are still answered."""
    with daemon.front() as front:
        stop, enough = threading.Event(), threading.Event()
        own_cpu = []

        def storm():
            for n in itertools.count():
                if stop.is_set():
                    return
                if n == STORM:
                    own_cpu.append(time.thread_time())
                    enough.set()
                front.queues[0].notify()

        thread = threading.Thread(target=storm)
        before = cpu_seconds(daemon)
        thread.start()
        try:
            assert enough.wait(SOON)
            # A daemon that handled each event would use about as much CPU time as the storm.
            used = cpu_seconds(daemon) - before
            assert used < own_cpu[0] / 4
            assert front.stat(1).status == -errno.EBADF
        finally:
            stop.set()
            thread.join()


def is_writing(daemon):
    """True if one of the daemon's threads waits in write(2)."""
    for task in Path(f"/proc/{daemon.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if (task / "syscall").read_text().split()[0] == SYS_WRITE:
                return True
    return False


def test_notification_made_to_block(daemon):
    """The frontend makes a descriptor blocking and fills its counter: only its worker waits."""
    front = daemon.front()
    fd = front.queues[0].response_fd
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    os.eventfd_write(fd, 2**64 - 2)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
    front.queues[0].push(request(STAT, 0))
    name = front_name(daemon, front)
    daemon.wait_until(lambda: is_writing(daemon), SOON)
    front.close()
    daemon.wait_until(lambda: f"{name}: disconnected" in daemon.log(), SOON)


def test_request_event_drained_by_the_frontend(daemon):
    """The daemon never waits for a read of a descriptor that it shares with a frontend."""
    with daemon.front() as front:
        fd = front.queues[0].request_fd
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NONBLOCK)
        front.queues[0].put(request(STAT, 0))
        front.queues[0].set_producer(1)
        front.queues[0].notify()
        os.eventfd_read(fd)
        name = front_name(daemon, front)
    daemon.wait_until(lambda: f"{name}: disconnected" in daemon.log(), SOON)


def front_name(daemon, front):
    devices = [d for d in daemon.status()["devices"] if d["pid"] == os.getpid()]
    return max((d["name"] for d in devices), key=lambda name: int(name.split("/")[1]))


# ---- death ----------------------------------------------------------------------------


def read_for_ever(path, block_id, genstamp, ready):
    front = localfront.LocalFront(path, pool_pages=1100)
    handle = front.open(block_id, genstamp, POOL).handle
    q = front.queues[0]
    while True:
        part = read_part(0, 4 << 20)
        q.push(
            *[request(READ, i, pool_pages=1024, handle=handle, part=part) for i in range(q.entries)]
        )
        ready.set()
        select.select([q.response_fd], [], [], 1)
        front.responses(q.entries)


def test_client_killed_in_mid_read(daemon, image):
    block = image.blocks[0]
    context = multiprocessing.get_context("fork")
    # One device: the neighbour.  A device that the status does not list has closed its files.
    daemon.wait_until(lambda: len(daemon.status()["devices"]) == 1)
    fds, threads = daemon.fds(), daemon.threads()
    for _ in range(5):
        ready = context.Event()
        client = context.Process(
            target=read_for_ever, args=(daemon.socket, block.id, block.genstamp, ready)
        )
        client.start()
        assert ready.wait(SOON)
        os.kill(client.pid, signal.SIGKILL)
        client.join()
    daemon.wait_until(lambda: daemon.fds() <= fds and daemon.threads() <= threads, SOON)
    assert len(daemon.status()["devices"]) == 1  # the neighbour


def test_hang_up_with_requests_on_the_ring(daemon, image):
    block = image.blocks[0]
    for _ in range(20):
        front = daemon.front(pool_pages=1100, queues=2)
        handle = open_block(front, block)
        for q in front.queues:
            part = read_part(0, 1 << 20)
            q.push(*[request(READ, i, 0, 256, handle, part) for i in range(q.entries)])
        front.close()
    daemon.wait_until(lambda: len(daemon.status()["devices"]) == 1, SOON)
