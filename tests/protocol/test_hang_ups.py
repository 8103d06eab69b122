# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that hang up while a parser or a disk that their worker waits for hangs.

The time stands still in these tests (tests/support/clock.py).  So if vreadd waited for the worker,
for the parser or for the disk with a time limit, it would wait for ever, and the test would fail.
The other clients, the status, a reload and the end of vreadd must not wait.
"""

import errno
import json
import os
import signal

import pytest

from tests.support.clock import Clock
from tests.support.daemon import (
    STORAGE,
    Daemon,
    Image,
    open_block,
    open_status,
    second_datanode,
    vreadd_with_parser,
)
from tests.support.hanging_disk import HangingDisk
from tests.support.hdfs_dir import POOL
from tests.support.localfront import OPEN, READ, open_data, open_part, read_part, request
from tests.support.reloading import changed
from tests.support.sockets import has_unread
from tests.support.waiting import eventually
from tools.vreadd import stop_process

PAGES = 64  # of a pool
PARSER_CHANNELS = 4
MORE_HANDS = 3  # than one, of a queue


@pytest.fixture
def image(tmp_path):
    return Image(tmp_path)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


@pytest.fixture
def disk(tmp_path, image):
    return HangingDisk(tmp_path, image)


def parser_of(daemon):
    return daemon.status()["datanodes"][0]["parser"]


def devices(daemon):
    """The states of all devices by name."""
    return {device["name"]: device["state"] for device in daemon.status()["devices"]}


def push_open(front, block, storages=(STORAGE,)):
    data = open_data(POOL, storages)
    front.pool[: len(data)] = data
    part = open_part(block.id, block.genstamp, len(data))
    front.queues[0].push(request(OPEN, pool_pages=1, part=part))


def hang_up_while_reading(daemon, disk, block):
    """A client begins to read and hangs up.  Returns the name of its device."""
    with daemon.front() as front:
        handle = open_block(front, block)
        (name,) = devices(daemon)
        disk.hang()
        front.queues[0].push(request(READ, handle=handle, pool_pages=1, part=read_part(0, 4096)))
        eventually(disk.reads, what="the worker's read")
    return name


@pytest.mark.parametrize("variant", ["asan", "release"])
def test_disk_hangs(tmp_path, image, clock, disk, variant):
    """Until the disk answers, the client's device is there and uses its pages.  Others do not
    wait."""
    block = image.blocks[0]
    daemon = Daemon(
        tmp_path,
        image,
        variant=variant,
        wrapper=disk.wrapper,
        extra=second_datanode(tmp_path, image),
        clock=clock,
        allow="dn1 dn2",
    )
    try:
        threads = daemon.threads()
        name = hang_up_while_reading(daemon, disk, block)
        eventually(lambda: devices(daemon) == {name: "Closing"}, what="the device closes")
        pages = daemon.status()["ports"]["local"]["pages"]
        assert pages > PAGES
        with daemon.front() as other:
            assert open_status(other, block, storages=["DS-2"]) == 0
            assert sorted(devices(daemon).values()) == ["Closing", "Connected"]
            assert json.loads(daemon.ask(b'{"command": "reload"}\n'))["result"] == "applied"
        eventually(lambda: devices(daemon) == {name: "Closing"}, what="the other one is closed")
        clock.advance(10.1)
        daemon.wait_until(lambda: "closing it takes more than 10 s" in daemon.log())
        gate = disk.answer()
        eventually(lambda: not devices(daemon), what="the device is closed")
        os.close(gate)
        assert daemon.status()["ports"]["local"]["pages"] == 0
        eventually(lambda: daemon.threads() == threads, what="its threads end")
        with daemon.front() as front:
            data = front.read(open_block(front, block), 0, 4096)
        assert data == image.contents[block.id][:4096]
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_vreadd_stops_while_a_disk_hangs(tmp_path, image, clock, disk):
    daemon = Daemon(tmp_path, image, wrapper=disk.wrapper, clock=clock)
    try:
        hang_up_while_reading(daemon, disk, image.blocks[0])
        daemon.process.send_signal(signal.SIGTERM)
        daemon.wait_until(lambda: "stopping" in daemon.log())
        clock.until(lambda: daemon.process.poll() is not None, step=1, what="vreadd's end")
        assert daemon.process.returncode == 0
        assert "stopping takes more than 10 s" in daemon.log()
        assert not daemon.socket.exists()
        assert not daemon.control.exists()
    finally:
        daemon.kill()


def test_parser_hangs(tmp_path, image, clock):
    block = image.blocks[0]
    daemon = Daemon(tmp_path, image, clock=clock)
    try:
        parser = parser_of(daemon)["pid"]
        stop_process(parser)
        with daemon.front() as front:
            push_open(front, block)
            eventually(lambda: has_unread(parser), what="the worker's question")
        with daemon.front() as other:
            clock.advance(10.1)
            why = "it did not answer in time"
            daemon.wait_until(lambda: parser_of(daemon).get("last-end") == why)
            assert open_status(other, block) == 0
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_a_parser_that_hangs_delays_no_block_of_another_datanode(tmp_path, image, clock):
    """Datanodes are asked beside each other, and the first replica wins."""
    block = image.blocks[0]
    extra = second_datanode(tmp_path, image)
    daemon = Daemon(tmp_path, image, extra=extra, clock=clock, allow="dn1 dn2")
    try:
        parser = parser_of(daemon)["pid"]  # of dn1
        stop_process(parser)
        with daemon.front() as first, daemon.front() as second:
            push_open(first, block)
            eventually(lambda: has_unread(parser), what="the first worker's question")
            assert open_status(second, block, storages=[STORAGE, "DS-2"]) == 0
            assert open_status(second, block, storages=["DS-2"]) == 0
            assert "did not answer in time" not in daemon.log()
            clock.advance(10.1)
            assert first.responses(1)[0].status == -errno.EBUSY
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_a_parser_that_hangs_costs_a_bounded_number_of_threads(tmp_path, image, clock):
    """Questions that its threads have no time for are not asked.  They are forgotten when the
    datanode is removed.  A client that names the hanging datanode alone waits for it."""
    block = image.blocks[0]
    extra = second_datanode(tmp_path, image)
    daemon = Daemon(tmp_path, image, extra=extra, clock=clock, allow="dn1 dn2")
    try:
        with daemon.front() as waiting, daemon.front() as front:
            parser = parser_of(daemon)["pid"]
            stop_process(parser)
            push_open(waiting, block)
            eventually(lambda: has_unread(parser), what="the first question")
            threads = daemon.threads()
            for _ in range(100):
                assert open_status(front, block, storages=[STORAGE, "DS-2"]) == 0
            assert daemon.threads() <= threads + 2 * (PARSER_CHANNELS + MORE_HANDS)
            text = daemon.config.read_text()
            first, second = text.index("[datanode dn1]"), text.index("[datanode dn2]")
            daemon.config.write_text(text[:first] + text[second:])
            changed(daemon, "[datanode dn1]: removed")
            assert waiting.responses(1)[0].status == -errno.EBUSY
            assert open_status(front, block) == -errno.ENODEV
            assert open_status(front, block, storages=["DS-2"]) == 0
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def start_with_a_silent_parser(folder, image, clock):
    """Starts vreadd with two datanodes.  The parser that is started first is silent."""
    turn = folder / "turn"  # who removes it is silent
    turn.mkdir()
    script = f"rmdir {turn} 2>&- && exec sleep 3600\nexec $REAL"
    program = vreadd_with_parser(folder / "programs", script)
    return Daemon(
        folder,
        image,
        extra=second_datanode(folder, image),
        clock=clock,
        allow="dn1 dn2",
        program=program,
        looked=False,
    )


def datanode_states(daemon):
    return {dn["datanode"]: dn["state"] for dn in daemon.status()["datanodes"]}


def await_one_served(daemon):
    """Returns the name of the one datanode that is served."""
    daemon.wait_until(lambda: sorted(datanode_states(daemon).values()) == ["looking", "served"])
    (name,) = [name for name, state in datanode_states(daemon).items() if state == "served"]
    return name


def test_a_parser_that_is_silent_from_the_start(tmp_path, image, clock):
    """Readiness, the other datanode and the end of vreadd do not wait for the first look."""
    recorded = Daemon(tmp_path, image, extra=second_datanode(tmp_path, image))
    assert recorded.stop() == 0  # it is known whose the storages are
    daemon = start_with_a_silent_parser(tmp_path, image, clock)
    try:
        storage = STORAGE if await_one_served(daemon) == "dn1" else "DS-2"
        with daemon.front() as front:
            assert open_status(front, image.blocks[0], storages=[storage]) == 0
        assert daemon.stop() == 0
        assert "stopping takes" not in daemon.log()
    finally:
        daemon.kill()


def test_an_open_that_waits_for_the_first_look_delays_no_other_request(tmp_path, image, clock):
    recorded = Daemon(tmp_path, image, extra=second_datanode(tmp_path, image))
    assert recorded.stop() == 0  # it is known whose the storages are
    daemon = start_with_a_silent_parser(tmp_path, image, clock)
    try:
        unseen = "DS-2" if await_one_served(daemon) == "dn1" else STORAGE
        with daemon.front() as front:
            push_open(front, image.blocks[0], storages=[unseen])
            front.next_id = 1  # of the OPEN is 0
            assert front.stat(12345).status == -errno.EBADF
            assert front.queues[0].take() == []
            clock.advance(3)
            (response,) = front.responses(1)
            assert (response.operation, response.status) == (OPEN, -errno.ENODEV)
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_a_new_storage_waits_for_its_rivals(tmp_path, image, clock):
    """A storage that nobody has shown before may be another datanode's, which was not looked into
    yet.  It is served when that look takes more than 10 s."""
    daemon = start_with_a_silent_parser(tmp_path, image, clock)
    try:
        start = clock.ms
        clock.until(lambda: "served" in datanode_states(daemon).values(), step=0.5)
        assert clock.ms >= start + 10_000
        assert daemon.stop() == 0
    finally:
        daemon.kill()
