# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about file systems and disks; README.md lists them."""

import os
import shutil
import subprocess
import time

import pytest

from tests.support.disk import BlockError, blockctl
from tests.support.hdfs_dir import DataDirectory, meta_bytes
from tests.support.live import content, refused
from tests.support.owner import VARIANTS, LiveBlock, Owner, needs_root
from tests.support.waiting import eventually
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


def make_again(owner):
    """Makes a new ext4 in the place of the owner's, as mke2fs in many guides does: fast."""
    template = owner.path.with_name("again")
    DataDirectory(template / "data")
    options = ["-E", "lazy_journal_init=1,nodiscard", *VARIANTS[owner.variant][0]]
    command = ["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-d", template, *options, owner.path]
    subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(template)


@pytest.mark.parametrize("kind", ["default", "no-checksums", "64bit-no-checksums"])
def test_journal_of_an_earlier_file_system(tmp_path, kind):
    """mke2fs leaves the old journal's transactions in place; they go on where those of the new
    file system end, since ids begin anew."""

    def session(seed, count):
        owner.mount_late()
        there = []
        for n in range(count):
            there.append(owner.write(n, content(seed + n, 50_000)))
            owner.fsync(there[-1])
        return there

    def read(n):
        try:
            return blocks.open(LiveBlock(n, b"")).read_all()
        except BlockError as error:
            return error.name

    with Owner(tmp_path, kind) as owner:
        session(100, 12)
        owner.unmount()
        then = int(time.time())
        eventually(lambda: int(time.time()) > then, 60, "a second later")
        make_again(owner)
        there = session(200, 3)
        with owner.blockctl() as blocks:
            for n in range(12):
                right = there[n].content if n < len(there) else "ENOENT"
                assert read(n) in (right, "EBUSY", "ENODEV"), n
            # Other commits than those of the old file system: its transactions end.
            more = [owner.write(100 + n, content(n, 3000 * n)) for n in range(20)]
            for block in more:
                owner.commit()
                owner.fsync(block)
            blocks.look()
            assert [read(n) for n in range(12)] == [b.content for b in there] + ["ENOENT"] * 9


def test_clock_older_than_the_file_system(tmp_path, monkeypatch):
    """mke2fs ran with a clock that was years ahead.  So all transactions say that they are older
    than the file system, and they count nevertheless."""
    monkeypatch.setenv("E2FSPROGS_FAKE_TIME", str(int(time.time()) + (1 << 28)))
    with Owner(tmp_path) as owner, owner.blockctl() as blocks:
        block = owner.write(1, content(1, 50_000))
        owner.fsync(block)
        assert blocks.open(block).read_all() == block.content
