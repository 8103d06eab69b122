# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks on file systems their owners have mounted, over kinds of ext4: what is committed is read,
at once and right, and what is not is not.

What these tests await is a sequence of events, never a time: a kernel may commit sooner than it is
told to, so "not yet" is asserted only of what was not written back at all.
"""

import random

import pytest

from tests.support.disk import BlockError
from tests.support.owner import VARIANTS, Owner, needs_root

pytestmark = needs_root


def content(seed, length):
    return random.Random(seed).randbytes(length)


@pytest.fixture(params=VARIANTS)
def owner(request, tmp_path):
    with Owner(tmp_path, request.param) as owner:
        yield owner


@pytest.fixture
def blocks(owner):
    with owner.blockctl() as control:
        yield control


def refused(call, *names):
    with pytest.raises(BlockError) as caught:
        call()
    assert caught.value.name in names
    assert caught.value.exposed == 0


def state(blocks):
    (datanode,) = blocks.status()
    (system,) = datanode["filesystems"]
    return system["state"]


def test_readable_once_committed(owner, blocks):
    assert state(blocks) == "live"
    for n in range(20):
        block = owner.write(n, content(n, 1000 * n * n + 1))
        owner.fsync(block)
        assert blocks.open(block).read_all() == block.content


def test_not_yet_committed(owner, blocks):
    block = owner.write(1, content(1, 100_000))
    refused(lambda: blocks.open(block), "ENOENT")
    owner.fsync(block)
    assert blocks.open(block).read_all() == block.content


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


def test_finalized_under_an_open_handle(owner, blocks):
    """Its files have other names then, and are the same block."""
    block = owner.write(1, content(1, 200_000), finalized=False)
    owner.fsync(block)
    handle = blocks.open(block)
    assert not handle.finalized
    assert handle.read(0, 70_000) == block.content[:70_000]
    owner.move(block, finalized=True)
    owner.commit()
    assert handle.read_all() == block.content
    assert handle.stat() == block.length


def test_appended_to(owner, blocks):
    block = owner.write(1, content(1, 70_000 + 5))
    owner.fsync(block)
    handle = blocks.open(block)
    longer = owner.append(block, content(2, 100_000))
    owner.fsync(longer)
    refused(lambda: handle.read(0, 100), "EAGAIN")
    refused(lambda: blocks.open(block), "EEXIST")
    assert blocks.open(longer).read_all() == longer.content


def test_truncated(owner, blocks):
    block = owner.write(1, content(1, 170_000))
    owner.fsync(block)
    handle = blocks.open(block)
    shorter = owner.truncate(block, 70_001)
    owner.fsync(shorter)
    refused(lambda: handle.read(0, 100), "EAGAIN")
    refused(lambda: blocks.open(block), "EEXIST")
    assert blocks.open(shorter).read_all() == shorter.content


def test_unmounted_and_mounted_again(owner, blocks):
    block = owner.write(1, content(1, 200_000))
    owner.fsync(block)
    handle = blocks.open(block)
    for _ in range(3):
        owner.unmount()
        assert state(blocks) == "clean"
        assert handle.read_all() == block.content
        assert blocks.open(block).read_all() == block.content
        owner.mount()
        assert state(blocks) == "live"
        assert handle.read_all() == block.content
        assert blocks.open(block).read_all() == block.content
    owner.delete(block)
    owner.unmount()
    refused(lambda: handle.read(0, 100), "EAGAIN")
    refused(lambda: blocks.open(block), "ENOENT")
