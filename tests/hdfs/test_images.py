# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of tools.images, which makes datanode images for other tests and the demo: the images must
be sound, and the facts about them right."""

import hashlib
import json
import random
import subprocess
import sys

import pytest

from tools.images import DatanodeImage, ImageError, file_extents, layout_of, make_datanode_image

POOL = "BP-1-127.0.0.1-1"
BLOCK = f"current/{POOL}/current/finalized/subdir0/subdir0/blk_1073741825"


def make_data_dir(directory, seed=1, size=5_000_000, storage="DS-1"):
    block = directory / BLOCK
    block.parent.mkdir(parents=True)
    block.write_bytes(random.Random(seed).randbytes(size))
    (directory / "current" / "VERSION").write_text(
        f"#Sat Nov 21\nstorageID={storage}\nclusterID=CID-1\ndatanodeUuid=dn-uuid\n"
    )
    return directory


@pytest.fixture
def data_dir(tmp_path):
    return make_data_dir(tmp_path / "data")


def file_system(image, tmp_path):
    """Copies only the file system of the image to a file."""
    alone = tmp_path / "fs.raw"
    with open(image.path, "rb") as disk, open(alone, "wb") as out:
        disk.seek(image.offset)
        out.write(disk.read(image.length))
    return alone


def content(image, path, size):
    read = b""
    with open(image.path, "rb") as disk:
        for extent in file_extents(image, path, size):
            assert extent.logical == len(read)
            disk.seek(extent.physical)
            read += disk.read(extent.length)
    return read


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("table", "block_size", "features"),
    [
        ("gpt", 4096, None),
        ("mbr", 1024, None),
        ("none", 2048, None),
        ("gpt", 1024, "^metadata_csum,^64bit"),
    ],
)
def test_file_system_is_sound_and_holds_the_blocks(data_dir, tmp_path, table, block_size, features):
    image = make_datanode_image(
        [data_dir], tmp_path / "dn.raw", table=table, block_size=block_size, features=features
    )
    alone = file_system(image, tmp_path)
    assert alone.stat().st_size == image.length
    check = subprocess.run(["e2fsck", "-fn", alone], capture_output=True, text=True)
    assert check.returncode == 0, check.stdout
    found = subprocess.run(
        ["blkid", "-p", "-o", "value", "-s", "UUID", alone], capture_output=True, text=True
    )
    assert found.stdout.strip() == image.uuid
    block = data_dir / BLOCK
    expected = block.read_bytes()
    assert content(image, f"/dfs/data/{BLOCK}", len(expected)) == expected
    assert block.stat().st_nlink == 1, "no link of the stage is left behind"


@pytest.mark.parametrize(("table", "label"), [("gpt", "gpt"), ("mbr", "dos")])
def test_partition_is_where_it_says(data_dir, tmp_path, table, label):
    image = make_datanode_image([data_dir], tmp_path / "dn.raw", table=table)
    dump = subprocess.run(["sfdisk", "--json", image.path], capture_output=True, text=True)
    found = json.loads(dump.stdout)["partitiontable"]
    second = found["partitions"][image.partition - 1]
    assert found["label"] == label
    assert (second["start"] * 512, second["size"] * 512) == (image.offset, image.length)


def test_several_data_dirs(tmp_path):
    sources = [
        make_data_dir(tmp_path / "a", seed=1, storage="DS-a"),
        make_data_dir(tmp_path / "b", seed=2, storage="DS-b"),
    ]
    image = make_datanode_image(sources, tmp_path / "dn.raw", path_in_fs="/hadoop/d")
    for source, data_dir in zip(sources, image.data_dirs, strict=True):
        expected = (source / BLOCK).read_bytes()
        assert content(image, f"{data_dir.path}/{BLOCK}", len(expected)) == expected
    assert [d.path for d in image.data_dirs] == ["/hadoop/d1", "/hadoop/d2"]
    assert [d.storage_id for d in image.data_dirs] == ["DS-a", "DS-b"]
    assert image.data_dirs[0].pools == (POOL,)


def test_layout_and_facts(data_dir, tmp_path):
    image = make_datanode_image([data_dir], tmp_path / "dn.raw", table="mbr")
    layout = layout_of(image)
    assert layout["images"][0]["size"] == (tmp_path / "dn.raw").stat().st_size
    (found,) = layout["filesystems"]
    assert (found["partition"], found["offset"]) == ("mbr:2", image.offset)
    assert found["data-dirs"][0]["storage-id"] == "DS-1"
    assert DatanodeImage.from_facts(json.loads(json.dumps(image.facts()))) == image


def test_image_is_sparse_and_sized_to_fit(data_dir, tmp_path):
    image = make_datanode_image([data_dir], tmp_path / "dn.raw", free_mib=500)
    size = (tmp_path / "dn.raw").stat()
    assert 500 << 20 < image.length < 600 << 20
    assert size.st_blocks * 512 < 40 << 20


def test_hole_is_refused(data_dir, tmp_path):
    with open(data_dir / BLOCK, "r+b") as block:
        block.truncate(0)
        block.truncate(1 << 20)
        block.seek(1 << 19)
        block.write(b"x" * 4096)
    image = make_datanode_image([data_dir], tmp_path / "dn.raw")
    with pytest.raises(ImageError, match="hole at byte 0"):
        file_extents(image, f"/dfs/data/{BLOCK}", 1 << 20)
    with pytest.raises(ImageError, match="extents end at byte 0"):
        file_extents(image, "/no/such/file", 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "apm"}, "partition table 'apm': expected one of gpt, mbr, none"),
        ({"block_size": 8192}, "block size 8192: expected 1024, 2048 or 4096"),
        ({"path_in_fs": "dfs"}, "expected an absolute one"),
        ({"features": "no_such_feature"}, "mke2fs .* failed .*no_such_feature"),
    ],
)
def test_bad_wishes(data_dir, tmp_path, change, message):
    with pytest.raises(ImageError, match=message):
        make_datanode_image([data_dir], tmp_path / "dn.raw", **change)
    assert not (tmp_path / "dn.raw").exists()


def test_not_a_data_directory(tmp_path):
    with pytest.raises(ImageError, match="not a datanode's data directory"):
        make_datanode_image([tmp_path], tmp_path / "dn.raw")


def test_by_hand(data_dir, tmp_path):
    out = tmp_path / "dn.raw"
    command = [sys.executable, "-m", "tools.images", "--out", out, "--table", "none", data_dir]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["table"] == "none"
    before = hashlib.sha256(out.read_bytes()).hexdigest()
    bad = subprocess.run([*command, "--block-size", "3"], capture_output=True, text=True)
    assert bad.returncode != 0
    assert "expected 1024, 2048 or 4096" in bad.stderr
    assert hashlib.sha256(out.read_bytes()).hexdigest() == before
