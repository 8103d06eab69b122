# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of clusters whose datanodes run on mounted images: the blocks must be in the images, and no
mount may stay, however the cluster ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tools.hdfs import HdfsCluster
from tools.images import ImageError, LiveDisk, MountSpace, file_extents

REPOSITORY = Path(__file__).parents[2]
LIVE = {"datanodes": 2, "data_dirs": 2, "replication": 2, "live": True, "disk_mib": 256}


def loop_devices(image):
    done = subprocess.run(["losetup", "-j", image], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.hadoop
def test_blocks_are_in_the_images(tmp_path):
    content = os.urandom((3 << 20) + 777)
    (tmp_path / "local").write_bytes(content)
    cluster = HdfsCluster(tmp_path / "c", block_size=1 << 20, **LIVE)
    with cluster as hdfs:
        hdfs.put(tmp_path / "local", "/file")
        hdfs.sync()
        # The NameNode may hear of the second replica after the file was closed.
        eventually(lambda: all(len(block.storage_ids) == 2 for block in hdfs.blocks("/file")))
        blocks = hdfs.blocks("/file")
        for datanode in hdfs.datanodes:
            assert loop_devices(datanode.disk.path)
            assert not any(datanode.disk.mount_point.iterdir()), "nobody else sees the mount"
            known = datanode.storage_ids()
            assert all(set(known) & set(block.storage_ids) for block in blocks)
        hdfs.datanode("dn1").stop()
        hdfs.start_datanode("dn1")
        assert hdfs.jmx("dn1", "Hadoop:service=DataNode,name=DataNodeInfo")
    for datanode in cluster.datanodes:
        eventually(lambda disk=datanode.disk: not loop_devices(disk.path))
        assert _in_image(datanode, blocks) == content
    assert [datanode.disk.table for datanode in cluster.datanodes] == ["gpt", "none"]


def _in_image(datanode, blocks):
    return b"".join(_block_in_image(datanode, block) for block in blocks)


def _block_in_image(datanode, block):
    for folder in datanode.paths_on_disk:
        try:
            path = f"{folder}/{block.relative_path()}"
            extents = file_extents(datanode.disk, path, block.length)
        except ImageError:
            continue  # in the other directory
        with open(datanode.disk.path, "rb") as image:
            return b"".join(
                os.pread(image.fileno(), extent.length, extent.physical) for extent in extents
            )
    raise AssertionError(f"{block.spec()} is in no directory of {datanode.name}")


def test_mounts_go_with_a_process_that_is_killed(tmp_path):
    program = f"""
import signal, sys
from tools.images import LiveDisk, MountSpace
disk = LiveDisk({str(tmp_path / "disk.raw")!r}, {str(tmp_path / "mnt")!r}, mib=64)
space = MountSpace()
space.open()
disk.attach(space)
(disk.view / "file").write_text("kept")
print("attached", flush=True)
signal.pause()
"""
    victim = subprocess.Popen(
        [sys.executable, "-c", program], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    try:
        assert victim.stdout.readline() == "attached\n"
        assert loop_devices(tmp_path / "disk.raw")
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    eventually(lambda: not loop_devices(tmp_path / "disk.raw"))
    disk = LiveDisk(tmp_path / "disk.raw", tmp_path / "mnt", mib=64)
    with MountSpace() as space:
        disk.attach(space)
        assert (disk.view / "file").read_text() == "kept"
        disk.detach()


def test_sync_brings_what_was_written_into_the_image(tmp_path):
    disk = LiveDisk(tmp_path / "disk.raw", tmp_path / "mnt", table="mbr", mib=64)
    with MountSpace() as space:
        disk.attach(space)

        def only_written():
            """Content that was written but is not in the image yet.  None if another sync()
            came in between."""
            content = os.urandom(100_000)
            (disk.view / content[:8].hex()).write_bytes(content)
            return content if content[:4096] not in disk.path.read_bytes() else None

        content = eventually(only_written)
        disk.sync()
        assert content[:4096] in disk.path.read_bytes()
        disk.detach()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "apm"}, "partition table 'apm': expected one of gpt, mbr, none"),
        ({"mib": 8}, "image of 8 MiB: expected at least 64"),
        ({"kind": "xfs"}, "XFS with partition table 'gpt': expected none"),
    ],
)
def test_bad_wishes(tmp_path, change, message):
    with pytest.raises(ImageError, match=message):
        LiveDisk(tmp_path / "disk.raw", tmp_path / "mnt", **change)


def test_what_cannot_be_mounted_is_told(tmp_path):
    disk = LiveDisk(tmp_path / "disk.raw", tmp_path / "mnt", table="none", mib=64)
    disk.path.write_bytes(bytes(64 << 20))
    with MountSpace() as space, pytest.raises(ImageError, match=r"mount .*disk\.raw"):
        disk.attach(space)
    eventually(lambda: not loop_devices(disk.path))
