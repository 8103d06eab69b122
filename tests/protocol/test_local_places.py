# SPDX-License-Identifier: GPL-2.0-or-later
"""What one user of this host may hold of the local port.  Users who take all that they get leave
places for the next user, whatever they do with their connections."""

import contextlib
import errno
import os
import socket

import pytest

from tests.support.daemon import STORAGE, Image, open_block, open_status, second_datanode
from tests.support.hanging_disk import HangingDisk
from tests.support.localfront import (
    READ,
    WELCOME,
    LocalFront,
    Refused,
    hello,
    read_part,
    request,
)
from tests.support.users import as_user, needs_root
from tests.support.waiting import eventually

pytestmark = needs_root
FOR_ALL = "mode = 0666\n"
HOGS = 1001, 1002, 1003
SOON = 60  # s, however busy the machine is


def front(daemon, uid, **arguments):
    with as_user(uid, daemon.socket) as path:
        return LocalFront(path, **arguments)


def take_all(daemon, stack, uid, **arguments):
    """Connects until that is refused.  Returns the number of connections, and the error."""
    count = 0
    while True:
        try:
            stack.enter_context(front(daemon, uid, **arguments))
        except Refused as refused:
            return count, refused.errno
        count += 1


def silent(daemon, uid):
    """A connection that says nothing."""
    with as_user(uid, daemon.socket) as path:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.connect(path)  # waits while the listener's queue is full
        sock.settimeout(SOON)
        return sock


def reads(connected, image):
    block = image.blocks[1]
    handle = open_block(connected, block)
    data = connected.read(handle, 0, 100)
    assert connected.close_handle(handle) == 0
    return data == image.contents[block.id][:100]


def states(daemon):
    return [device["state"] for device in daemon.status()["devices"]]


# ---- one user, and others ------------------------------------------------------------


def test_one_user_alone_uses_all_connections(start_daemon, image):
    daemon = start_daemon(local=FOR_ALL)
    with contextlib.ExitStack() as stack:
        assert take_all(daemon, stack, 1001, pool_pages=16) == (64, errno.ENOMEM)
        said = daemon.status()["ports"]["local"]["last_error"]
        assert "as many connections as max-connections allows" in said


def test_users_who_connect_as_often_as_they_can(start_daemon, image):
    daemon = start_daemon(local=FOR_ALL + "max-connections = 8\n")
    with contextlib.ExitStack() as first, contextlib.ExitStack() as others:
        assert take_all(daemon, first, HOGS[0]) == (8, errno.ENOMEM)
        assert take_all(daemon, others, HOGS[1]) == (4, errno.ENOMEM)
        assert take_all(daemon, others, HOGS[2]) == (2, errno.ENOMEM)
        with daemon.front() as neighbour:
            assert reads(neighbour, image)
        assert daemon.status()["ports"]["local"]["connections"] >= 14
        first.close()
        daemon.wait_until(lambda: states(daemon) == ["Connected"] * 6)
        assert take_all(daemon, others, HOGS[1]) == (3, errno.ENOMEM)  # 7 of 16, and 7 are free
    daemon.wait_until(lambda: not states(daemon))
    with contextlib.ExitStack() as again:
        assert take_all(daemon, again, HOGS[2]) == (8, errno.ENOMEM)


def test_users_who_take_all_pages(start_daemon, image):
    """31 pages of a pool, and one of a ring."""
    daemon = start_daemon(local=FOR_ALL + "max-total-pool-pages = 256\n")
    with contextlib.ExitStack() as stack:
        for uid, count in zip(HOGS, (8, 4, 2), strict=True):
            assert take_all(daemon, stack, uid, pool_pages=31) == (count, errno.ENOSPC)
        with daemon.front(pool_pages=31) as neighbour:
            assert reads(neighbour, image)
    daemon.wait_until(lambda: daemon.status()["ports"]["local"]["pages"] == 0)


def test_users_who_say_nothing(start_daemon, image):
    daemon = start_daemon(local=FOR_ALL)
    with contextlib.ExitStack() as stack:
        for uid in HOGS[:2]:
            for _ in range(70):
                stack.enter_context(silent(daemon, uid))
        daemon.wait_until(lambda: states(daemon) == ["Initialising"] * (64 + 32))
        refused = stack.enter_context(silent(daemon, HOGS[0]))
        assert WELCOME.unpack(refused.recv(WELCOME.size))[2] == -errno.ENOMEM
        assert refused.recv(1) == b""
        said = daemon.status()["ports"]["local"]["last_error"]
        assert "too many connections of this user wait for an answer" in said
        for uid in (0, HOGS[2]):
            with front(daemon, uid) as neighbour:
                assert reads(neighbour, image)
    daemon.wait_until(lambda: not states(daemon))
    with front(daemon, HOGS[0]) as again:
        assert reads(again, image)


# ---- what survives a reconnect -------------------------------------------------------


def test_connections_that_wait_for_a_disk_keep_their_places(start_daemon, tmp_path):
    image = Image(tmp_path)
    disk = HangingDisk(tmp_path, image)
    daemon = start_daemon(
        serving=image,
        local=FOR_ALL + "max-connections = 5\n",  # four, as there is a neighbour
        extra=second_datanode(tmp_path, image, lists_pools=False),
        allow="dn1 dn2",
        wrapper=disk.wrapper,
    )
    hog, block = HOGS[0], image.blocks[0]
    with daemon.front() as neighbour:
        fronts = [front(daemon, hog) for _ in range(4)]
        handles = [open_block(f, block) for f in fronts]
        disk.hang()
        for count, (hung, handle) in enumerate(zip(fronts, handles, strict=True), 1):
            part = read_part(0, 4096)
            hung.queues[0].push(request(READ, handle=handle, pool_pages=1, part=part))
            eventually(lambda n=count: disk.reads() >= n, SOON)
            hung.close()
        daemon.wait_until(lambda: states(daemon).count("Closing") == 4)
        threads = daemon.threads()
        for _ in range(10):
            with pytest.raises(Refused) as refused:
                front(daemon, hog)
            assert refused.value.errno == errno.ENOMEM
        assert daemon.threads() <= threads
        port = daemon.status()["ports"]["local"]
        assert (port["connections"], port["pages"]) == (5, 5 * 65)
        assert open_status(neighbour, block, storages=["DS-2"]) == 0
        gate = disk.answer()
        daemon.wait_until(lambda: states(daemon) == ["Connected"])
        os.close(gate)
        with front(daemon, hog) as again:
            assert open_status(again, block, storages=[STORAGE]) == 0


def test_connections_that_nobody_hangs_up_keep_their_places(start_daemon, image):
    """Programs break the protocol, and keep sockets and memory when vreadd has ended the
    connections."""
    daemon = start_daemon(local=FOR_ALL + "max-connections = 5\n")  # four, as there is a neighbour
    with daemon.front() as neighbour, contextlib.ExitStack() as kept:
        fronts = [kept.enter_context(front(daemon, HOGS[0])) for _ in range(4)]
        for broken in fronts:
            broken.queues[0].set_producer(5000)
            broken.queues[0].notify()
            assert broken.closed_within(SOON)
        for _ in range(10):
            with pytest.raises(Refused) as refused:
                front(daemon, HOGS[0])
            assert refused.value.errno == errno.ENOMEM
        port = daemon.status()["ports"]["local"]
        assert (port["connections"], port["pages"]) == (5, 5 * 65)
        assert reads(neighbour, image)
        fronts[0].close()
        daemon.wait_until(lambda: len(states(daemon)) == 4)
        with front(daemon, HOGS[0]) as again:
            assert reads(again, image)
        kept.close()
        daemon.wait_until(lambda: states(daemon) == ["Connected"])
        assert daemon.status()["ports"]["local"]["pages"] == 65


def break_the_protocol(daemon, uid):
    with front(daemon, uid) as broken:
        broken.queues[0].set_producer(5000)
        broken.queues[0].notify()
        assert broken.closed_within(SOON)


def test_who_breaks_the_protocol_again_and_again_waits(start_daemon, image):
    daemon = start_daemon(local=FOR_ALL)
    with front(daemon, HOGS[1]) as neighbour:
        for _ in range(60):
            break_the_protocol(daemon, HOGS[0])
        with pytest.raises(Refused) as refused:
            front(daemon, HOGS[0])
        assert refused.value.errno == errno.ENOMEM
        said = daemon.status()["ports"]["local"]["last_error"]
        assert "programs of this user break the protocol too often" in said
        assert reads(neighbour, image)
        with front(daemon, HOGS[1]) as another:
            assert reads(another, image)
        daemon.clock.advance(1)
        with front(daemon, HOGS[0]) as again:
            assert reads(again, image)


# ---- the log -------------------------------------------------------------------------


def lines(daemon, text):
    """The number of lines about connections, but those for debugging."""
    return sum(text in line and "debug: " not in line for line in daemon.log().splitlines())


def test_a_stranger_writes_few_lines(start_daemon, image):
    daemon = start_daemon(local=FOR_ALL)
    wrong = hello(order=9)

    def provoke(uid):
        with silent(daemon, uid) as sock:
            sock.send(wrong)
            assert WELCOME.unpack(sock.recv(WELCOME.size))[2] == -errno.EINVAL

    for _ in range(400):
        provoke(HOGS[0])
        front(daemon, HOGS[0]).close()
    assert 0 < lines(daemon, "local:") <= 20
    left_out = daemon.status()["log"]["left_out"]
    provoke(HOGS[1])
    assert lines(daemon, f"local:{HOGS[1]}/") == 1
    daemon.clock.advance(60)
    provoke(HOGS[0])
    line = f"{left_out} lines of local:{HOGS[0]} were left out: more than 1 a minute"
    assert line in daemon.log()
