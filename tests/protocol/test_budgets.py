# SPDX-License-Identifier: GPL-2.0-or-later
"""What one guest or peer may take of the host: beyond its budget only that party gets errors, and
the status says so."""

import errno

import pytest

from tests.support.daemon import open_block
from tests.support.hdfs_dir import POOL
from tests.support.localfront import Refused

LEAST_MEMORY = "[vreadd]\nhandle-memory = 8M\n"
MOST_HANDLES = 4096


def open_all(front, block):
    """Opens the block until that is refused.  Returns the handles and the response."""
    handles = []
    while len(handles) <= MOST_HANDLES:
        response = front.open(block.id, block.genstamp, POOL)
        if response.status:
            return handles, response
        handles.append(response.handle)
    pytest.fail("no open was refused")


def test_memory_of_handles_is_each_devices_own(start_daemon, image):
    daemon = start_daemon(local=LEAST_MEMORY)
    block = image.blocks[1]
    with daemon.front() as greedy, daemon.front() as other:
        handles, refused = open_all(greedy, block)
        assert refused.status == -errno.EMFILE
        assert 100 < len(handles) < MOST_HANDLES
        by_handles = {d["counters"]["open_handles"]: d for d in daemon.status()["devices"]}
        counters = by_handles[len(handles)]["counters"]
        assert counters["handle_bytes_most"] == 8 << 20
        assert counters["handle_bytes"] <= 8 << 20
        assert counters["handle_bytes_refused"] == 1
        assert counters["errors"] == {"EMFILE": 1}
        assert greedy.read(handles[0], 0, 100) == image.contents[block.id][:100]

        handle = open_block(other, block)
        assert other.read(handle, 0, 100) == image.contents[block.id][:100]

        greedy.close_handle(handles[7])
        open_block(greedy, block)
        assert greedy.open(block.id, block.genstamp, POOL).status == -errno.EMFILE
        for handle in handles[8:]:
            greedy.close_handle(handle)
        assert daemon.status()["devices"][0]["counters"]["handle_bytes"] < 1 << 20


def test_connects_of_a_user_are_limited(start_daemon, image):
    daemon = start_daemon()
    block = image.blocks[1]

    def connect():
        with daemon.front() as front:
            return front.welcome[2]

    with daemon.front() as early:
        handle = open_block(early, block)
        assert {connect() for _ in range(999)} == {0}
        with pytest.raises(Refused) as refused:
            connect()
        assert refused.value.errno == errno.ENOMEM
        port = daemon.status()["ports"]["local"]
        assert "refused: this user connects too often" in port["last_error"]
        assert (port["refused"], port["too_often"]) == (1, 1)
        assert early.read(handle, 0, 100) == image.contents[block.id][:100]
        daemon.clock.advance(0.01)
        assert connect() == 0
