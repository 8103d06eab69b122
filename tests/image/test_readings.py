# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that can be read in several ways, because they were used before in another way, or because
an image does not say how long the sectors of its disk are.  The guest's kernel knows; the reading
that has the data directories must be found.  Where two have some, both must be named."""

import struct
import subprocess

import pytest

from tests.image.test_discover import DIR, NOT_THERE, data_dirs, found, make_zfs, tree_with, why_not
from tests.support.disk import blockctl
from tests.support.owner import needs_root
from tests.support.volumes import MIB, make_ext
from tests.support.xfs_owner import make_xfs
from tools.vreadd import DataDirs

pytestmark = pytest.mark.usefixtures("both_builds")
START = 32 * MIB  # of the one partition of these disks: behind the metadata of an old file system


def old_ext4(path, tree=None):
    make_ext(path, tree, mib=64)


def old_xfs(path, _=None):
    make_xfs(path)


@pytest.fixture
def content(tmp_path):
    """(a block, a small ext4 with its data directory)"""
    tree, directory = tree_with(tmp_path / "new-tree", storage="DS-new")
    block = directory.add(7, 300_000)
    return block, make_ext(tmp_path / "fs", tree).read_bytes()


def put(image, offset, data):
    with open(image, "r+b") as disk:
        disk.seek(offset)
        disk.write(data)
    return image


def run_fdisk(image, script, sector):
    """Writes a table over the image, and nothing else.  Like parted, it keeps the boot code."""
    with open(image, "rb") as disk:
        boot_code = disk.read(440)
    command = ["/sbin/fdisk", "--wipe", "never", "--wipe-partitions", "never", "-b", str(sector)]
    script = "".join(f"{line}\n" for line in script)
    done = subprocess.run([*command, image], input=script, capture_output=True, text=True)
    assert done.returncode == 0 and "has been altered" in done.stdout, (done.stdout, done.stderr)
    return put(image, 0, boot_code)


def fdisk(image, label, volume, sector=512):
    """Writes a table with one partition over the image, and the partition's content."""
    put(image, START, volume)
    numbers = [*("p" if label == "o" else ""), 1, START // sector]
    last = (START + len(volume)) // sector - 1
    return run_fdisk(image, [label, "n", *numbers, last, "w"], sector)


def served(image, block, partition):
    systems, missing = found(image, DIR)
    assert (data_dirs(systems), missing) == ([(partition, DIR, block.storage)], None)
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        assert control.open(block).read_all() == block.content()


# ---- tables that were written over a file system -------------------------------------------------


@pytest.mark.parametrize("make", [old_ext4, old_xfs])
@pytest.mark.parametrize(("label", "partition"), [("o", "mbr:1"), ("g", "gpt:1")])
def test_table_over_a_file_system(tmp_path, content, make, label, partition):
    block, volume = content
    make(tmp_path / "disk")
    served(fdisk(tmp_path / "disk", label, volume), block, partition)


def test_file_system_over_a_table(tmp_path):
    """The other way round: the disk had partitions, and its new file system takes the whole disk.
    mke2fs wipes the header of the table, which other tools leave."""
    image = tmp_path / "disk"
    image.write_bytes(bytes(64 * MIB))
    fdisk(image, "g", bytes(MIB))
    with open(image, "rb") as disk:
        disk.seek(512)
        header = disk.read(512)
    tree, directory = tree_with(tmp_path / "tree")
    block = directory.add(7, 300_000)
    old_ext4(image, tree)
    served(put(image, 512, header), block, "none")


def test_what_was_tried_is_said(tmp_path):
    old_ext4(tmp_path / "disk")
    empty = make_ext(tmp_path / "fs").read_bytes()
    missing = why_not(fdisk(tmp_path / "disk", "o", empty))
    assert f"the whole disk (ext4): {NOT_THERE}; partition mbr:1 (ext4): {NOT_THERE}." in missing


# ---- two that have it ----------------------------------------------------------------------------


@pytest.fixture
def twice(tmp_path, content):
    """(a disk whose old use and new use have the directory, a block of each)"""
    tree, directory = tree_with(tmp_path / "old-tree", storage="DS-old")
    old = directory.add(7, 300_000)
    old_ext4(tmp_path / "disk", tree)
    new, volume = content
    return fdisk(tmp_path / "disk", "o", volume), old, new


def test_both_have_it(twice):
    image, *_ = twice
    missing = why_not(image)
    assert f"image {image}: no data directory {DIR}: the whole disk (ext4, UUID " in missing
    assert " and partition mbr:1 (ext4, UUID " in missing
    assert "share bytes and both have data directories" in missing
    assert "formatted" not in missing


@needs_root
@pytest.mark.parametrize("partition", ["mbr:1", "none"])
def test_the_one_in_use_counts(tmp_path, twice, partition):
    image, old, new = twice
    root = tmp_path / "root"
    root.mkdir()
    place = f",offset={START},sizelimit={24 * MIB}" if partition == "mbr:1" else ""
    subprocess.run(["mount", "-o", f"loop{place}", image, root], check=True)
    try:
        subprocess.run(["sync", "-f", root], check=True)
        served(image, new if partition == "mbr:1" else old, partition)
    finally:
        subprocess.run(["umount", root], check=True)


# ---- sectors of 4096 bytes -----------------------------------------------------------------------


@pytest.mark.parametrize(("label", "partition"), [("o", "mbr:1"), ("g", "gpt:1")])
def test_large_sectors(tmp_path, content, label, partition):
    block, volume = content
    image = tmp_path / "disk"
    image.write_bytes(bytes(64 * MIB))
    served(fdisk(image, label, volume, sector=4096), block, partition)


def test_logical_partitions_in_large_sectors(tmp_path, content):
    block, volume = content
    image = tmp_path / "disk"
    image.write_bytes(bytes(64 * MIB))
    put(image, START + 2 * MIB, volume)
    first = [START // 4096, ""]
    logical = [(START + 2 * MIB) // 4096, ""]
    run_fdisk(image, ["o", "n", "e", 1, *first, "n", "l", *logical, "w"], 4096)
    served(image, block, "mbr:5")


@needs_root
def test_block_device_of_large_sectors(tmp_path, content):
    block, volume = content
    image = tmp_path / "disk"
    image.write_bytes(bytes(64 * MIB))
    fdisk(image, "g", volume, sector=4096)
    done = subprocess.run(
        ["losetup", "--find", "--show", "--sector-size", "4096", image],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"no loop device of such sectors here: {done.stderr.strip()}")
    device = done.stdout.strip()
    try:
        served(device, block, "gpt:1")
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def test_large_sectors_without_the_directory(tmp_path):
    image = tmp_path / "disk"
    image.write_bytes(bytes(64 * MIB))
    fdisk(image, "g", make_ext(tmp_path / "fs").read_bytes(), sector=4096)
    said = f"partition gpt:1 in sectors of 4096 bytes (ext4): {NOT_THERE}."
    assert said in why_not(image)


def test_truncated_table_of_large_sectors(tmp_path, content):
    image = tmp_path / "disk"
    image.write_bytes(bytes(64 * MIB))
    fdisk(image, "g", content[1], sector=4096)
    with open(image, "r+b") as disk:
        disk.truncate(32 * MIB)
    assert f"is truncated: it has {32 * MIB} bytes, but its GPT ends at byte" in why_not(image)


# ---- labels of containers ------------------------------------------------------------------------


@pytest.mark.parametrize("partitioned", [True, False])
def test_left_over_zfs_labels(tmp_path, partitioned):
    """Two of the four labels are at the end, where a new file system has free space."""
    tree, directory = tree_with(tmp_path / "tree")
    block = directory.add(7, 300_000)
    label = make_zfs(tmp_path / "zfs").read_bytes()[: 256 << 10]
    volume = make_ext(tmp_path / "fs", tree, mib=64)
    put(volume, 64 * MIB - 2 * len(label), 2 * label)
    assert "zfs_member" in subprocess.check_output(["/sbin/wipefs", volume], text=True)
    image = volume
    if partitioned:
        image = tmp_path / "disk"
        image.write_bytes(bytes(100 * MIB))
        fdisk(image, "g", volume.read_bytes())
    served(image, block, "gpt:1" if partitioned else "none")


def raid_superblock(sectors):
    """(offset, superblock) of a member of a mirror with the superblock at the end (version 1.0)."""
    at = (sectors - 16) & ~7
    block = bytearray(256)
    struct.pack_into("<IIII", block, 0, 0xA92B4EFC, 1, 0, 0)
    block[16:32] = b"uuid of the mirr"
    struct.pack_into("<QIIQIIQ", block, 64, 1, 1, 0, at, 0, 2, 0)
    struct.pack_into("<QQQ", block, 128, 0, at, at)
    struct.pack_into("<II", block, 216, 0, 0)
    words = struct.unpack(f"<{len(block) // 4}I", block)
    total = sum(words)
    struct.pack_into("<I", block, 216, ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)
    return at * 512, bytes(block)


def test_member_of_a_mirror(tmp_path, content):
    """The file system of a mirror ends before the label at the end of its members.  One member may
    have older bytes than the other, so it must not be read."""
    _, volume = content
    image = tmp_path / "disk"
    image.write_bytes(volume + bytes(MIB))
    put(image, *raid_superblock(image.stat().st_size // 512))
    assert "the whole disk is part of a RAID of its guest" in why_not(image)


def test_left_over_label_of_a_mirror(tmp_path, content):
    """A file system that was made over a member without wiping it reaches behind the label."""
    block, volume = content
    image = tmp_path / "disk"
    image.write_bytes(volume)
    put(image, *raid_superblock(len(volume) // 512))
    done = subprocess.run(
        ["/sbin/blkid", "-p", "-o", "value", "-s", "TYPE", image], capture_output=True, text=True
    )
    assert done.stdout.strip() == "linux_raid_member"  # what one guess says
    served(image, block, "none")
