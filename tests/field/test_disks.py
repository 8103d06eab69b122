# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about file systems and disks; README.md lists them."""

import os

import pytest

from tests.support.disk import blockctl
from tests.support.hdfs_dir import meta_bytes
from tests.support.live import content, refused
from tests.support.owner import Owner, needs_root
from tests.support.xfs_owner import XfsOwner
from tools.vreadd import DataDirs

pytestmark = needs_root

LIVE = [(Owner, "default"), (Owner, "1k"), (Owner, "ext3"), (XfsOwner, "default")]


def put(image, content):
    """Replaces the bytes of an image, in place."""
    with open(image, "r+b") as file:
        file.write(content)


def lay(image, places, content, size):
    """Writes content into these blocks of an image."""
    for n, place in enumerate(sorted(places)):
        piece = content[n * size : (n + 1) * size]
        image[place * size : place * size + len(piece)] = piece


@pytest.mark.parametrize(("make", "kind"), LIVE)
def test_back_to_a_snapshot_of_memory_and_disk(tmp_path, make, kind):
    """The machine goes on from a snapshot, where it does not know a block, and writes another
    block into the place of that block."""
    with make(tmp_path, kind) as owner:
        owner.mount_late()
        kept = owner.write(1, content(1, 100_000))
        owner.fsync(kept)
        snapshot = bytearray(Owner.crash(owner, "snapshot.raw").read_bytes())
        gone = owner.write(2, content(2, 100_000))
        owner.fsync(gone)
        size = os.statvfs(owner.root).f_bsize
        data, sums = owner.places(gone), owner.places(gone, owner.meta(gone))
        disk = Owner.crash(owner, "machine.raw")
    with blockctl(dn1=DataDirs(disk, ["/data"])) as blocks:
        handle = blocks.open(gone)
        assert handle.read_all() == gone.content
        other = content(3, 100_000)
        lay(snapshot, data, other, size)
        lay(snapshot, sums, meta_bytes(other), size)
        put(disk, snapshot)
        refused(lambda: handle.read(0, 100), "EAGAIN")
        refused(lambda: blocks.open(gone), "ENOENT")
        assert blocks.open(kept).read_all() == kept.content
