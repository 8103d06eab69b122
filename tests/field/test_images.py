# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about images; README.md lists them."""

import os

import pytest

from tests.support.disk import BlockError, blockctl
from tests.support.formats import CONVERT, ImageControl, run
from tests.support.hdfs_dir import meta_bytes
from tests.support.live import content, refused
from tests.support.owner import Owner, needs_root
from tools.vreadd import DataDirs

CLUSTER = 4096


@pytest.fixture
def split(tmp_path):
    """A disk whose metadata are in an overlay, and a block of 100,000 bytes only in the base.
    Returns the owner of both, the block, the overlay, and the places of data and .meta."""
    with Owner(tmp_path, (["-b", str(CLUSTER)], "")) as owner:
        block = owner.write(1, content(1, 100_000))
        owner.sync()
        data, sums = owner.places(block), owner.places(block, owner.meta(block))
    upper = owner.crash("upper.raw")
    with open(upper, "r+b") as file:
        for place in data | sums:
            file.seek(place * CLUSTER)
            file.write(bytes(CLUSTER))
    disk = tmp_path / "disk.qcow2"
    run(*CONVERT, "-f", "raw", "-O", "qcow2", "-o", f"cluster_size={CLUSTER}", upper, disk)
    run("qemu-img", "rebase", "-u", "-F", "raw", "-b", owner.path.name, disk)
    return owner, block, disk, sorted(data), sorted(sums)


@needs_root
def test_domain_goes_on_in_the_backing_file(split):
    """As after blockcommit --pivot: the overlay stays as it was, and another block gets the place
    of a deleted one."""
    owner, block, disk, data, sums = split
    other = content(2, block.length)
    with blockctl(dn1=DataDirs(f"qcow2:{disk}", ["/data"])) as blocks:
        handle = blocks.open(block)
        assert handle.read(0, 100) == block.content[:100]
        with open(owner.path, "r+b") as base:
            for places, written in ((data, other), (sums, meta_bytes(other))):
                for n, place in enumerate(places):
                    base.seek(place * CLUSTER)
                    base.write(written[n * CLUSTER : (n + 1) * CLUSTER])
        refused(handle.read_all, "EIO")
        refused(lambda: blocks.open(block), "EIO")
        blocks.look()
        blocks.look()  # what is gone is believed when seen twice
        assert "name the file that the domain uses" in blocks.status()[0]["missing"]


@needs_root
def test_base_that_was_copied_after_its_overlay(split):
    """The base is the newer file until the domain writes to its disk."""
    owner, block, disk, *_ = split
    os.utime(owner.path)
    with blockctl(dn1=DataDirs(f"qcow2:{disk}", ["/data"])) as blocks:
        assert "was written later than the disk" in blocks.status()[0]["missing"]
        os.utime(disk)
        blocks.look()
        assert blocks.open(block).read_all() == block.content
