# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks on every kind of ext4 must be read: as mke2fs made the file system, while this machine's
kernel has it mounted and writes, and afterwards.  Kinds that the kernel cannot mount are only read
clean."""

import ctypes
import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.support.disk import BlockError
from tests.support.hdfs_dir import DataDirectory
from tests.support.owner import Owner, needs_root, variants

pytestmark = [needs_root, pytest.mark.usefixtures("both_builds")]
MIB = 1 << 20
LENGTHS = (0, 1, 59, 60, 61, 140, 511, 513, 5000, 300_001, 700_007)
OLD = ["-O", "^64bit,^metadata_csum"]

# name: (arguments of mke2fs, MiB)
KINDS = {
    "1k": (["-b", "1024"], 32),
    "2k": (["-b", "2048"], 32),
    "4k": (["-b", "4096"], 32),
    "8k": (["-b", "8192"], 64),
    "16k": (["-b", "16384"], 64),
    "32k": (["-b", "32768"], 64),
    "64k": (["-b", "65536"], 128),
    "ext2": (["-t", "ext2"], 32),
    "ext3": (["-t", "ext3"], 32),
    "rev-0": (["-t", "ext2", "-r", "0"], 32),
    "no-flex-bg": (["-b", "1024", "-O", "^flex_bg"], 32),
    "meta-bg": (["-b", "1024", "-O", "meta_bg,^resize_inode"], 48),
    "meta-bg-32bit": (["-b", "1024", "-O", "meta_bg,^resize_inode,^64bit,^metadata_csum"], 48),
    "uninit-bg": (["-O", "uninit_bg,^metadata_csum"], 32),
    "no-checksums-32bit": (OLD, 32),
    "bigalloc-16k": (["-O", "bigalloc", "-C", "16384"], 48),
    "bigalloc-1k-blocks": (["-b", "1024", "-O", "bigalloc", "-C", "65536"], 48),
    "bigalloc-64k-blocks": (["-b", "65536", "-O", "bigalloc", "-C", "1048576"], 256),
    "inline-data": (["-O", "inline_data"], 32),
    "inline-data-large-inodes": (["-I", "1024", "-O", "inline_data"], 32),
    "inline-data-1k": (["-b", "1024", "-O", "inline_data"], 32),
    "128-byte-inodes": (["-I", "128", *OLD], 32),
    "4096-byte-inodes": (["-b", "4096", "-I", "4096", "-N", "512"], 48),
    "block-maps": (["-O", "^extent,^64bit"], 32),
    "no-filetype": (["-O", "^filetype"], 32),
    "no-dir-index": (["-O", "^dir_index"], 32),
    "ea-inode": (["-O", "ea_inode"], 32),
    "large-dir": (["-O", "large_dir"], 32),
    "orphan-file": (["-O", "orphan_file"], 32),
    "fast-commit": (["-O", "fast_commit"], 32),
    "sparse-super2": (["-b", "1024", "-O", "sparse_super2,^resize_inode"], 32),
    "quota": (["-O", "quota,project"], 32),
    "mmp": (["-O", "mmp"], 32),
    "casefold": (["-O", "casefold"], 32),
    "encrypt-verity": (["-O", "encrypt,verity,stable_inodes"], 32),
    "metadata-csum-seed": (["-O", "metadata_csum_seed"], 32),
    "huge-groups": (["-g", "2048", "-b", "1024", "-G", "4"], 32),
}
WITHOUT_JOURNAL = ("ext2", "rev-0")
# make check reads the smallest and the largest blocks, and each way in which ext4 stores the data
# of a file.
QUICK = ("1k", "64k", "ext2", "ext3", "bigalloc-16k", "inline-data", "block-maps", "casefold")


def fill(directory):
    for number, length in enumerate(LENGTHS):
        directory.add(1000 + number, length)
        directory.add(-1000 - number, length, finalized=number % 2 == 0)


def blocks_of(folder):
    """Makes the same blocks again, only for their ids and lengths."""
    directory = DataDirectory(folder)
    return [
        directory.add(sign * (1000 + number), length, finalized=sign > 0 or number % 2 == 0)
        for number, length in enumerate(LENGTHS)
        for sign in (1, -1)
    ]


def read_all(control, blocks, contents):
    for block in blocks:
        handle = control.open(block)
        assert handle.length == len(contents[block.id]), block.id
        assert handle.read_all() == contents[block.id], block.id
        handle.close()


def kind_of(folder, name):
    options, mib = KINDS[name]
    try:
        return Owner(folder, (options, ""), mib=mib, fill=fill)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no such mke2fs here: {error.stderr.decode().strip()}")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    blocks = blocks_of(tmp_path_factory.mktemp("known") / "data")
    return blocks, {block.id: block.content() for block in blocks}


def write_and_append(owner):
    """Writes blocks and appends to them: data moves out of the inode, files get more extents."""
    blocks = [owner.write(5000 + n, os.urandom(length)) for n, length in enumerate(LENGTHS)]
    for block in blocks:
        owner.fsync(block)
    blocks = [owner.append(block, os.urandom(2000)) for block in blocks]
    for block in blocks:
        owner.fsync(block)
    return blocks


@pytest.mark.parametrize("kind", variants(KINDS, QUICK))
def test_every_block(tmp_path, known, kind):
    owner = kind_of(tmp_path, kind)
    with owner.blockctl() as control:
        read_all(control, *known)
        try:
            owner.mount()
        except pytest.skip.Exception:
            return
        try:
            grown = write_and_append(owner)
            contents = {block.id: block.content for block in grown}
            if kind in WITHOUT_JOURNAL:
                with pytest.raises(BlockError, match="EBUSY"):
                    control.open(grown[0])
            else:
                read_all(control, *known)
                read_all(control, grown, contents)
        finally:
            owner.unmount()
        read_all(control, *known)
        read_all(control, grown, contents)


def punch_every_second(path, size, unit):
    """Frees every second block of the file, so that free space is in single blocks."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    descriptor = os.open(path, os.O_RDWR)
    try:
        for offset in range(0, size, 2 * unit):
            keep_size_punch = 1 | 2
            assert libc.fallocate(descriptor, keep_size_punch, offset, unit) == 0
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def shred(owner, unit):
    """Fragments the free space: afterwards each block of a new file is an extent of its own."""
    path = owner.root / "ballast"
    free = os.statvfs(owner.root)
    size = (free.f_bavail * free.f_frsize - 2 * MIB) // unit * unit
    with open(path, "wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, size)
    punch_every_second(path, size, unit)
    with open(owner.root / "rest", "wb") as rest:
        free = os.statvfs(owner.root)
        os.posix_fallocate(rest.fileno(), 0, free.f_bavail * free.f_frsize - size // 2 - MIB)


def levels_of(owner, path):
    inner = path.relative_to(owner.root)
    text = subprocess.run(
        ["/sbin/debugfs", "-R", f"dump_extents /{inner}", owner.path],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    leaves = [line for line in text.splitlines() if line.lstrip()[:1].isdigit()]
    return max(int(line.split("/")[1].split()[0]) for line in leaves), len(leaves)


def test_shredded(tmp_path):
    """A block whose extent tree has three levels and thousands of leaves must be read, mounted and
    clean."""
    with Owner(tmp_path, (["-b", "1024", "-J", "size=4"], ""), mib=48) as owner:
        shred(owner, 1024)
        block = owner.write(1, random.Random(1).randbytes(9 * MIB))
        owner.fsync(block)
        with owner.blockctl() as control:
            assert control.open(block).read_all() == block.content
            owner.unmount()
            levels, leaves = levels_of(owner, owner.data(block))
            assert levels >= 2 and leaves > 4000
            assert control.open(block).read_all() == block.content


@pytest.mark.thorough
def test_triple_indirect(tmp_path):
    """A file without extents whose end is behind triple indirect blocks, which begin at 64 MiB with
    1 KiB blocks.  Reads at all levels must be right."""
    options = ["-b", "1024", "-O", "^extent,^64bit,^metadata_csum", "-J", "size=4"]
    content = random.Random(3).randbytes(66 * MIB)
    with Owner(tmp_path, (options, ""), mib=96) as owner:
        block = owner.write(1, content)
        owner.fsync(block)
        with owner.blockctl() as control:
            handle = control.open(block)
            for offset in (0, 11 * 1024, 267 * 1024, 65803 * 1024, 66 * MIB - 1):
                assert handle.read(offset, 300_000) == content[offset : offset + 300_000]


def test_large_directory(tmp_path):
    """Blocks must be found in a directory with 20,000 other names, which is an htree."""
    with Owner(tmp_path, "1k", mib=64) as owner:
        blocks = [owner.write(n, bytes([n]) * 700) for n in (1, 2)]
        folder = owner.data(blocks[0]).parent
        for n in range(20_000):
            os.link(folder / "blk_1", folder / f"another-name-{n}")
        blocks.append(owner.write(3, b"3" * 700))
        for block in blocks:
            owner.fsync(block)
        with owner.blockctl() as control:
            for block in blocks:
                assert control.open(block).read_all() == block.content
            with pytest.raises(BlockError, match="ENOENT"):
                control.open(blocks[0], id=4)


def physical_of(owner, block):
    inner = owner.data(block).relative_to(owner.root)
    text = subprocess.run(
        ["/sbin/debugfs", "-R", f"blocks /{inner}", owner.path],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return int(text.split()[0])


def test_more_than_32_bits(tmp_path):
    """A block whose inode and data lie beyond block 2^32, on 4.2 TiB with 1 KiB blocks, must be
    read."""
    features = "64bit,bigalloc,^resize_inode,sparse_super2"
    options = ["-b", "1024", "-C", "65536", "-i", "16777216", "-O", features, "-J", "size=4"]
    with Owner(tmp_path, (options, "noinit_itable"), mib=4300 << 10) as owner:
        found = ["findmnt", "-n", "-o", "SOURCE", owner.root]
        device = subprocess.run(found, check=True, capture_output=True, text=True).stdout
        inodes = os.statvfs(owner.root).f_files
        goal = Path("/sys/fs/ext4") / Path(device.strip()).name / "inode_goal"
        goal.write_text(str(inodes - 64))
        block = owner.write(1, os.urandom(MIB))
        owner.fsync(block)
        assert owner.data(block).stat().st_ino > inodes - 128
        with owner.blockctl() as control:
            assert control.open(block).read_all() == block.content
            owner.unmount()
            assert physical_of(owner, block) > 1 << 32
            assert control.open(block).read_all() == block.content


@pytest.mark.parametrize("flag", [0x800, 0x100000], ids=["encrypted", "verity"])
def test_not_plain_bytes(tmp_path, known, flag):
    """A data file is marked as encrypted or verity; only this block must be refused."""
    owner = kind_of(tmp_path, "4k")
    blocks, contents = known
    block = next(block for block in blocks if block.length == 5000)
    path = f"/data/{block.path}"
    subprocess.run(
        ["/sbin/debugfs", "-w", "-R", f"sif {path} flags {0x80000 | flag}", owner.path],
        check=True, capture_output=True,
    )  # fmt: skip
    with owner.blockctl() as control:
        with pytest.raises(BlockError, match="ENODATA"):
            control.open(block)
        read_all(control, [other for other in blocks if other is not block], contents)
