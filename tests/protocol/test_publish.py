# SPDX-License-Identifier: GPL-2.0-or-later
"""PUBLISH: a block that a datanode withdraws is not answered until it is finalized again."""

import errno
import time

import pytest

from tests.support.daemon import PUBLISHER, STORAGE, open_block, open_status, second_datanode
from tests.support.hdfs_dir import POOL
from tests.support.localfront import (
    APPEND,
    DELETE,
    FINALIZED,
    PAGE,
    PUBLISH,
    READ,
    TRUNCATE,
    open_data,
    publish_part,
    read_part,
    request,
)

LOCAL = PUBLISHER  # of `daemon`
WITHDRAWING = [APPEND, TRUNCATE, DELETE]
MOST = 32768  # limit of withdrawals of a datanode


@pytest.fixture
def front(daemon, image):
    with daemon.front(pool_pages=1100, queues=2) as connected:
        yield connected
        for block in image.blocks:
            assert publish(connected, FINALIZED, block, 10**6) == 0


def publish(front, event, block, more=0, **arguments):
    """Publishes the event for the block, with its generation stamp plus more."""
    return front.publish(event, block.id, block.genstamp + more, POOL, STORAGE, **arguments)


def read_status(front, handle):
    return front.read_response(handle, 0, 100).status


@pytest.mark.parametrize("event", WITHDRAWING)
def test_a_withdrawn_block_is_neither_read_nor_opened(front, block, event):
    handle = open_block(front, block)
    assert read_status(front, handle) == 100
    assert publish(front, event, block) == 0
    assert read_status(front, handle) == -errno.EAGAIN
    assert front.read_response(handle, 10**9, 100).status == -errno.EAGAIN
    assert front.stat(handle).status == -errno.EAGAIN
    assert open_status(front, block) == -errno.ENOENT
    assert front.close_handle(handle) == 0


@pytest.mark.parametrize("event", WITHDRAWING)
def test_finalized_brings_it_back(front, image, block, event):
    handle = open_block(front, block)
    assert publish(front, event, block) == 0
    for _ in range(2):
        assert publish(front, FINALIZED, block) == 0
        assert front.read(handle, 0, 100) == image.contents[block.id][:100]
        assert front.stat(handle).status == 0
        assert open_status(front, block) == 0
    front.close_handle(handle)


def test_stamps_are_compared(front, block):
    handle = open_block(front, block)
    assert publish(front, APPEND, block, -1) == 0
    assert read_status(front, handle) == 100, "an older replica was withdrawn"
    assert publish(front, APPEND, block, 5) == 0
    assert read_status(front, handle) == -errno.EAGAIN
    assert publish(front, APPEND, block, 2) == 0
    assert publish(front, FINALIZED, block, 4) == 0
    assert read_status(front, handle) == -errno.EAGAIN, "stamp + 5 is still withdrawn"
    assert publish(front, FINALIZED, block, 5) == 0
    assert read_status(front, handle) == 100
    front.close_handle(handle)


def test_only_that_block(front, image):
    first, second = image.blocks[:2]
    assert publish(front, DELETE, first) == 0
    assert open_status(front, first) == -errno.ENOENT
    assert open_status(front, second) == 0
    assert front.publish(DELETE, second.id, second.genstamp, "BP-other", STORAGE) == 0
    assert open_status(front, second) == 0, "a block of that number in another pool"


def test_every_device_is_concerned(daemon, front, block):
    with daemon.front() as other:
        handle = open_block(other, block)
        assert publish(front, DELETE, block) == 0
        assert read_status(other, handle) == -errno.EAGAIN
        assert open_status(other, block) == -errno.ENOENT


def test_a_denied_open_leaves_no_handle(daemon, front, block):
    assert publish(front, DELETE, block) == 0
    for _ in range(5000):
        assert open_status(front, block) == -errno.ENOENT
    assert publish(front, FINALIZED, block) == 0
    assert open_status(front, block) == 0


def test_counters(start_daemon, image):
    daemon = start_daemon(local=PUBLISHER)
    first, second = image.blocks[:2]
    with daemon.front() as front:
        for event in (FINALIZED, FINALIZED, APPEND, TRUNCATE, DELETE, DELETE):
            assert publish(front, event, first) == 0
        assert publish(front, DELETE, second) == 0
        assert front.publish(9, 1, 1, POOL, STORAGE) == -errno.EINVAL
        (datanode,) = daemon.status()["datanodes"]
        assert datanode["published"] == {
            "finalized": 2, "append": 1, "truncate": 1, "delete": 3, "withdrawn": 2,
        }  # fmt: skip
        assert publish(front, FINALIZED, first) == 0
        (datanode,) = daemon.status()["datanodes"]
        assert datanode["published"]["withdrawn"] == 1
        (device,) = daemon.status()["devices"]
        assert device["counters"]["published"] == 8


def test_the_table_is_bounded_and_the_oldest_go(start_daemon, image):
    daemon = start_daemon(local=PUBLISHER)
    first, second, _ = image.blocks
    with daemon.front(order=2) as front:
        assert publish(front, DELETE, first) == 0
        assert publish(front, DELETE, second) == 0
        for number in range(MOST - 2):
            assert front.publish(DELETE, -number - 1, 1, POOL, STORAGE) == 0
        assert open_status(front, first) == -errno.ENOENT
        assert publish(front, DELETE, first) == 0, "which makes it the newest"
        assert front.publish(DELETE, 7, 1, POOL, STORAGE) == 0
        assert open_status(front, second) == 0, "the oldest was forgotten"
        assert open_status(front, first) == -errno.ENOENT
        (datanode,) = daemon.status()["datanodes"]
        assert datanode["published"]["withdrawn"] == MOST


def test_a_restart_forgets(start_daemon, image, block):
    daemon = start_daemon(local=PUBLISHER)
    with daemon.front() as front:
        assert publish(front, DELETE, block) == 0
    assert daemon.stop() == 0
    daemon = start_daemon(folder=daemon.folder, local=PUBLISHER)
    with daemon.front() as front:
        assert open_status(front, block) == 0


# ---- who may ---------------------------------------------------------------------


def test_a_client_may_not(start_daemon, block):
    with start_daemon().front() as front:
        assert publish(front, DELETE, block) == -errno.EOPNOTSUPP
        assert open_status(front, block) == 0


def test_the_storage_of_another_datanode(start_daemon, tmp_path, image, block):
    daemon = start_daemon(local=PUBLISHER, extra=second_datanode(tmp_path, image))
    with daemon.front() as front:
        event = DELETE, block.id, block.genstamp, POOL
        assert front.publish(*event, "DS-2") == -errno.EACCES
        assert front.publish(*event, "DS-3") == -errno.ENODEV
        assert front.publish(*event, STORAGE) == 0
        counters = {d["datanode"]: d["published"]["delete"] for d in daemon.status()["datanodes"]}
        assert counters == {"dn1": 1, "dn2": 0}


def test_of_two_that_show_one_storage_only_its_own(start_daemon, image, block):
    second = f"[datanode dn2]\nimage = {image.path}\nlayout = {image.layout}\n"
    extra = f"storages = {STORAGE}\n{second}"
    daemon = start_daemon(local=PUBLISHER, extra=extra)
    with daemon.front() as front:
        assert publish(front, DELETE, block) == 0
        counters = {d["datanode"]: d["published"]["delete"] for d in daemon.status()["datanodes"]}
        assert counters == {"dn1": 1, "dn2": 0}


def test_another_pool_than_allowed(start_daemon, image, block):
    daemon = start_daemon(local=PUBLISHER + "allow-pools = BP-other\n")
    with daemon.front() as front:
        assert publish(front, DELETE, block) == -errno.EACCES


# ---- malformed -------------------------------------------------------------------


def bad_data():
    good = open_data(POOL, [STORAGE])
    yield "two storages", open_data(POOL, [STORAGE, "DS-2"])
    yield "the same storage twice", open_data(POOL, [STORAGE, STORAGE])
    yield "no storage", open_data(POOL)
    yield "a token", open_data(POOL, [STORAGE], b"t")
    yield "a flag of OPEN", open_data(POOL, [STORAGE], flags=1)
    yield "bytes behind the end", good + b"\0"
    yield "cut short", good[:-1]
    yield "no pool", open_data("", [STORAGE])
    yield "a pool with a slash", open_data("BP/1", [STORAGE])
    yield "zeroes", bytes(64)


@pytest.mark.parametrize("data", [pytest.param(d, id=name) for name, d in bad_data()])
def test_bad_data(front, block, data):
    response = front.publish_raw(data, DELETE, block.id, block.genstamp)
    assert response.status == -errno.EINVAL
    assert open_status(front, block) == 0


GOOD = open_data(POOL, [STORAGE])
LENGTH = len(GOOD)


def part(block, length=LENGTH, event=DELETE, reserved=(0, 0, 0, 0)):
    return publish_part(block.id, block.genstamp, length, event, reserved=reserved)


@pytest.mark.parametrize(
    "arguments,fields",
    [
        pytest.param({"event": 0}, {}, id="event 0"),
        pytest.param({"event": 5}, {}, id="event 5"),
        pytest.param({"event": 2**32 - 1}, {}, id="event -1"),
        pytest.param({"length": 0}, {}, id="length 0"),
        pytest.param({"length": 7}, {}, id="length 7"),
        pytest.param({"length": PAGE + 1}, {}, id="length beyond its pages"),
        pytest.param({"length": 16385}, {"pool_pages": 5}, id="length 16385"),
        pytest.param({"length": 2**32 - 1}, {}, id="length 4 GiB - 1"),
        pytest.param({"reserved": (0, 0, 0, 1)}, {}, id="reserved"),
        pytest.param({}, {"reserved": 1}, id="reserved byte"),
        pytest.param({}, {"handle": 1}, id="a handle"),
        pytest.param({}, {"pool_pages": 0}, id="no pages"),
        pytest.param({}, {"pool_page": 1100}, id="a page behind the pool"),
        pytest.param({}, {"pool_page": 2**32 - 1, "pool_pages": 2}, id="pages overflow"),
    ],
)
def test_malformed_requests(front, block, arguments, fields):
    front.pool[:LENGTH] = GOOD
    fields = {"pool_pages": 1, "part": part(block, **arguments)} | fields
    assert front.call(PUBLISH, **fields).status == -errno.EINVAL
    assert open_status(front, block) == 0


def test_an_answer_is_zeroed(front, block):
    front.pool[:LENGTH] = GOOD
    response = front.call(PUBLISH, pool_pages=1, part=part(block))
    assert (response.status, response.handle, response.flags) == (0, 0, 0)
    assert response.u == bytes(16)
    denied = front.open(block.id, block.genstamp, POOL, [STORAGE])
    assert (denied.handle, denied.flags, denied.u) == (0, 0, bytes(16))


# ---- the moment ------------------------------------------------------------------

ROUNDS = 200  # at least ...
MEETINGS = 50  # ... and PUBLISH must come between two READs in so many
PAGES = 65  # of a READ, so that PUBLISH often comes during its I/O


def read_requests(handle, count):
    part = read_part(0, PAGES * PAGE)
    for number in range(count):
        yield request(
            READ, request_id=number, handle=handle, pool_page=1, pool_pages=PAGES, part=part
        )


def test_no_success_follows_the_answer(daemon, image):
    """Watches the rings directly.  Once PUBLISH is answered on one ring, every READ of the block
    that is answered later on the other ring fails, also if its I/O had begun."""
    block = image.blocks[0]
    data = open_data(POOL, [STORAGE])
    met = rounds = 0
    with daemon.front(pool_pages=100, queues=2) as front:
        readers, publisher = front.queues
        front.pool[:LENGTH] = data
        event = publish_part(block.id, block.genstamp, LENGTH, APPEND)
        handle = open_block(front, block)
        deadline = time.monotonic() + 300
        while rounds < ROUNDS or met < MEETINGS:
            assert time.monotonic() < deadline, f"the two met {met} times in {rounds} rounds"
            first = readers.words[2]
            readers.push(*read_requests(handle, readers.entries))
            while readers.words[2] - first < rounds % 8:
                pass
            answered = publisher.words[2]
            publisher.push(request(PUBLISH, pool_pages=1, part=event))
            while publisher.words[2] == answered:
                pass
            before = readers.words[2] - first  # READs answered by now, before or after PUBLISH
            statuses = [r.status for r in front.responses(readers.entries)]
            assert set(statuses[before:]) <= {-errno.EAGAIN}, (rounds, before, statuses)
            assert len(front.responses(1, queue=1)) == 1
            assert publish(front, FINALIZED, block, queue=1) == 0
            assert set(statuses) <= {PAGES * PAGE, -errno.EAGAIN}
            met += len(set(statuses)) == 2
            rounds += 1
