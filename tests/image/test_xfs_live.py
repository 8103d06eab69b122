# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks on XFS its owner has mounted: what is committed is read, at once and right, and what is
not is not.  What test_live.py asks of ext4 is asked here of XFS."""

import random

import pytest

from tests.image.test_live import churn, content, refused, state
from tests.support.disk import BlockError, blockctl
from tests.support.owner import LiveBlock, fsync, needs_root
from tests.support.xfs_owner import PARAMS, XfsOwner
from tools.vreadd import DataDirs

pytestmark = needs_root


@pytest.fixture(params=PARAMS)
def owner(request, tmp_path):
    with XfsOwner(tmp_path, request.param) as owner:
        yield owner


@pytest.fixture
def blocks(owner):
    with owner.blockctl() as control:
        yield control


def test_readable_once_committed(owner, blocks):
    for n in range(20):
        block = owner.write(n, content(n, 1000 * n * n + 1))
        owner.fsync(block)
        assert blocks.open(block).read_all() == block.content
    assert state(blocks) == "live"


def test_not_yet_committed(owner, blocks):
    block = owner.write(1, content(1, 100_000))
    refused(lambda: blocks.open(block), "ENOENT")
    owner.fsync(block)
    assert blocks.open(block).read_all() == block.content


def questions(blocks):
    """How many its parser was asked before this one: a status asks one itself."""
    (datanode,) = blocks.status()
    return datanode["parser"]["questions"] - 1


def test_reads_ask_nobody_while_nothing_is_committed(owner, blocks):
    other = owner.root / "other"
    other.touch()
    block = owner.write(1, content(1, 300_000))
    owner.fsync(block)
    handle = blocks.open(block)
    assert handle.read(0, 1000) == block.content[:1000]
    before = questions(blocks)
    for n in range(100):
        at = n * 2999
        assert handle.read(at, 1000) == block.content[at : at + 1000]
    assert questions(blocks) - before == 1
    other.write_bytes(content(2, 1000))
    fsync(other)
    assert handle.read(0, 1000) == block.content[:1000]
    assert handle.read(1000, 1000) == block.content[1000:2000]
    assert questions(blocks) - before == 3  # one because of the commit


def test_commits_between_reads(owner, blocks):
    """Of its own block and of others: each is seen by the very next read."""
    chance = random.Random(1)
    block = owner.write(1, content(1, 50_000))
    owner.fsync(block)
    handle = blocks.open(block)
    for n in range(150):
        if chance.random() < 0.3:
            gone = block
            owner.delete(block)
            block = owner.write(1, content(n, 50_000), genstamp=2000 + n)
            owner.fsync(block)
            refused(lambda handle=handle: handle.read(0, 100), "EAGAIN")
            refused(lambda gone=gone: blocks.open(gone), "EEXIST")
            handle.close()
            handle = blocks.open(block)
        else:
            owner.fsync(owner.write(100 + n, content(n, 3000)))
        for at in chance.sample(range(40_000), 2):
            assert handle.read(at, 10_000) == block.content[at : at + 10_000]


def test_deleted_and_its_place_taken(owner, blocks):
    first = owner.write(1, content(1, 300_000))
    owner.fsync(first)
    handle = blocks.open(first)
    assert handle.read_all() == first.content
    owner.delete(first)
    owner.commit()
    refused(lambda: handle.read(0, 100), "EAGAIN")
    refused(handle.stat, "EAGAIN")
    refused(lambda: blocks.open(first), "ENOENT")
    second = owner.write(2, content(2, 300_000))
    owner.fsync(second)
    refused(lambda: handle.read(0, 100), "EAGAIN")
    assert blocks.open(second).read_all() == second.content


def test_moved_appended_truncated(owner, blocks):
    block = owner.write(1, content(1, 170_000 + 5), finalized=False)
    owner.fsync(block)
    handle = blocks.open(block)
    assert handle.read(0, 70_000) == block.content[:70_000]
    block = owner.move(block, finalized=True)
    owner.commit()
    assert handle.read_all() == block.content
    longer = owner.append(block, content(2, 100_000))
    owner.fsync(longer)
    refused(lambda: handle.read(0, 100), "EAGAIN")
    refused(lambda: blocks.open(block), "EEXIST")
    handle = blocks.open(longer)
    assert handle.read_all() == longer.content
    shorter = owner.truncate(longer, 70_001)
    owner.fsync(shorter)
    refused(lambda: handle.read(0, 100), "EAGAIN")
    refused(lambda: blocks.open(longer), "EEXIST")
    assert blocks.open(shorter).read_all() == shorter.content


def test_unmounted_and_mounted_again(owner, blocks):
    block = owner.write(1, content(1, 200_000))
    owner.fsync(block)
    handle = blocks.open(block)
    for n in range(3):
        owner.unmount()
        assert state(blocks) == "clean"
        assert handle.read_all() == block.content
        assert blocks.open(block).read_all() == block.content
        owner.mount()
        assert handle.read_all() == block.content
        other = owner.write(100 + n, content(n, 20_000))
        owner.fsync(other)
        assert state(blocks) == "live"
        assert handle.read_all() == block.content
        assert blocks.open(other).read_all() == other.content
    owner.delete(block)
    owner.unmount()
    refused(lambda: handle.read(0, 100), "EAGAIN")
    refused(lambda: blocks.open(block), "ENOENT")


def listed(image):
    """Every block vRead finds in an image, with its bytes or the error."""
    found = {}
    with blockctl(dn1=DataDirs(image, ["/data"])) as control:
        for entry in control.list():
            block = LiveBlock(entry["id"], b"", entry["genstamp"])
            try:
                with_bytes = control.open(block).read_all()
            except BlockError as error:
                with_bytes = error.name
            found[block.id, block.genstamp] = with_bytes
    return found


def test_crash_is_read_as_recovery_would_leave_it(owner):
    """What we make of a log is what the kernel makes of it at the next mount."""
    churn(owner, seed=1, count=150)
    crashed = owner.crash()
    owner.unmount()
    owner.mount()
    owner.unmount()
    ours, theirs = listed(crashed), listed(owner.path)
    assert len(ours) > 30
    assert ours == theirs


def test_mounted_after_a_crash(owner, blocks):
    """The log is recovered, and goes on, under our eyes."""
    there = churn(owner, seed=2, count=60)
    for block in there:
        owner.fsync(block)
    handles = [(blocks.open(block), block) for block in there]
    owner.crash()
    owner.unmount()
    assert state(blocks) == "live"
    for handle, block in handles:
        assert handle.read_all() == block.content
    owner.mount()
    more = owner.write(1000, content(1000, 50_000))
    owner.fsync(more)
    for handle, block in handles:
        assert handle.read_all() == block.content
    assert blocks.open(more).read_all() == more.content


def test_frozen(owner, blocks):
    block = owner.write(1, content(1, 100_000))
    owner.fsync(block)
    handle = blocks.open(block)
    with owner.frozen():
        assert handle.read_all() == block.content
    owner.delete(block)
    owner.commit()
    refused(lambda: handle.read(0, 100), "EAGAIN")
