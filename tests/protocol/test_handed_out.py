# SPDX-License-Identifier: GPL-2.0-or-later
"""What was handed out to a program at the local port counts against its user until it is back: the
pages of pools, and descriptors that the program does not take from its socket.  Until then it is
the program's: a thread may still copy the bytes of a response when vreadd ends the connection."""

import contextlib
import errno
import os
import pwd
import select
import shutil
import signal
import socket
import tempfile
from pathlib import Path

import pytest

from tests.support.clock import Clock
from tests.support.daemon import Image, open_block, open_status
from tests.support.hanging_disk import HangingDisk
from tests.support.localfront import PAGE, READ, WELCOME, LocalFront, hello, read_part, request
from tests.support.users import as_user, needs_root
from tests.support.waiting import eventually

SOON = 60  # s, however busy the machine is
FOR_ALL = "mode = 0666\n"
HOG = 1001
ANSWERS = 16  # that one user may leave unread


def blocks(front):
    """Allocated blocks of the pool and of the rings."""
    return [os.fstat(fd).st_blocks for fd in front.fds[:2]]


def reads(front, image):
    block = image.blocks[1]
    handle = open_block(front, block)
    assert front.read(handle, 0, 100) == image.contents[block.id][:100]
    assert front.close_handle(handle) == 0
    return True


def states(daemon):
    return [device["state"] for device in daemon.status()["devices"]]


def awaited(daemon):
    """Why connections that are over, and whose sessions have ended, are still there."""
    devices = daemon.status()["devices"]
    return [d["last_error"] for d in devices if d["state"] == "Closing" and "last_error" in d]


NOT_HUNG_UP = "its program has not hung up"
NOT_TAKEN = "its program has not taken the descriptors"


# ---- memory --------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["asan", "release"])
def test_bytes_of_a_response_stay_until_the_program_hangs_up(start_daemon, image, variant):
    """The connection breaks the protocol, and vreadd ends it."""
    daemon = start_daemon(variant=variant)
    block = image.blocks[1]
    with daemon.front() as front, daemon.front() as neighbour:
        handle = open_block(front, block)
        pages = daemon.status()["ports"]["local"]["pages"]
        assert front.read_response(handle, 0, PAGE).status == PAGE
        front.socket.send(b"data after the hello")
        assert front.closed_within(SOON)
        daemon.wait_until(lambda: awaited(daemon) == [NOT_HUNG_UP])
        assert bytes(front.pool[:PAGE]) == image.contents[block.id][:PAGE]
        assert daemon.status()["ports"]["local"]["pages"] == pages
        assert reads(neighbour, image)
        front.socket.shutdown(socket.SHUT_WR)
        daemon.wait_until(lambda: states(daemon) == ["Connected"])
        assert blocks(front) == [0, 0]
        assert daemon.status()["ports"]["local"]["pages"] == pages / 2


def test_bytes_of_a_response_stay_when_vreadd_ends(start_daemon, tmp_path):
    """A thread of the program notices the end and hangs up, while another still copies."""
    image = Image(tmp_path)
    disk = HangingDisk(tmp_path, image)
    daemon = start_daemon(serving=image, wrapper=disk.wrapper)
    block = image.blocks[0]
    with daemon.front() as front:
        handle = open_block(front, block)
        assert front.read_response(handle, 0, PAGE).status == PAGE
        disk.hang()
        part = read_part(1 << 20, PAGE)
        front.queues[0].push(
            request(READ, handle=handle, pool_page=1, pool_pages=1, part=part),
        )
        eventually(disk.reads, SOON)
        daemon.process.send_signal(signal.SIGTERM)
        assert front.closed_within(SOON)
        front.socket.shutdown(socket.SHUT_WR)
        os.close(disk.answer())
        assert daemon.process.wait(SOON) == 0
        assert bytes(front.pool[:PAGE]) == image.contents[block.id][:PAGE]


@pytest.mark.parametrize("variant", ["asan", "release"])
def test_pools_that_are_kept_after_the_end(start_daemon, image, variant):
    """A program keeps descriptors and mappings of connections that are over."""
    daemon = start_daemon(variant=variant)
    with contextlib.ExitStack() as kept, daemon.front(pool_pages=1100) as neighbour:
        before = daemon.status()["ports"]["local"]["pages"]
        for _ in range(10):
            front = kept.enter_context(daemon.front(pool_pages=1024, queues=2))
            front.pool[:] = bytes(len(front.pool))
            assert all(blocks(front))
            front.socket.close()
            daemon.wait_until(lambda: daemon.status()["ports"]["local"]["pages"] == before)
            assert blocks(front) == [0, 0]
            front.pool[:PAGE] = b"x" * PAGE  # of its own
            assert blocks(front) == [PAGE // 512, 0]
        assert reads(neighbour, image)


def test_a_read_that_ends_after_its_program(start_daemon, tmp_path):
    """vreadd may still write to the pool: the pages are freed when the disk has answered."""
    image = Image(tmp_path)
    disk = HangingDisk(tmp_path, image)
    daemon = start_daemon(serving=image, wrapper=disk.wrapper)
    with daemon.front(pool_pages=64) as front:
        handle = open_block(front, image.blocks[0])
        disk.hang()
        front.queues[0].push(request(READ, handle=handle, pool_pages=1, part=read_part(0, PAGE)))
        eventually(disk.reads, SOON)
        front.socket.close()
        daemon.wait_until(lambda: states(daemon) == ["Closing"])
        gate = disk.answer()
        daemon.wait_until(lambda: not states(daemon))
        os.close(gate)
        assert blocks(front) == [0, 0]
    assert daemon.status()["ports"]["local"]["pages"] == 0


# ---- descriptors ---------------------------------------------------------------------


def knock(path, stack, queues=8):
    """Sends a hello, and does not read the answer."""
    sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    sock.connect(str(path))  # waits while the listener's queue is full
    sock.settimeout(SOON)
    sock.send(hello(pool_pages=16, queues=queues))
    return sock


def has_answer(sock):
    return bool(select.select([sock], [], [], 0)[0])


@pytest.fixture
def hog(start_daemon):
    """A daemon, and 64 connections of a user who has sent 64 hellos and read nothing."""
    daemon = start_daemon(local=FOR_ALL)
    with contextlib.ExitStack() as stack:
        with as_user(HOG, daemon.socket) as path:
            sockets = [knock(path, stack) for _ in range(64)]
        daemon.wait_until(
            lambda: len(states(daemon)) == 64 and states(daemon).count("Connected") >= ANSWERS
        )
        yield daemon, sockets


@needs_root
def test_answers_that_nobody_reads(hog, image):
    daemon, sockets = hog
    with daemon.front() as neighbour:
        assert reads(neighbour, image)
        assert sum(map(has_answer, sockets)) == ANSWERS
        daemon.clock.advance(5.1)
        daemon.wait_until(lambda: states(daemon).count("Initialising") == 0)
        answers = [WELCOME.unpack(sock.recv(WELCOME.size))[2] for sock in sockets]
        assert sorted(answers) == [-errno.ENOMEM] * (64 - ANSWERS) + [0] * ANSWERS
        said = daemon.status()["ports"]["local"]["last_error"]
        assert "programs of this user do not read their answers" in said
        assert reads(neighbour, image)


@needs_root
@pytest.mark.parametrize("how", [socket.SHUT_WR, socket.SHUT_RDWR, None])
def test_answers_that_nobody_reads_of_connections_that_are_over(hog, image, how):
    """The user ends its connections and keeps the sockets, so their descriptors stay on the way."""
    daemon, sockets = hog
    answered = [sock for sock in sockets if has_answer(sock)]
    for sock in answered:
        if how is None:
            sock.send(b"data after the hello")
        else:
            sock.shutdown(how)
    daemon.wait_until(lambda: awaited(daemon) == [NOT_TAKEN] * ANSWERS)
    with daemon.front() as neighbour:
        assert reads(neighbour, image)
        assert len(answered) == ANSWERS
        waiting = [sock for sock in sockets if sock not in answered]
        assert not any(map(has_answer, waiting))
        assert daemon.status()["ports"]["local"]["unread"] == ANSWERS
        # Taken, or dropped with the socket: the next ones are answered.
        answered[0].recv(1)
        answered[1].close()
        daemon.wait_until(lambda: sum(map(has_answer, waiting)) == 2)
    for sock in sockets:
        sock.close()
    daemon.wait_until(lambda: not states(daemon))
    with as_user(HOG, daemon.socket) as path, LocalFront(path) as again:
        assert reads(again, image)


@needs_root
def test_answers_that_are_only_looked_at(hog, image):
    """MSG_PEEK takes nothing from the socket."""
    daemon, sockets = hog
    for sock in filter(has_answer, sockets):
        assert WELCOME.unpack(sock.recv(WELCOME.size, socket.MSG_PEEK))[2] == 0
    with daemon.front() as neighbour:
        assert reads(neighbour, image)
    assert sum(map(has_answer, sockets)) == ANSWERS


@needs_root
def test_programs_of_one_user_that_start_at_once(hog, image):
    """Later hellos wait until earlier answers are read. Each is answered."""
    daemon, sockets = hog
    answers = [WELCOME.unpack(sock.recv(WELCOME.size)) for sock in sockets]
    assert [answer[2] for answer in answers] == [0] * 64
    assert states(daemon) == ["Connected"] * 64
    with daemon.front() as neighbour:
        assert reads(neighbour, image)


# ---- the host's descriptors ----------------------------------------------------------

USER = "nobody"
MAX_FDS = 1024  # of vreadd; and so many descriptors of its user may be on their way


@pytest.fixture
def folder():
    """For the sockets of a vreadd that root starts and that becomes the user."""
    path = Path(tempfile.mkdtemp(prefix="vread-user-"))
    account = pwd.getpwnam(USER)
    os.chown(path, account.pw_uid, account.pw_gid)
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@needs_root
def test_descriptors_of_one_user_stop_no_look_into_images(start_daemon, tmp_path, folder):
    """vread-opener passes images to vreadd as the same user of this host."""
    image = Image(tmp_path)
    image.data_dirs = ["/dfs/data"]
    daemon = start_daemon(
        folder=folder,
        serving=image,
        local=FOR_ALL,
        extra=f"[vreadd]\nuser = {USER}\n",
        clock=Clock(folder / "clock"),
        max_fds=MAX_FDS,
    )
    block = image.blocks[0]
    with contextlib.ExitStack() as stack, daemon.front() as neighbour:
        with as_user(HOG, daemon.socket) as path:
            for _ in range(120):
                with contextlib.suppress(ConnectionError):
                    knock(path, stack).send(b"and ends it")
        daemon.wait_until(lambda: awaited(daemon) == [NOT_TAKEN] * ANSWERS)
        for _ in range(3):
            daemon.look()
            assert open_status(neighbour, block) == 0
        assert daemon.status()["datanodes"][0]["state"] == "served"
    daemon.wait_until(lambda: not states(daemon))
