# SPDX-License-Identifier: GPL-2.0-or-later
"""Block files with holes, as moving a datanode's disk leaves them.  Holes inside a committed length
must be read as zeros.  While the owner has the file system mounted, its memory may have the bytes
of a hole or of an unwritten extent: then a block whose checksums do not match is ENODATA, not
damaged."""

import itertools
import os
import subprocess

import pytest

from tests.support.disk import Disk, blockctl
from tests.support.formats import COPIES
from tests.support.hdfs_dir import DataDirectory, crc32c_of, meta_bytes
from tests.support.live import content, kinds, refused
from tests.support.owner import Owner, needs_root
from tests.support.xfs_owner import XfsOwner
from tools.vreadd import DataDirs

MIB = 1 << 20
DIG = ("fallocate", "--dig-holes", "{path}")
TOOLS = {
    "fallocate": (DIG,),
    "cp": (
        ("cp", "--reflink=never", "--sparse=always", "{path}", "{path}.copy"),
        ("mv", "{path}.copy", "{path}"),
    ),
    "rsync": (("rsync", "--sparse", "{path}", "{path}.copy"), ("mv", "{path}.copy", "{path}")),
}


def run(path, *commands):
    for command in commands:
        words = [word.format(path=path) for word in command]
        subprocess.run(words, check=True, capture_output=True)


def has_hole(path):
    with open(path, "rb") as file:
        return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < path.stat().st_size


def content_with_zeros():
    """Zeros at the start, within, at the end, and beside other bytes of one checksum."""
    return b"".join(
        (
            bytes(300_000), content(1, 100_001), bytes(3 * MIB), content(2, 70_000),
            bytes(5_000), content(3, 4096), bytes(200_007),
        )
    )  # fmt: skip


def chunk_with_checksum_0():
    """512 bytes whose CRC32C is 0.  Each bit of the last four bytes changes the CRC32C by its own
    pattern of bits; the patterns are solved as linear equations."""
    head = content(4, 508)

    def crc(tail):
        return crc32c_of(head + tail.to_bytes(4, "little"))

    wanted, tail, rows = crc(0), 0, []
    for bit in range(32):
        pattern, bits = crc(1 << bit) ^ crc(0), 1 << bit
        for top, row, row_bits in rows:
            if pattern >> top & 1:
                pattern, bits = pattern ^ row, bits ^ row_bits
        top = pattern.bit_length() - 1
        rows = [(t, r ^ pattern, b ^ bits) if r >> top & 1 else (t, r, b) for t, r, b in rows] + [
            (top, pattern, bits)
        ]
    for top, _, bits in rows:
        if wanted >> top & 1:
            tail ^= bits
    assert crc(tail) == 0
    return head + tail.to_bytes(4, "little")


CONTENTS = {
    "parts": content_with_zeros,
    "all": lambda: bytes(MIB + 5),  # the data file has no extent
    "meta": lambda: 2048 * 4 * chunk_with_checksum_0() + content(5, 1000),
}


@pytest.fixture(params=kinds())
def owner(request, tmp_path):
    make, variant = request.param
    with make(tmp_path, variant) as owner:
        yield owner


@pytest.fixture
def blocks(owner):
    with owner.blockctl() as control:
        yield control


def make_sparse(owner, block, tool):
    for path in (owner.data(block), owner.meta(block)):
        run(path, *TOOLS[tool])
    owner.fsync(block)


@needs_root
def test_made_sparse_by_a_tool(owner, blocks):
    """Files become sparse under open handles, are read while mounted, and afterwards."""
    wanted = {kind: make() for kind, make in CONTENTS.items()}
    written = [
        (owner.write(n, wanted[kind]), kind, tool)
        for n, (kind, tool) in enumerate(itertools.product(CONTENTS, TOOLS))
    ]
    handles = {}
    for block, _, _ in written:
        owner.fsync(block)
        handles[block] = blocks.open(block)
        assert handles[block].read_all() == block.content
    for block, kind, tool in written:
        make_sparse(owner, block, tool)
        assert has_hole(owner.meta(block) if kind == "meta" else owner.data(block)), (kind, tool)
        assert handles[block].read_all() == block.content
    for change in (None, owner.unmount, owner.mount):
        if change:
            change()
        for block, _, _ in written:
            assert blocks.open(block).read_all() == block.content
        assert {entry["status"] for entry in blocks.list()} == {"ok"}


PUNCH, ZERO = "--punch-hole", "--zero-range"  # holes; unwritten extents


@needs_root
@pytest.mark.parametrize("how", [PUNCH, ZERO])
@pytest.mark.parametrize("make", [Owner, XfsOwner])
def test_bytes_that_are_not_committed_yet(tmp_path, make, how):
    """The state of a file in the middle of its write-back: the size is committed, and a part of the
    bytes is in the owner's memory only.  Its extent is missing or unwritten."""
    with make(tmp_path, "default") as owner, owner.blockctl() as blocks:
        block = owner.write(1, content(1, MIB))
        owner.fsync(block)
        handle = blocks.open(block)
        run(owner.data(block), ("fallocate", how, "-o", "65536", "-l", "65536", "{path}"))
        owner.fsync(block)
        refused(lambda: blocks.open(block), "ENODATA")
        refused(lambda: handle.read(0, 1), "EAGAIN")
        part = blocks.open(block, 65536)
        assert part.read_all() == block.content[:65536]
        refused(lambda: blocks.open(block, 65537), "ENODATA")
        with open(owner.data(block), "r+b") as file:
            file.seek(65536)
            file.write(block.content[65536:131072])
        owner.fsync(block)
        assert blocks.open(block).read_all() == block.content
        assert part.read_all() == block.content[:65536]


@needs_root
@pytest.mark.parametrize("make", [Owner, XfsOwner])
def test_only_the_first_hole_is_committed(tmp_path, make):
    """Parts that are committed must be read, and those that are not must be refused at each read,
    not only when the block is opened."""
    with make(tmp_path, "default") as owner, owner.blockctl() as blocks:
        block = owner.write(1, bytes(262_144) + content(1, 3 * MIB))
        owner.fsync(block)
        run(owner.data(block), ("fallocate", PUNCH, "-l", "131072", "{path}"))
        run(owner.data(block), ("fallocate", PUNCH, "-o", "1048576", "-l", "65536", "{path}"))
        owner.fsync(block)
        handle = blocks.open(block)
        assert handle.read(0, MIB) == block.content[:MIB]
        for offset in (MIB, MIB + 65535, MIB - 1):
            refused(lambda offset=offset: handle.read(offset, 2), "ENODATA")
        assert handle.read(MIB + 65536, MIB) == block.content[MIB + 65536 : 2 * MIB + 65536]


@needs_root
@pytest.mark.parametrize("make", [Owner, XfsOwner])
def test_hole_in_meta(tmp_path, make):
    with make(tmp_path, "default") as owner, owner.blockctl() as blocks:
        block = owner.write(1, content(1, 4 * MIB))
        owner.fsync(block)
        run(owner.meta(block), ("fallocate", PUNCH, "-o", "16384", "-l", "16384", "{path}"))
        owner.fsync(block)
        refused(lambda: blocks.open(block), "ENODATA")
        assert blocks.open(block, MIB).read_all() == block.content[:MIB]
        owner.meta(block).write_bytes(meta_bytes(block.content))
        owner.fsync(block)
        assert blocks.open(block).read_all() == block.content


@needs_root
@pytest.mark.parametrize("make", [Owner, XfsOwner])
def test_unwritten_extents_are_zeros(tmp_path, make):
    """XFS also leaves unwritten extents where it had allocated more than was written, as after
    `rsync --sparse`."""
    with make(tmp_path, "default") as owner, owner.blockctl() as blocks:
        block = owner.write(1, content(1, 65536) + bytes(300_000) + content(2, 5000))
        owner.fsync(block)
        run(owner.data(block), ("fallocate", ZERO, "-o", "65536", "-l", "300000", "{path}"))
        owner.fsync(block)
        assert blocks.open(block).read_all() == block.content
        owner.unmount()
        assert blocks.open(block).read_all() == block.content


@pytest.mark.parametrize("name", COPIES)
def test_in_images_with_tables(name, tmp_path):
    directory = DataDirectory(tmp_path / "data")
    block = directory.add(1, 1)
    wanted = content_with_zeros()
    block.data.write_bytes(wanted)
    block.meta.write_bytes(meta_bytes(wanted))
    run(block.data, DIG)
    assert has_hole(block.data)
    disk = Disk(tmp_path, [directory])
    prefix, make = COPIES[name]
    path = make(tmp_path, disk.path)
    with blockctl(dn1=DataDirs(f"{prefix}:{path}", ["/dfs/data"])) as blocks:
        assert blocks.open(block).read_all() == wanted
