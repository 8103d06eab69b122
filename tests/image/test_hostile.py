# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile file systems.  Whatever the metadata says, the reader must end soon, without a report of
the sanitizers, with the block's right bytes or an error."""

import random
import re
import shutil
import struct

import pytest

from tests.support.disk import BlockError, Disk
from tests.support.hdfs_dir import DataDirectory
from tests.support.owner import variants

pytestmark = pytest.mark.usefixtures("both_builds")

KIB = 1024


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    directory = DataDirectory(folder / "data")
    blocks = [directory.add(1073741825 + n, 60_000 + n) for n in range(4)]
    return Disk(folder, [directory], table="none", block_size=1024), blocks


@pytest.fixture
def disk(original, tmp_path):
    """(a copy of the disk that the test may damage, its blocks)"""
    pristine, blocks = original
    copy = object.__new__(Disk)
    vars(copy).update(vars(pristine))
    copy.path = tmp_path / "disk.raw"
    shutil.copy(pristine.path, copy.path)
    return copy, blocks


def read_what_can_be_read(disk, blocks):
    """Reads all blocks.  Those that can be read must be right; returns their number."""
    right = 0
    try:
        with disk.blockctl() as control:
            for block in blocks:
                try:
                    data = control.open(block).read_all()
                except BlockError:
                    continue
                assert data == block.content()
                right += 1
            try:
                control.list()
            except BlockError as error:
                assert error.name in ("EIO", "ENOMEM")
    except BlockError:
        return 0
    return right


def inode_places(disk, *paths):
    """Offsets, in the image, of the inodes of these paths."""
    told = disk.debugfs(*[f"imap {path}" for path in paths], write=False)
    found = re.findall(r"located at block (\d+), offset 0x([0-9a-f]+)", told)
    return [int(block) * KIB + int(offset, 16) for block, offset in found]


def metadata_offsets(disk, blocks):
    """[(offset, length)] of metadata that the reader must read: superblock, group descriptors,
    inodes, directories."""
    places = [(KIB, 264), (2 * KIB, 256)]
    paths = ["/", "/dfs", "/dfs/data", "/dfs/data/current"]
    paths += [disk.inside(block.path).rsplit("/", 1)[0] for block in blocks[:1]]
    paths += [disk.inside(block.path) for block in blocks] + [disk.meta_of(b) for b in blocks]
    places += [(offset, 160) for offset in inode_places(disk, *paths)]
    for path in paths[:5]:
        numbers = disk.debugfs(f"blocks {path}", write=False).splitlines()[-1].split()
        places += [(int(number) * KIB, 200) for number in numbers if number.isdigit()]
    assert len(places) > 15
    return places


@pytest.mark.parametrize("seed", variants(range(24), quick=range(8)))
def test_random_metadata(disk, seed):
    disk, blocks = disk
    chance = random.Random(seed)
    places = metadata_offsets(disk, blocks)
    with open(disk.path, "r+b") as image:
        for _ in range(1 + seed % 4):
            start, length = chance.choice(places)
            image.seek(start + chance.randrange(length))
            image.write(chance.choice([b"\0", b"\xff", chance.randbytes(1), chance.randbytes(4)]))
    read_what_can_be_read(disk, blocks)


def without_checksums(tmp_path, directory, **options):
    """A disk without metadata checksums, so that crafted metadata passes libext2fs's checks."""
    features = "^metadata_csum,^64bit,^uninit_bg"
    return Disk(tmp_path, [directory], table="none", block_size=1024, features=features, **options)


def inode_offset(disk, path):
    (place,) = inode_places(disk, path)
    return place


def write_at(disk, offset, data):
    with open(disk.path, "r+b") as image:
        image.seek(offset)
        image.write(data)


def free_block(disk):
    return int(disk.debugfs("ffb", write=False).split()[-1])


def extent_header(entries, depth, capacity=84):
    return struct.pack("<HHHHI", 0xF30A, entries, capacity, depth, 0)


@pytest.fixture
def plain(tmp_path):
    directory = DataDirectory(tmp_path / "data")
    block = directory.add(1073741825, 60_000)
    return without_checksums(tmp_path, directory), block


def ends_soon(disk, block, *names):
    with disk.blockctl() as control, pytest.raises(BlockError) as caught:
        control.open(block).read_all()
    assert caught.value.name in names


def test_extent_tree_that_contains_itself(plain):
    """An extent tree of five levels whose node has 84 children, each the node itself.  Following
    it would take 4e9 visits; the reader must end soon."""
    disk, block = plain
    node = free_block(disk)
    index = b"".join(struct.pack("<IIHH", n, node, 0, 0) for n in range(84))
    for depth in range(5, 0, -1):
        write_at(disk, node * KIB, extent_header(84, depth - 1 or 1) + index)
    root = extent_header(1, 5, 4) + struct.pack("<IIHH", 0, node, 0, 0)
    write_at(disk, inode_offset(disk, disk.inside(block.path)) + 0x28, root)
    ends_soon(disk, block, "EIO", "ENODATA")


def test_directory_that_never_ends(plain):
    """A well-formed folder of 7 million directory blocks, which repeat the same thousand.  The
    reader must end soon."""
    disk, block = plain
    where = inode_offset(disk, disk.inside(block.path).rsplit("/", 1)[0])
    run, first = 1000, disk.image.length // KIB - 3000
    empty = struct.pack("<IHBB", 0, 1024, 0, 0) + bytes(1016)
    write_at(disk, first * KIB, empty * run)
    top = first + run
    index = b"".join(struct.pack("<IIHH", n * 84 * run, top + 1 + n, 0, 0) for n in range(84))
    write_at(disk, top * KIB, extent_header(84, 1) + index)
    for leaf in range(84):
        extents = [struct.pack("<IHHI", (leaf * 84 + n) * run, run, 0, first) for n in range(84)]
        write_at(disk, (top + 1 + leaf) * KIB, extent_header(84, 0) + b"".join(extents))
    write_at(disk, where + 0x28, extent_header(1, 2, 4) + struct.pack("<IIHH", 0, top, 0, 0))
    write_at(disk, where + 4, struct.pack("<I", 0xFFFFFC00))
    ends_soon(disk, block, "EIO")


@pytest.mark.parametrize(
    "physical", [0xFFFFFFFF, 1 << 30, 0], ids=["last-32-bit", "far-outside", "block-0"]
)
def test_extent_outside_the_file_system(plain, physical):
    disk, block = plain
    root = extent_header(1, 0, 4) + struct.pack("<IHHI", 0, 100, 0, physical)
    write_at(disk, inode_offset(disk, disk.inside(block.path)) + 0x28, root)
    ends_soon(disk, block, "EIO")


def test_extents_that_overlap(plain):
    disk, block = plain
    root = extent_header(2, 0, 4)
    root += struct.pack("<IHHI", 0, 40, 0, 3000) + struct.pack("<IHHI", 20, 40, 0, 3100)
    write_at(disk, inode_offset(disk, disk.inside(block.path)) + 0x28, root)
    ends_soon(disk, block, "EIO")


def test_extents_of_another_file(plain, tmp_path):
    """A block's extents point to another file; the block's checksums must refuse its bytes."""
    disk, block = plain
    other = disk.inside("current/VERSION")
    first = int(disk.debugfs(f"blocks {other}", write=False).splitlines()[-1].split()[0])
    root = extent_header(1, 0, 4) + struct.pack("<IHHI", 0, 100, 0, first)
    write_at(disk, inode_offset(disk, disk.inside(block.path)) + 0x28, root)
    ends_soon(disk, block, "EBADMSG")


def test_size_of_exabytes(plain):
    disk, block = plain
    where = inode_offset(disk, disk.inside(block.path))
    write_at(disk, where + 4, b"\xff\xff\xff\xff")
    write_at(disk, where + 0x6C, b"\xff\xff\xff\x7f")
    ends_soon(disk, block, "EILSEQ")
    with disk.blockctl() as control, pytest.raises(BlockError) as caught:
        control.open(block, block.length)
    assert caught.value.name == "EILSEQ"


def test_name_with_control_characters_is_no_block(plain):
    disk, block = plain
    folder = disk.inside(block.path).rsplit("/", 1)[0]
    disk.debugfs(f'write /etc/hostname "{folder}/blk_1\x1b[2J"')
    with disk.blockctl() as control:
        assert [entry["id"] for entry in control.list()] == [block.id]
