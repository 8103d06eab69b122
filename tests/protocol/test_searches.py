# SPDX-License-Identifier: GPL-2.0-or-later
"""Searches for blocks wait for a slow parser.  A user who searches without end, over as many
connections as it may have, fills the queue of its own; a neighbour's searches wait and succeed."""

import errno

import pytest

from tests.support.daemon import STORAGE, open_block, second_datanode
from tests.support.hdfs_dir import POOL
from tests.support.localfront import (
    OPEN,
    PAGE,
    STAT,
    LocalFront,
    open_data,
    open_part,
    request,
)
from tests.support.slowing import stopped
from tests.support.users import as_user, needs_root
from tests.support.waiting import eventually

pytestmark = needs_root
BOTH = [STORAGE, "DS-2"]  # two datanodes are asked beside each other
STRANGER = 64000  # a user id
HANDS = 4  # requests of one queue that may wait at a time
CONNECTIONS = 20
RUNNING, WAITING = 4, 64  # searches of a user at one datanode
ABSENT = 4711  # no block


@pytest.fixture
def daemon(tmp_path, start_daemon, image):
    extra = second_datanode(tmp_path, image, lists_pools=False)
    layout = tmp_path / "second.json"
    layout.write_text(layout.read_text().replace("/dfs/data", "/dfs"))  # without blocks
    return start_daemon(allow="dn1 dn2", local="mode = 0666\n", extra=extra)


def connect_as(user, daemon):
    with as_user(user, daemon.socket) as path:
        return LocalFront(path)


def begin_open(front, block_id, genstamp, n):
    """Asks for the block: request n, with the n-th page."""
    data = open_data(POOL, BOTH)
    front.pool[n * PAGE : n * PAGE + len(data)] = data
    part = open_part(block_id, genstamp, len(data))
    front.queues[0].push(request(OPEN, n, n, 1, part=part))


def search(front):
    """Searches as often as one connection can at a time, for blocks that are not there."""
    for n in range(HANDS):
        begin_open(front, ABSENT + n, 1001, n)


def answers(fronts):
    return [r.status for front in fronts for r in front.queues[0].take()]


def parser_of(daemon, datanode):
    (pid,) = [
        entry["parser"]["pid"]
        for entry in daemon.status()["datanodes"]
        if entry["datanode"] == datanode
    ]
    return pid


def test_a_user_who_searches_without_end(daemon, image):
    big = image.blocks[0]
    parser = parser_of(daemon, "dn1")
    strangers = [connect_as(STRANGER, daemon) for _ in range(CONNECTIONS)]
    too_many = CONNECTIONS * HANDS - RUNNING - WAITING
    with daemon.front() as neighbour:
        with stopped(parser):
            for front in strangers:
                search(front)
            refused = []

            def are_refused():
                refused.extend(answers(strangers))
                return len(refused) >= too_many

            eventually(are_refused, what="searches refused")
            assert refused == [-errno.EBUSY] * too_many
            # The neighbour's search waits, and another request of its queue shows that.
            begin_open(neighbour, big.id, big.genstamp, 0)
            neighbour.queues[0].push(request(STAT, 1, handle=999))
            (early,) = neighbour.responses(1)
            assert (early.operation, early.status) == (STAT, -errno.EBADF)
        (found,) = neighbour.responses(1)
        assert (found.operation, found.status) == (OPEN, 0)
        for front in strangers:
            front.close()
        before = daemon.threads()
        handle = open_block(neighbour, big)
        assert neighbour.read(handle, 0, PAGE) == image.contents[big.id][:PAGE]
        assert daemon.threads() <= before
