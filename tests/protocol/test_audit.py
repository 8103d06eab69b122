# SPDX-License-Identifier: GPL-2.0-or-later
"""The log says who opened which block, if the operator wants that."""

import errno
import os

import pytest

from tests.support.daemon import STORAGE, open_status
from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.localfront import OPEN, LocalFront, open_data, open_part
from tests.support.peers import free_address
from tests.support.reloading import changed
from tools.images import make_datanode_image, write_layout
from tools.peers import Authority, peer
from tools.vreadd import Vreadd

AUDIT = "[vreadd]\naudit = yes\n"


def lines(daemon):
    said = [line.partition(": audit: ")[2] for line in daemon.log().splitlines()]
    return [text for text in said if text]


def line(block, said, user=None, pool=POOL):
    user = os.getuid() if user is None else user
    return f"user {user}, block {block} of pool {pool}: {said}"


def test_what_is_opened_and_what_is_refused(start_daemon, block):
    daemon = start_daemon(extra=AUDIT)
    with daemon.front() as front:
        assert open_status(front, block) == 0
        assert front.open(4711, 1, POOL, [STORAGE]).status == -errno.ENOENT
        assert front.open(block.id, 1, "BP-unknown", [STORAGE]).status == -errno.ENODEV
        expected = [
            line(block.id, "opened"),
            line(4711, "ENOENT"),
            line(block.id, "ENODEV", pool="BP-unknown"),
        ]
        assert lines(daemon) == expected


def test_a_block_that_may_not_be_read(start_daemon, block):
    daemon = start_daemon(extra=AUDIT, allow="dn9")
    with daemon.front() as front:
        assert open_status(front, block) == -errno.EACCES
    assert lines(daemon) == [line(block.id, "EACCES")]


def test_no_line_is_left_out(start_daemon, block):
    """The limit of lines of one guest does not hold for them."""
    daemon = start_daemon(extra=AUDIT)
    with daemon.front() as front:
        for _ in range(300):
            assert open_status(front, block) == 0
    assert lines(daemon) == [line(block.id, "opened")] * 300


def test_what_is_no_open(start_daemon, block):
    """A malformed request and a sign of life name no block."""
    daemon = start_daemon(extra=AUDIT)
    with daemon.front() as front:
        data = open_data(POOL, [STORAGE])
        front.pool[: len(data)] = data
        part = open_part(block.id, 1, len(data), reserved=(1, 0, 0, 0))
        assert front.call(OPEN, pool_pages=1, part=part).status == -errno.EINVAL
        assert front.open(1, 1, "-", []).status == -errno.ENODEV
    assert lines(daemon) == []


def test_only_if_the_operator_wants_it(start_daemon, edit, block):
    daemon = start_daemon(extra="[vreadd]\naudit = no\n")
    with daemon.front() as front:
        assert open_status(front, block) == 0
        assert lines(daemon) == []
        edit(daemon, "audit = no", "audit = yes")
        changed(daemon, "[vreadd]: audit changed")
        assert open_status(front, block) == 0
        assert lines(daemon) == [line(block.id, "opened")]


@pytest.fixture
def there(tmp_path):
    directory = DataDirectory(tmp_path / "data", storage="DS-there")
    block = directory.add(1073745921, 300_000)
    image = make_datanode_image([directory.path], tmp_path / "disk.img", free_mib=24)
    write_layout(image, tmp_path / "layout.json")
    return (image.path, tmp_path / "layout.json"), block


def test_a_block_of_another_host(tmp_path, there):
    """The host that is asked for the block knows the user, the host that has the block the
    outcome."""
    datanode, block = there
    authority, address = Authority(tmp_path), free_address()
    answers = authority.host("b", listen=address) + peer("a", allow_datanodes="dn-there")
    asks = authority.host("a", answer_timeout=60000)
    asks += peer("b", address=address, storages="dn-there/DS-there")
    with (
        Vreadd({"dn-there": datanode}, "asan", sections=answers + AUDIT) as b,
        Vreadd({}, "asan", sections=asks + AUDIT) as a,
        LocalFront(a.endpoint) as front,
    ):
        assert open_status(front, block, storages=("DS-there",)) == 0
        assert lines(a) == [line(block.id, "asked of another host")]
        assert lines(b) == [line(block.id, "opened", user="unknown")]
        assert "peer a: audit: " in b.log()
