# SPDX-License-Identifier: GPL-2.0-or-later
"""Group descriptors are read once and shared with later views (docs/live-filesystems.md).  A file
system that grows, online or between two mounts, gets new ones, which must be read."""

import subprocess
from contextlib import contextmanager

import pytest

from tests.support.owner import Owner, needs_root

pytestmark = needs_root
MIB = 1 << 20
SMALL, LARGE = 16 * MIB, 96 * MIB


@contextmanager
def room_to_grow(folder, variant):
    """Yields an owner whose disk is larger than the file system on it."""
    owner = Owner(folder, variant, mib=SMALL // MIB)
    with open(owner.path, "r+b") as image:
        image.truncate(LARGE)
    with owner:
        yield owner


def grow(owner, device):
    done = subprocess.run(["resize2fs", device], capture_output=True, text=True)
    if "Permission denied to resize" in done.stderr:
        pytest.skip("the kernel lets nobody here resize a mounted file system (CAP_SYS_RESOURCE)")
    assert done.returncode == 0, done.stderr


def loop_of(owner):
    found = ["findmnt", "-n", "-o", "SOURCE", owner.root]
    return subprocess.run(found, check=True, capture_output=True, text=True).stdout.strip()


def write_in_new_groups(owner, inodes_before):
    """Takes all old inodes, then writes blocks, so that their inodes are in new groups.  Returns
    the blocks."""
    for i in range(inodes_before):
        (owner.root / f"filler{i}").touch()
    blocks = [owner.write(1 + (i << 8), bytes([i]) * 3000) for i in range(32)]
    for block in blocks:
        owner.fsync(block)
    assert any(owner.data(block).stat().st_ino > inodes_before for block in blocks)
    return blocks


def inodes(owner):
    text = subprocess.run(
        ["dumpe2fs", "-h", owner.path], check=True, capture_output=True, text=True
    ).stdout
    return int(text.split("Inode count:")[1].split()[0])


@pytest.mark.parametrize("variant", ["1k", "meta-bg", "2k-32bit"])
def test_grown_online(tmp_path, variant):
    with room_to_grow(tmp_path, variant) as owner, owner.blockctl() as control:
        first = owner.write(0, b"x" * 5000)
        owner.fsync(first)
        assert control.open(first).read_all() == first.content
        before = inodes(owner)
        grow(owner, loop_of(owner))
        for block in write_in_new_groups(owner, before):
            assert control.open(block).read_all() == block.content
        assert control.open(first).read_all() == first.content


@pytest.mark.parametrize("variant", ["1k", "ext3"])
def test_grown_while_unmounted(tmp_path, variant):
    """The file system grows while unmounted, when resize2fs may move inode tables.  Old and new
    blocks must be read right."""
    with room_to_grow(tmp_path, variant) as owner, owner.blockctl() as control:
        first = owner.write(0, b"x" * 5000)
        owner.fsync(first)
        assert control.open(first).read_all() == first.content
        owner.unmount()
        handle = control.open(first)
        assert handle.read_all() == first.content
        before = inodes(owner)
        subprocess.run(["e2fsck", "-fy", owner.path], capture_output=True)
        grow(owner, owner.path)
        assert handle.read_all() == first.content
        assert control.open(first).read_all() == first.content
        owner.mount()
        for block in write_in_new_groups(owner, before):
            assert control.open(block).read_all() == block.content
        assert control.open(first).read_all() == first.content
