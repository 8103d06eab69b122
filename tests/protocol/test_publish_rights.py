# SPDX-License-Identifier: GPL-2.0-or-later
"""Publishing on the local port is a right of the users in publish-uids, not of every reader."""

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.block_token import Key
from tests.support.daemon import PUBLISHER, STORAGE, open_block, open_status
from tests.support.hdfs_dir import POOL
from tests.support.localfront import DELETE, FINALIZED
from tests.support.reloading import changed

READER = 65534
KEY = Key(1234567)
EACCES = -errno.EACCES


@pytest.fixture
def folder():
    """A folder in which every user finds the socket."""
    made = Path(tempfile.mkdtemp(prefix="vread-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def daemon(start_daemon, folder):
    return start_daemon(folder=folder, local=f"mode = 0666\n{PUBLISHER}")


@contextlib.contextmanager
def connected_as(user, daemon):
    """A frontend that connects as this user."""
    os.seteuid(user)
    try:
        front = daemon.front()
    finally:
        os.seteuid(0)
    with front:
        yield front


def publish(front, event, block):
    return front.publish(event, block.id, block.genstamp, POOL, STORAGE)


def set_publishers(daemon, users):
    lines = daemon.config.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("publish-uids")]
    kept.insert(kept.index("[local]") + 1, f"publish-uids = {users}")
    daemon.config.write_text("\n".join(kept) + "\n")
    changed(daemon, "[local]: publish-uids changed")


def test_a_reader_withdraws_no_block(daemon, image, block):
    with connected_as(READER, daemon) as front, daemon.front() as other:
        handle = open_block(front, block)
        assert publish(front, DELETE, block) == EACCES
        assert front.read(handle, 0, 100) == image.contents[block.id][:100]
        assert open_status(other, block) == 0
        assert publish(other, DELETE, block) == 0
        assert publish(front, FINALIZED, block) == EACCES
        assert open_status(front, block) == -errno.ENOENT


def test_a_reader_gives_no_keys(daemon, block):
    with connected_as(READER, daemon) as front:
        assert front.keys(POOL, STORAGE, [KEY]) == EACCES
        assert front.keys(POOL, STORAGE, [], tokens=0) == EACCES
        assert open_status(front, block) == 0
    (datanode,) = daemon.status()["datanodes"]
    assert datanode["tokens"]["required"] is False


def test_the_right_follows_the_configuration(daemon, block):
    with connected_as(READER, daemon) as front, daemon.front() as root:
        set_publishers(daemon, f"7 {READER}")
        assert publish(front, DELETE, block) == 0
        assert publish(front, FINALIZED, block) == 0
        assert publish(root, DELETE, block) == EACCES
        set_publishers(daemon, f"7 {READER}0 {READER // 10}")
        assert publish(front, DELETE, block) == EACCES
        set_publishers(daemon, "")
        assert publish(front, DELETE, block) == EACCES


def test_no_keys_for_a_pool_that_may_not_be_read(start_daemon):
    daemon = start_daemon(local=f"{PUBLISHER}allow-pools = BP-other\n")
    with daemon.front() as front:
        assert front.keys(POOL, STORAGE, [KEY]) == EACCES
        assert front.keys("BP-other", STORAGE, [], tokens=0) == 0
    (datanode,) = daemon.status()["datanodes"]
    assert datanode["tokens"]["required"] is False
