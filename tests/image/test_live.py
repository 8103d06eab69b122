# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks on file systems their owners have mounted, over kinds of ext4: what is committed is read,
at once and right, and what is not is not.

What these tests await is a sequence of events, never a time: a kernel may commit sooner than it is
told to, so "not yet" is asserted only of what was not written back at all.
"""

import random
import subprocess

import pytest

from tests.support.disk import BlockError, blockctl
from tests.support.owner import VARIANTS, LiveBlock, Owner, needs_root
from tools.vreadd import DataDirs

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


def churn(owner, seed, count):
    """Blocks in every state a datanode leaves them in; those that are there at the end."""
    chance = random.Random(seed)
    there = []
    for n in range(count):
        if there and chance.random() < 0.4:
            victim = there.pop(chance.randrange(len(there)))
            if chance.random() < 0.5:
                owner.delete(victim)
            else:
                there.append(owner.append(victim, content(n, chance.randrange(1, 40_000))))
        else:
            size = chance.randrange(1, 120_000)
            there.append(owner.write(n, content(n, size), finalized=chance.random() < 0.8))
        if chance.random() < 0.3:
            owner.fsync(there[-1])
    owner.commit()
    return there


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


def test_crash_is_read_as_its_repair_would_leave_it(owner):
    """What we make of a journal is what e2fsck makes of it."""
    if owner.variant == "fast-commit":
        pytest.skip("e2fsck replays fast commits, which are not read here")
    churn(owner, seed=1, count=150)
    crashed = owner.crash()
    repaired = owner.crash("repaired.raw")
    owner.unmount()
    repaired.write_bytes(crashed.read_bytes())
    done = subprocess.run(["/sbin/e2fsck", "-fp", repaired], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout
    ours, theirs = listed(crashed), listed(repaired)
    assert len(ours) > 30
    assert ours.keys() == theirs.keys()
    for name in ours:
        # What is not committed whole is ENOENT while the journal is to be replayed, and
        # after that a block without its bytes.
        if isinstance(theirs[name], bytes):
            assert ours[name] == theirs[name], name
        else:
            assert not isinstance(ours[name], bytes), name


def test_mounted_after_a_crash(owner, blocks):
    """The journal is replayed, and goes on, under our eyes."""
    there = churn(owner, seed=2, count=60)
    for block in there:
        owner.fsync(block)
    handles = [(blocks.open(block), block) for block in there]
    crashed = owner.crash()
    owner.unmount()
    # The image is the crashed one from now on, as after a power failure.
    with open(crashed, "rb") as source, open(owner.path, "r+b") as image:
        image.write(source.read())
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
        assert state(blocks) == "clean"
        assert handle.read_all() == block.content
    owner.delete(block)
    owner.commit()
    refused(lambda: handle.read(0, 100), "EAGAIN")
