# SPDX-License-Identifier: GPL-2.0-or-later
"""One queue with reads that wait for a disk: the other requests of the queue do not wait.

The disk of dn1 hangs when a test says so.  dn2 has the same blocks on another disk.
"""

import errno
import os

import pytest

from tests.support.daemon import Daemon, Image, open_block, second_datanode
from tests.support.hanging_disk import HangingDisk
from tests.support.hdfs_dir import POOL
from tests.support.localfront import PAGE, READ, read_part, request
from tests.support.waiting import eventually

HANDS = 4  # of one queue
SPARE_HANDS = 8  # of one device
STEP = 100_000  # between the places that are read


@pytest.fixture
def image(tmp_path):
    return Image(tmp_path)


@pytest.fixture
def disk(tmp_path, image):
    return HangingDisk(tmp_path, image)


@pytest.fixture
def daemon(tmp_path, image, disk, clock):
    extra = second_datanode(tmp_path, image, lists_pools=False)
    running = Daemon(
        tmp_path, image, wrapper=disk.wrapper, extra=extra, clock=clock, allow="dn1 dn2"
    )
    try:
        yield running
        assert running.stop() == 0, running.log()
    finally:
        running.kill()


def open_there(front, block):
    """Opens the block on dn2, whose disk does not hang."""
    response = front.open(block.id, block.genstamp, POOL, ["DS-2"])
    assert response.status == 0
    return response.handle


def begin_read(front, handle, n, queue=0):
    """Asks for a page of the block: number n of this test."""
    ids = front.queues[queue].entries
    part = read_part(n * STEP, PAGE)
    front.queues[queue].push(
        request(READ, ids - 1 - n, pool_page=1 + n, pool_pages=1, handle=handle, part=part)
    )


def check_read(front, response, content, queue=0):
    """Returns the number of the read, whose bytes must be right."""
    n = front.queues[queue].entries - 1 - response.id
    assert (response.operation, response.status) == (READ, PAGE)
    assert bytes(front.pool[(1 + n) * PAGE : (2 + n) * PAGE]) == content[n * STEP : n * STEP + PAGE]
    return n


def hang_reads(front, disk, handle, count):
    """Begins reads one by one, each of which hangs."""
    for n in range(count):
        begin_read(front, handle, n)
        eventually(lambda n=n: disk.reads() == n + 1, what=f"read {n} waits for the disk")


def test_a_read_that_hangs_delays_no_other_request(daemon, image, disk, block):
    content = image.contents[block.id]
    with daemon.front() as front:
        there, here = open_there(front, block), open_block(front, block)
        disk.hang()
        hang_reads(front, disk, here, 1)
        assert front.read(there, 5 * STEP, PAGE) == content[5 * STEP : 5 * STEP + PAGE]
        assert front.close_handle(here) == 0  # the read holds its block until it ends
        assert front.stat(here).status == -errno.EBADF
        assert front.read(there, 0, PAGE) == content[:PAGE]
        os.close(disk.answer())
        (response,) = front.responses(1)
        assert check_read(front, response, content) == 0
        eventually(
            lambda: daemon.status()["devices"][0]["counters"]["open_handles"] == 1,
            what="the other block alone is open",
        )


def let_one_end(front, disk):
    """Lets one read after the other through until a request is answered.  Returns the responses:
    that one, and what the queue answered next."""
    answers = []
    while not answers:
        reads = disk.reads()
        disk.let_pass()
        eventually(
            lambda reads=reads: answers.extend(front.queues[0].take())
            or answers
            or disk.reads() > reads,
            what="the read that was let through",
        )
    return answers


def test_a_queue_whose_hands_all_hang_goes_on_with_the_first_that_comes_back(
    daemon, image, disk, block
):
    content = image.contents[block.id]
    with daemon.front() as front:
        there, here = open_there(front, block), open_block(front, block)
        disk.hang()
        hang_reads(front, disk, here, HANDS)
        begin_read(front, there, HANDS)  # nobody is left to serve it
        assert front.queues[0].take() == []
        answers = let_one_end(front, disk)
        if len(answers) == 1:
            answers += front.responses(1)
        first, second = [check_read(front, answer, content) for answer in answers]
        assert first < HANDS
        assert second == HANDS
        assert front.read(there, 0, PAGE) == content[:PAGE]
        os.close(disk.answer())
        rest = {check_read(front, r, content) for r in front.responses(HANDS - 1)}
        assert rest == set(range(HANDS)) - {first}


def test_a_device_has_a_bounded_number_of_hands(daemon, image, disk, block):
    """Two queues take all that one queue may have.  The third gets the rest."""
    content = image.contents[block.id]
    with daemon.front(queues=3) as front:
        here = open_block(front, block)
        disk.hang()
        threads = daemon.threads()
        hang_reads(front, disk, here, HANDS)
        assert daemon.threads() <= threads + HANDS - 1  # the OPEN may have added one
        for queue in (1, 2):
            for n in range(HANDS):
                begin_read(front, here, HANDS * queue + n, queue)
        hanging = 3 + SPARE_HANDS
        eventually(lambda: disk.reads() == hanging, what="all hands wait")
        assert threads < daemon.threads() <= threads + SPARE_HANDS
        os.close(disk.answer())
        for queue in range(3):
            numbers = {check_read(front, r, content, queue) for r in front.responses(HANDS, queue)}
            assert numbers == set(range(HANDS * queue, HANDS * (queue + 1)))


def test_a_client_hangs_up_while_its_reads_hang(daemon, image, disk, block):
    threads = daemon.threads()
    with daemon.front() as front:
        here = open_block(front, block)
        disk.hang()
        hang_reads(front, disk, here, HANDS - 1)
    eventually(lambda: daemon.status()["devices"][0]["state"] == "Closing", what="it closes")
    with daemon.front() as other:
        there = open_there(other, block)
        assert other.read(there, 0, PAGE) == image.contents[block.id][:PAGE]
        states = sorted(device["state"] for device in daemon.status()["devices"])
        assert states == ["Closing", "Connected"]
    gate = disk.answer()
    eventually(lambda: not daemon.status()["devices"], what="the device is closed")
    os.close(gate)
    eventually(lambda: daemon.threads() == threads, what="its threads end")


def test_bytes_in_memory_wake_nobody(daemon, image, block):
    content = image.contents[block.id]
    with daemon.front() as front:
        there = open_there(front, block)
        front.read(there, 0, PAGE)
        threads = daemon.threads()
        for n in range(50):
            assert front.read(there, n * PAGE, PAGE) == content[n * PAGE : (n + 1) * PAGE]
        assert daemon.threads() == threads
