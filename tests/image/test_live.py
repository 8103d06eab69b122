# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks on file systems that their owners have mounted, over kinds of ext4 and XFS.  Committed
blocks must be read right at once; others must not be found.

The tests wait for events, never for a time.  A kernel may commit sooner than it was told to.  So a
block is asserted to be missing only if nothing of it was written back, on a file system that was
mounted with late commits (mount_late).
"""

import pytest

from tests.support.live import content, kinds, refused, state
from tests.support.owner import fsync, needs_root

pytestmark = needs_root


@pytest.fixture(params=kinds())
def owner(request, tmp_path):
    make, variant = request.param
    with make(tmp_path, variant) as owner:
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
    owner.mount_late()
    block = owner.write(1, content(1, 100_000))
    refused(lambda: blocks.open(block), "ENOENT")
    owner.fsync(block)
    assert blocks.open(block).read_all() == block.content


def test_not_committed_yet_is_not_gone(owner, blocks):
    """A block whose .meta is missing so far is ENODATA, a block that is not there ENOENT."""
    block = owner.write(1, content(1, 5000))
    sums = owner.meta(block).read_bytes()
    owner.meta(block).unlink()
    fsync(owner.data(block))
    owner.commit()
    refused(lambda: blocks.open(block), "ENODATA")
    refused(lambda: blocks.open(block, id=2), "ENOENT")
    owner.meta(block).write_bytes(sums)
    owner.fsync(block)
    assert blocks.open(block).read_all() == block.content
    owner.delete(block)
    owner.commit()
    refused(lambda: blocks.open(block), "ENOENT")


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
    """A block is finalized under an open handle, which renames its files.  The handle must read
    on."""
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


def test_shorter_under_the_same_name(owner, blocks):
    """The block is cut without a new generation stamp, as no datanode does.  A handle that was
    opened for more bytes must not read past the end of the files that it finds again."""
    block = owner.write(1, content(1, 170_000))
    owner.fsync(block)
    handle = blocks.open(block)
    assert handle.read(100_000, 100) == block.content[100_000:100_100]
    owner.cut(block, 70_001)
    owner.fsync(block)
    for offset in (0, 69_000, 100_000, 169_999):
        refused(lambda offset=offset: handle.read(offset, 5_000), "EAGAIN")


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
