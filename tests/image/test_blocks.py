# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks of many kinds are read out of images of many kinds, made by real tools.  Every byte must
be right."""

import random

import pytest

from tests.support.disk import BlockError, Disk
from tests.support.hdfs_dir import CRC32, DataDirectory

pytestmark = pytest.mark.usefixtures("both_builds")

MIB = 1 << 20
POOLS = ("BP-1-127.0.0.1-1", "BP-2-10.0.0.1-1700000000000")


def directory_of_all_kinds(path):
    """A directory with two pools, ids of several folders, negative ids, and lengths around the
    limits."""
    directory = DataDirectory(path, pools=POOLS)
    blocks = [
        directory.add(1073741825, 3 * MIB + 77),
        directory.add(1073741826, 2 * MIB, genstamp=1002),
        directory.add(1073741825 + (3 << 16) + (7 << 8), 511, pool=POOLS[1]),
        directory.add(1, 512),
        directory.add(2, 513),
        directory.add(3, 1),
        directory.add(4, 0),
        directory.add(-9223372036854775792, 70001, genstamp=5),
        directory.add(-9223372036854710256, 300_000, pool=POOLS[1]),
        directory.add(5, 100_000, kind=CRC32),
        directory.add(6, 100_000, kind=CRC32, chunk=1000),
        directory.add(7, 2 * MIB + 1, chunk=MIB),
        directory.add(8, 100_000, chunk=16),
        directory.add(9, 1_500_000, chunk=4096),
        directory.add(10, 200_000, finalized=False),
    ]
    return directory, blocks


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("table", "block_size", "features"),
    [
        ("gpt", 4096, None),
        ("mbr", 1024, None),
        ("none", 2048, None),
        ("gpt", 4096, "^metadata_csum,^64bit"),
        ("gpt", 1024, "^extent,^64bit,^metadata_csum,^huge_file"),
        ("none", 4096, "^has_journal"),
        ("mbr", 4096, "bigalloc"),
        ("none", 4096, "^extent,^flex_bg,^64bit"),
    ],
)
def test_every_kind_of_block(tmp_path, table, block_size, features):
    directory, blocks = directory_of_all_kinds(tmp_path / "data")
    disk = Disk(tmp_path, [directory], table=table, block_size=block_size, features=features)
    with disk.blockctl() as control:
        for block in blocks:
            handle = control.open(block)
            assert handle.length == block.length
            assert handle.finalized == ("/finalized/" in block.path)
            assert handle.read_all() == block.content(), block.path
            assert handle.read_all() == block.content(), block.path
            assert handle.stat() == block.length
            handle.close()


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    directory, blocks = directory_of_all_kinds(folder / "data")
    return Disk(folder, [directory]), blocks


def test_any_range(kinds):
    disk, blocks = kinds
    chance = random.Random(20261121)
    with disk.blockctl() as control:
        for block in blocks:
            handle, content = control.open(block), block.content()
            for _ in range(40):
                offset = chance.randrange(block.length + 10)
                length = chance.choice([1, 511, 512, 4096, 65536, chance.randrange(1, 4 * MIB)])
                assert handle.read(offset, length) == content[offset : offset + length]
            handle.close()


def test_reads_end_at_the_visible_length(kinds):
    disk, blocks = kinds
    block = blocks[0]
    for visible in (1, 511, 512, 513, 2 * MIB, block.length):
        with disk.blockctl() as control:
            handle = control.open(block, visible)
            assert handle.length == block.length
            assert handle.read(0, 4 * MIB) == block.content()[:visible]
            assert handle.read(visible, 1) == b""
            assert handle.read(visible + 1, 1) == b""
            assert handle.read(visible - 1, 100) == block.content()[visible - 1 : visible]


def test_list(kinds):
    disk, blocks = kinds
    with disk.blockctl() as control:
        listed = control.list()
    assert all(entry["datanode"] == "dn1" and entry["storage"] == "DS-1" for entry in listed)
    assert all(entry["status"] == "ok" and "problem" not in entry for entry in listed)
    found = {(e["pool"], e["id"], e["genstamp"], e["length"], e["finalized"]) for e in listed}
    expected = {(b.pool, b.id, b.genstamp, b.length, "/finalized/" in b.path) for b in blocks}
    assert found == expected and len(listed) == len(blocks)


def test_status(kinds):
    disk, _ = kinds
    with disk.blockctl() as control:
        (served,) = control.status()
    assert served["datanode"] == "dn1"
    file = disk.path.stat()
    image = {"image": str(disk.path), "format": "raw", "mode": "buffered", "size": file.st_size}
    image |= {"device": file.st_dev, "inode": file.st_ino}
    assert served["images"] == [image]
    known = [system | {"state": "clean"} for system in disk.document["filesystems"]]
    assert served["filesystems"] == known


def test_several_data_directories(tmp_path):
    directories = [DataDirectory(tmp_path / f"d{n}", storage=f"DS-{n}") for n in range(3)]
    blocks = [directory.add(100 + n, 70_000) for n, directory in enumerate(directories)]
    disk = Disk(tmp_path, directories)
    with disk.blockctl() as control:
        for n, block in enumerate(blocks):
            assert control.open(block).read_all() == block.content()
            handle = control.open(block, storages=["DS-x", f"DS-{n}"])
            assert handle.read_all() == block.content()
            refused(lambda b=block, n=n: control.open(b, storages=[f"DS-{(n + 1) % 3}"]), "ENOENT")


def refused(call, name):
    with pytest.raises(BlockError) as caught:
        call()
    assert caught.value.name == name
    assert caught.value.exposed == 0


def test_two_datanodes_and_what_a_policy_lets_through(tmp_path):
    disks, blocks = [], []
    for n in range(2):
        (tmp_path / f"{n}").mkdir()
        directory = DataDirectory(
            tmp_path / f"{n}" / "data", storage=f"DS-{n}", pools=POOLS[n : n + 1]
        )
        blocks.append(directory.add(7, 70_000 + n))
        disks.append(Disk(tmp_path / f"{n}", [directory]))
    with disks[0].blockctl(dn2=disks[1]) as control:
        for block in blocks:
            assert control.open(block).read_all() == block.content()
        control.policy("dn1", "*")
        assert control.open(blocks[0]).read_all() == blocks[0].content()
        refused(lambda: control.open(blocks[1]), "EACCES")
        control.policy("*", POOLS[1])
        refused(lambda: control.open(blocks[0]), "EACCES")
        assert control.open(blocks[1]).read_all() == blocks[1].content()
        control.policy("-", "*")
        refused(lambda: control.open(blocks[0]), "EACCES")
        refused(lambda: control.open(blocks[0], pool="BP-none"), "EACCES")
        control.policy("*", "-")
        refused(lambda: control.open(blocks[0]), "EACCES")


def test_what_is_not_there(kinds):
    disk, blocks = kinds
    with disk.blockctl() as control:
        block = blocks[0]
        refused(lambda: control.open(block, id=999), "ENOENT")
        refused(lambda: control.open(block, id=-999), "ENOENT")
        refused(lambda: control.open(block, id=2**62), "ENOENT")
        refused(lambda: control.open(block, pool="BP-9-127.0.0.1-1"), "ENODEV")
        refused(lambda: control.open(block, pool="../BP-1"), "ENODEV")
        refused(lambda: control.open(block, pool=POOLS[1]), "ENOENT")
        refused(lambda: control.open(block, storages=["DS-2"]), "ENODEV")
        refused(lambda: control.open(block, genstamp=1000), "EEXIST")
        refused(lambda: control.open(block, genstamp=0), "EEXIST")
        refused(lambda: control.open(block, genstamp=2**64 - 1), "EEXIST")
        refused(lambda: control.open(block, block.length + 1), "ERANGE")
        refused(lambda: control.open(block, 2**64 - 1), "ERANGE")
