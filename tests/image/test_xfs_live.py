# SPDX-License-Identifier: GPL-2.0-or-later
"""XFS that its owner has mounted, crashed or frozen: its log, and the questions vreadd asks its
parser.  Tests that apply to all file systems are in test_live.py."""

import random

import pytest

from tests.support.live import churn, content, listed, refused, state
from tests.support.owner import fsync, needs_root
from tests.support.xfs_owner import PARAMS, XfsOwner

pytestmark = needs_root


@pytest.fixture(params=PARAMS)
def owner(request, tmp_path):
    with XfsOwner(tmp_path, request.param) as owner:
        yield owner


@pytest.fixture
def blocks(owner):
    with owner.blockctl() as control:
        yield control


# Commits that the kernel may make by itself, every half minute, during a test.
UNASKED = 3


def questions(blocks):
    """How many questions the parser was asked before this call, which asks one itself."""
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
    assert 1 <= questions(blocks) - before <= 1 + UNASKED
    before = questions(blocks)
    other.write_bytes(content(2, 1000))
    fsync(other)
    assert handle.read(0, 1000) == block.content[:1000]
    assert handle.read(1000, 1000) == block.content[1000:2000]
    assert 2 <= questions(blocks) - before <= 2 + UNASKED  # one because of the commit


def test_commits_between_reads(owner, blocks):
    """Commits of the handle's block and of others between reads: each must be seen by the next
    read."""
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


@pytest.mark.thorough
def test_crash_is_read_as_recovery_would_leave_it(owner):
    """Blocks of a crashed image must be the blocks that the kernel's recovery at the next mount
    leaves."""
    churn(owner, seed=1, count=150)
    crashed = owner.crash()
    owner.unmount()
    owner.mount()
    owner.unmount()
    ours, theirs = listed(crashed), listed(owner.path)
    assert len(ours) > 30
    assert ours == theirs


def test_mounted_after_a_crash(owner, blocks):
    """The owner mounts a crashed image, which recovers the log, and writes on.  Open handles and
    new blocks must be read right."""
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
