# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about file systems and disks; README.md lists them."""

import os
import shutil
import struct
import subprocess
import time

import pytest

from tests.image.test_hostile import extent_header, inode_offset, without_checksums, write_at
from tests.support.disk import BlockError, blockctl
from tests.support.hdfs_dir import DataDirectory, meta_bytes
from tests.support.live import churn, content, refused
from tests.support.lvm_metadata import Metadata
from tests.support.owner import VARIANTS, LiveBlock, Owner, needs_root
from tests.support.volumes import make_ext, partitioned
from tests.support.waiting import eventually
from tests.support.xfs_owner import VARIANTS as XFS
from tests.support.xfs_owner import XfsOwner
from tools.images import Physical, VolumeGroup
from tools.images import make_disk as empty_disk
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


def right_or_looked_for_again(handle, block):
    """Reads block through a handle that was opened before its place changed."""
    try:
        assert handle.read_all() == block.content
    except BlockError as error:
        assert error.name == "EAGAIN"


def scatter(owner, count):
    """Writes blocks a piece of each in turn, so that their extents alternate."""
    blocks = [LiveBlock(n, content(n, 200_000)) for n in range(count)]
    for block in blocks:
        owner.data(block).parent.mkdir(parents=True, exist_ok=True)
        owner.meta(block).write_bytes(meta_bytes(block.content))
    for at in range(0, 200_000, 8192):
        for block in blocks:
            with open(owner.data(block), "ab") as file:
                file.write(block.content[at : at + 8192])
                file.flush()
                os.fsync(file.fileno())
    for block in blocks:
        owner.fsync(block)
    return blocks


DEFRAGMENT = [
    (Owner, "default", ("/usr/sbin/e4defrag",)),
    (XfsOwner, "default", ("/usr/sbin/xfs_fsr", "-v")),
    (XfsOwner, "reverse-map", ("/usr/sbin/xfs_fsr", "-v")),
]


@pytest.mark.parametrize(("make", "kind", "command"), DEFRAGMENT)
def test_defragmented_under_readers(tmp_path, make, kind, command):
    with make(tmp_path, kind) as owner, owner.blockctl() as blocks:
        there = scatter(owner, 3)
        handles = [blocks.open(block) for block in there]
        assert [handle.read(0, 100) for handle in handles] == [b.content[:100] for b in there]
        before = owner.places(there[0])
        done = subprocess.run([*command, owner.data(there[0])], capture_output=True, text=True)
        owner.fsync(there[0])
        assert owner.places(there[0]) != before, done
        more = [owner.write(100 + n, content(100 + n, 150_000)) for n in range(8)]
        for block in more:
            owner.fsync(block)
        for handle, block in zip(handles, there, strict=True):
            right_or_looked_for_again(handle, block)
        for block in there + more:
            assert blocks.open(block).read_all() == block.content


@pytest.mark.parametrize(("make", "kind"), LIVE)
def test_trimmed_under_readers(tmp_path, make, kind):
    """What a deleted block had becomes a hole of the image."""
    with make(tmp_path, kind) as owner, owner.blockctl() as blocks:
        kept, gone = (owner.write(n, content(n, 400_000)) for n in (1, 2))
        owner.fsync(kept)
        owner.fsync(gone)
        handles = [blocks.open(block) for block in (kept, gone)]
        assert handles[1].read(0, 100) == gone.content[:100]
        owner.delete(gone)
        owner.commit()
        owner.sync()
        used = owner.path.stat().st_blocks
        subprocess.run(["fstrim", owner.root], check=True, capture_output=True)
        assert owner.path.stat().st_blocks < used
        refused(handles[1].read_all, "EAGAIN")
        refused(lambda: blocks.open(gone), "ENOENT")
        assert handles[0].read_all() == kept.content


def device_of(owner):
    lines = subprocess.run(
        ["losetup", "--noheadings", "--output", "NAME", "-j", owner.path],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    return lines[0]


@pytest.mark.parametrize(("make", "kind"), [*LIVE, (Owner, "meta-bg")])
def test_disk_and_file_system_grow(tmp_path, make, kind):
    """XFS grows while it is mounted, ext4 between two mounts; readers go on.  A block is written
    behind the former end."""
    with make(tmp_path, kind) as owner, owner.blockctl() as blocks:
        first = owner.write(1, content(1, 100_000))
        owner.fsync(first)
        handle = blocks.open(first)
        owner.fill_up(7 << 20)
        owner.sync()
        os.truncate(owner.path, 128 << 20)
        if make is XfsOwner:
            subprocess.run(["losetup", "-c", device_of(owner)], check=True)
            subprocess.run(["xfs_growfs", owner.root], check=True, capture_output=True)
        else:
            owner.unmount()
            subprocess.run(["resize2fs", "-f", owner.path], check=True, capture_output=True)
            owner.mount()
        second = owner.write(2, content(2, 30 << 20))
        owner.fsync(second)
        assert max(owner.places(second)) * os.statvfs(owner.root).f_bsize > 64 << 20
        blocks.look()
        assert blocks.open(second).read_all() == second.content
        right_or_looked_for_again(handle, first)
        assert blocks.open(first).read_all() == first.content


def test_uuid_changed_while_mounted(tmp_path, monkeypatch):
    monkeypatch.setitem(VARIANTS, "seed", (["-O", "metadata_csum_seed"], ""))
    with Owner(tmp_path, "seed") as owner, owner.blockctl() as blocks:
        block = owner.write(1, content(1, 100_000))
        owner.fsync(block)
        handle = blocks.open(block)
        command = ["/sbin/tune2fs", "-U", "random", "-L", "renamed", device_of(owner)]
        subprocess.run(command, check=True, capture_output=True)
        owner.commit()
        blocks.look()
        blocks.look()
        right_or_looked_for_again(handle, block)
        assert blocks.open(block).read_all() == block.content
        more = owner.write(2, content(2, 100_000))
        owner.fsync(more)
        assert blocks.open(more).read_all() == more.content


def test_xfs_gets_another_uuid(tmp_path):
    """xfs_admin makes a new log and keeps the old UUID in all metadata."""
    with XfsOwner(tmp_path) as owner, owner.blockctl() as blocks:
        block = owner.write(1, content(1, 100_000))
        owner.fsync(block)
        handle = blocks.open(block)
        owner.unmount()
        subprocess.run(["xfs_admin", "-U", "generate", owner.path], check=True, capture_output=True)
        owner.mount()
        more = owner.write(2, content(2, 100_000))
        owner.fsync(more)
        blocks.look()
        blocks.look()
        right_or_looked_for_again(handle, block)
        assert blocks.open(block).read_all() == block.content
        assert blocks.open(more).read_all() == more.content


def test_snapshot_of_a_frozen_xfs(tmp_path):
    """A frozen XFS has an entry in its log, as if it were in use."""
    with XfsOwner(tmp_path) as owner:
        block = owner.write(1, content(1, 100_000))
        with owner.frozen():
            snapshot = Owner.crash(owner, "snapshot.raw")
        with blockctl(dn1=DataDirs(snapshot, ["/data"])) as blocks:
            assert blocks.open(block).read_all() == block.content


def test_blocks_that_share_extents(tmp_path):
    """A reflink copy of a block stays what it was when the block is written in place, and when it
    is deleted."""
    with XfsOwner(tmp_path) as owner, owner.blockctl() as blocks:
        block = owner.write(1, content(1, 300_000))
        copy = LiveBlock(2, block.content)
        for file in (owner.data, owner.meta):
            command = ["cp", "--reflink=always", file(block), file(copy)]
            subprocess.run(command, check=True)
        owner.fsync(copy)
        assert owner.places(block) == owner.places(copy)
        handle = blocks.open(copy)
        assert handle.read(0, 100) == copy.content[:100]
        longer = owner.append(block, content(3, 50_000))
        with open(owner.data(longer), "r+b") as file:
            file.write(content(4, 200_000))
        changed = content(4, 200_000) + longer.content[200_000:]
        owner.meta(longer).write_bytes(meta_bytes(changed))
        owner.fsync(longer)
        assert blocks.open(longer).read_all() == changed
        assert handle.read_all() == copy.content
        owner.delete(longer)
        owner.commit()
        for n in range(10, 20):
            owner.fsync(owner.write(n, content(n, 300_000)))
        assert handle.read_all() == copy.content


@pytest.mark.parametrize("options", ["logbsize=256k", "wsync"])
def test_xfs_with_other_log_items(tmp_path, options):
    with XfsOwner(tmp_path) as owner, owner.blockctl() as blocks:
        owner.unmount()
        owner.mount(*options.split(","))
        there = [owner.write(n, content(n, 30_000 * n + 1)) for n in range(10)]
        for block in there:
            os.chown(owner.data(block), 1000 + block.id, 1000 + block.id)
            owner.fsync(block)
        for block in there[::2]:
            owner.delete(block)
        owner.commit()
        for n, block in enumerate(there):
            if n % 2:
                assert blocks.open(block).read_all() == block.content
            else:
                refused(lambda block=block: blocks.open(block), "ENOENT")


def test_extents_in_the_wrong_order(tmp_path):
    """The kernel refuses such an inode."""
    directory = DataDirectory(tmp_path / "data")
    block = directory.add(1, 100 * 1024)
    disk = without_checksums(tmp_path, directory)
    where = inode_offset(disk, disk.inside(block.path))
    first = int(disk.debugfs(f"blocks {disk.inside(block.path)}", write=False).split()[-100])
    halves = (50, 50, first + 50), (0, 50, first)
    root = b"".join(struct.pack("<IHHI", at, length, 0, place) for at, length, place in halves)
    with disk.blockctl() as blocks:
        assert blocks.open(block).read_all() == block.content()
        write_at(disk, where + 0x28, extent_header(2, 0, 4) + root)
        refused(lambda: blocks.open(block), "EIO")


UNKNOWN = b"""
tags = ["a \\"quoted\\" tag", "# no comment", "data { stripes = [] }"]
read_ahead = -1 # of a later release
profile { name = "x" numbers = [1, 2.5, "three"] }
later_field = "\xc3\xa4"
"""


def test_unknown_words_of_lvm(tmp_path):
    """Fields, sections, flags and tags of a later release, and quotes and braces in texts."""
    directory = DataDirectory(tmp_path / "tree/data")
    block = directory.add(1, 300_000)
    disk = empty_disk(tmp_path / "disk", 48)
    with VolumeGroup("vg", [Physical(disk)]) as group:
        group.create("data", 24)
        group.write("data", make_ext(tmp_path / "fs", tmp_path / "tree"))
    metadata = Metadata(disk)
    metadata.replace(lambda text: text.replace(b"extent_size = ", UNKNOWN + b"extent_size = "))
    with blockctl(dn1=DataDirs(disk, ["/data"])) as blocks:
        assert blocks.open(block).read_all() == block.content()


SHAPES = {
    "log-su-4k": ["-l", "su=4096"],
    "log-su-256k": ["-d", "agcount=2", "-l", "su=262144"],
    "sectors-4k-log-su-32k": ["-s", "size=4096", "-l", "su=32768"],
    "one-group": ["-d", "agcount=1"],
    "many-groups": ["-d", "agcount=4"],
    "large-inodes": ["-i", "size=2048"],
    "directory-blocks-64k": ["-n", "size=65536"],
    "512-byte-inodes-8k-blocks": ["-b", "size=8192", "-i", "size=512"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_xfs_of_another_shape(tmp_path, monkeypatch, shape):
    monkeypatch.setitem(XFS, shape, SHAPES[shape])
    with XfsOwner(tmp_path, shape, mib=128) as owner, owner.blockctl() as blocks:
        there = churn(owner, seed=3, count=60)
        for block in there:
            owner.fsync(block)
        for block in there:
            assert blocks.open(block).read_all() == block.content
        owner.unmount()
        for block in there:
            assert blocks.open(block).read_all() == block.content


@pytest.mark.parametrize("make", [Owner, XfsOwner])
def test_log_on_another_device(tmp_path, monkeypatch, make):
    """While it is in use it is refused, with the reason; an ext4 that was unmounted is served."""
    log = tmp_path / "log"
    with open(log, "wb") as file:
        file.truncate(64 << 20)
    device = subprocess.run(
        ["losetup", "-f", "--show", log], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        if make is Owner:
            command = ["/sbin/mke2fs", "-q", "-F", "-b", "1024", "-O", "journal_dev", device]
            subprocess.run(command, check=True, capture_output=True)
            monkeypatch.setitem(VARIANTS, "log", (["-b", "1024", "-J", f"device={device}"], ""))
        else:
            monkeypatch.setitem(XFS, "log", ["-l", f"logdev={device},size=32m"])
            monkeypatch.setattr(XfsOwner, "mount", with_log(device))
        with make(tmp_path, "log") as owner:
            block = owner.write(1, content(1, 50_000))
            owner.fsync(block)
            with owner.blockctl() as blocks:
                assert "on another device" in blocks.status()[0]["missing"]
                owner.unmount()
                blocks.look()
                if make is Owner:
                    assert blocks.open(block).read_all() == block.content
                else:
                    assert "on another device" in blocks.status()[0]["missing"]
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


def with_log(device):
    mount = XfsOwner.mount
    return lambda owner, *options: mount(owner, f"logdev={device}", *options)


@pytest.mark.parametrize("label", ["gpt", "dos"])
def test_partition_grows_under_readers(tmp_path, label):
    directory = DataDirectory(tmp_path / "tree/data")
    block = directory.add(1, 300_000)
    disk = partitioned(tmp_path / "disk", label, make_ext(tmp_path / "fs", tmp_path / "tree"))
    with blockctl(dn1=DataDirs(disk, ["/data"])) as blocks:
        handle = blocks.open(block)
        assert handle.read(0, 100) == block.content()[:100]
        os.truncate(disk, 96 << 20)
        command = ["/sbin/sfdisk", "-q", "--no-reread", "-N", "1", disk]
        subprocess.run(command, input=b", +\n", check=True, capture_output=True)
        refused(handle.read_all, "EAGAIN")
        blocks.look()
        assert blocks.open(block).read_all() == block.content()
        (system,) = blocks.status()[0]["filesystems"]
        assert system["length"] > 64 << 20
