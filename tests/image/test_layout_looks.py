# SPDX-License-Identifier: GPL-2.0-or-later
"""Datanodes with a layout file.  If a disk is missing, the others must be served.  Changes of disks
and of the layout must be seen without a restart."""

import shutil

import pytest

from tests.support.disk import BlockError, blockctl, layout_found
from tests.support.formats import overlay
from tests.support.hdfs_dir import DataDirectory
from tests.support.volumes import make_ext, partitioned
from tools.vreadd import DataDirs

DIR = "/dfs/data"


class DataDisk:
    def __init__(self, folder, number):
        tree = folder / f"tree{number}"
        directory = DataDirectory(tree / DIR[1:], storage=f"DS-{number}")
        self.block = directory.add(100 + number, 300_000)
        self.path = make_ext(folder / f"disk{number}", tree)


@pytest.fixture
def disks(tmp_path):
    return [DataDisk(tmp_path, n) for n in range(3)]


@pytest.fixture
def datanode(tmp_path, disks):
    return layout_found(tmp_path / "layout.json", [disk.path for disk in disks], [DIR])


def storages(status):
    return [entry["storage-id"] for fs in status["filesystems"] for entry in fs["data-dirs"]]


def read(control, disk):
    assert control.open(disk.block).read_all() == disk.block.content()


def test_missing_at_start(tmp_path, datanode, disks):
    away = disks[1].path.rename(tmp_path / "away")
    with blockctl(dn1=datanode) as control:
        (status,) = control.status()
        assert status["state"] == "served" and storages(status) == ["DS-0", "DS-2"]
        assert status["missing"].startswith(f"image {disks[1].path}: No such file or directory")
        assert ["size" in image for image in status["images"]] == [True, False, True]
        for disk in (disks[0], disks[2]):
            read(control, disk)
        with pytest.raises(BlockError, match="ENOENT|ENODEV"):
            control.open(disks[1].block)
        away.rename(disks[1].path)
        control.look()
        (status,) = control.status()
        assert "missing" not in status and storages(status) == ["DS-0", "DS-1", "DS-2"]
        for disk in disks:
            read(control, disk)


def test_goes_away(tmp_path, datanode, disks):
    with blockctl(dn1=datanode) as control:
        read(control, disks[2])
        disks[2].path.unlink()
        control.look()
        assert len(storages(control.status()[0])) == 3  # believed only after two looks
        control.look()
        (status,) = control.status()
        assert storages(status) == ["DS-0", "DS-1"] and str(disks[2].path) in status["missing"]
        read(control, disks[0])


def test_none_is_there(datanode, disks):
    for disk in disks:
        disk.path.unlink()
    with pytest.raises(BlockError) as refused, blockctl(dn1=datanode):
        pass
    for disk in disks:
        assert f"image {disk.path}: No such file" in str(refused.value)


def test_disk_of_another_size(datanode, disks):
    """A disk's size differs from the layout.  It is another disk, so all must be refused; the disk
    does not count as missing."""
    with open(disks[1].path, "r+b") as disk:
        disk.truncate(20 << 20)
    with pytest.raises(BlockError, match="was truncated or replaced"), blockctl(dn1=datanode):
        pass


@pytest.mark.thorough
def test_layout_that_becomes_stale_and_is_made_anew(tmp_path, disks):
    """The disk is replaced by one with other partitions: the layout must be refused as stale.  With
    a new layout all must be served again."""
    one = partitioned(tmp_path / "one", "gpt", disks[0].path, disks[1].path)
    other = partitioned(tmp_path / "other", "gpt", disks[1].path, disks[0].path)
    served = shutil.copy(one, tmp_path / "disk")
    by_layout = layout_found(tmp_path / "layout.json", [served], [DIR])
    with blockctl(dn1=by_layout) as control:
        handle = control.open(disks[0].block)
        served.write_bytes(other.read_bytes())
        with pytest.raises(BlockError, match="EAGAIN"):
            handle.read(0, 1000)
        control.look()
        control.look()
        (status,) = control.status()
        assert status["state"] == "waiting" and status["filesystems"] == []
        assert f"layout {by_layout.layout} is stale: UUID of partition gpt:1" in status["missing"]
        assert status["missing"].endswith("run vread-provision again")
        layout_found(by_layout.layout, [served], [DIR])
        control.look()
        (status,) = control.status()
        assert status["state"] == "served" and "missing" not in status
        for disk in disks[:2]:
            read(control, disk)


# ---- what lies below an image -------------------------------------------------------------------


def test_backing_chain_in_the_status(tmp_path, disks):
    base = disks[0].path
    middle = overlay(tmp_path / "middle", base, "raw")
    top = overlay(tmp_path / "top", middle, "qcow2")
    with blockctl(dn1=DataDirs([f"qcow2:{top}", disks[1].path], [DIR])) as control:
        ((first, second),) = [status["images"] for status in control.status()]
        read(control, disks[0])
    assert first["backing"] == [
        {"image": str(middle), "format": "qcow2"},
        {"image": str(base), "format": "raw"},
    ]
    assert "backing" not in second
