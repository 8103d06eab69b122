# SPDX-License-Identifier: GPL-2.0-or-later
"""ext4 that its owner has mounted, crashed or frozen, and its journal.  Tests that apply to all
file systems are in test_live.py."""

import subprocess

import pytest

from tests.support.live import churn, content, listed, refused, state
from tests.support.owner import Owner, needs_root, variants

pytestmark = needs_root


@pytest.fixture(params=variants())
def owner(request, tmp_path):
    with Owner(tmp_path, request.param) as owner:
        yield owner


@pytest.fixture
def blocks(owner):
    with owner.blockctl() as control:
        yield control


@pytest.mark.thorough
def test_crash_is_read_as_its_repair_would_leave_it(owner):
    """Blocks of a crashed image must be the blocks that e2fsck's replay of the journal leaves."""
    if owner.variant == "fast-commit":
        pytest.skip("e2fsck replays fast commits, which are not read here")
    owner.mount_late()  # no commit may fall into the copy: it would have parts of two states
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
        # A block that is not committed completely: ENOENT before the replay, afterwards a block
        # without its bytes.
        if isinstance(theirs[name], bytes):
            assert ours[name] == theirs[name], name
        else:
            assert not isinstance(ours[name], bytes), name


def test_mounted_after_a_crash(owner, blocks):
    """The owner mounts a crashed image, which replays the journal, and writes on.  Open handles and
    new blocks must be read right."""
    owner.mount_late()  # no commit may fall into the copy: it would have parts of two states
    there = churn(owner, seed=2, count=60)
    for block in there:
        owner.fsync(block)
    handles = [(blocks.open(block), block) for block in there]
    crashed = owner.crash()
    owner.unmount()
    # Puts the crashed image into place, as after a power failure.
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
