# SPDX-License-Identifier: GPL-2.0-or-later
"""Volumes that move to another place at once.  At the old place lie other blocks with the same
names and right checksums.  No read may get those, however soon it comes."""

import contextlib
import errno
import random
import re
import subprocess

import pytest

from tests.support.daemon import Daemon, open_block, open_status
from tests.support.disk import BlockError, blockctl
from tests.support.hdfs_dir import DataDirectory, meta_bytes
from tests.support.lvm_metadata import Metadata
from tests.support.owner import needs_root
from tests.support.volumes import MIB, make_ext
from tools.images import Physical, VolumeGroup, make_disk
from tools.vreadd import DataDirs

DIR = "/dfs/data"
SIZE = 16 * MIB


@pytest.fixture
def blocks(tmp_path):
    directory = DataDirectory(tmp_path / "tree" / DIR[1:])
    return [directory.add(100 + n, 300_000 + n) for n in range(3)]


@pytest.fixture
def own(tmp_path, blocks):
    """The bytes of a file system with the blocks."""
    return make_ext(tmp_path / "fs", tmp_path / "tree", mib=SIZE // MIB).read_bytes()


@pytest.fixture
def others(own, blocks):
    """The bytes of the same file system with other content in the blocks."""
    changed = bytearray(own)
    for block in blocks:
        content = random.Random(-block.id).randbytes(block.length)
        for was, now in (
            (block.content(), content),
            (meta_bytes(block.content()), meta_bytes(content)),
        ):
            at = own.index(was)
            changed[at : at + len(was)] = now
    return bytes(changed)


def write(path, offset, data):
    with open(path, "r+b") as disk:
        disk.seek(offset)
        disk.write(data)


@contextlib.contextmanager
def devices(images, kind):
    """Yields the images, or loop devices of them.  Devices have no times, and are read with
    O_DIRECT."""
    if kind == "file":
        yield images
        return
    attached = []
    try:
        for image in images:
            command = ["losetup", "--find", "--show", "--direct-io=off", image]
            told = subprocess.run(command, check=True, capture_output=True, text=True)
            attached.append(told.stdout.strip())
        yield attached
    finally:
        for device in attached:
            subprocess.run(["losetup", "--detach", device], check=True)


def read_all(control, blocks):
    for block in blocks:
        assert control.open(block).read_all() == block.content()


def check_move(datanode, blocks, move):
    """Calls move() between two reads.  Until the next look, all reads and opens must give EAGAIN.
    Afterwards new handles must read right; old handles must give EAGAIN."""
    with blockctl(dn1=datanode) as control:
        handles = [control.open(block) for block in blocks[:2]]
        assert handles[0].read_all() == blocks[0].content()
        move()
        for handle in handles:
            with pytest.raises(BlockError, match="EAGAIN") as refused:
                handle.read(0, 65536)
            assert refused.value.exposed == 0
        for block in blocks:
            with pytest.raises(BlockError, match="EAGAIN"):
                control.open(block)
        control.look()
        read_all(control, blocks)
        for handle in handles:
            with pytest.raises(BlockError, match="EAGAIN"):
                handle.read(0, 65536)


# ---- logical volumes ---------------------------------------------------------------------------


class Volume:
    """vg/data on the first of two disks.  move() moves it to the second."""

    def __init__(self, folder, own):
        self.images = [make_disk(folder / f"disk{n}", 32) for n in range(2)]
        with VolumeGroup("vg", [Physical(i) for i in self.images]) as group:
            group.create("data", SIZE // MIB)
            (piece,) = group.pieces("data")
        assert piece.physical.path == self.images[0]
        self.offset = piece.offset
        write(self.images[0], self.offset, own)
        self.with_metadata = self.images

    def commit(self, change):
        """Writes changed metadata, with the next seqno, to all copies."""
        for image in self.with_metadata:
            Metadata(image).replace(
                lambda text: re.sub(
                    rb"seqno = (\d+)", lambda n: b"seqno = %d" % (int(n[1]) + 1), change(text)
                )
            )

    def move(self, own, others):
        write(self.images[1], self.offset, own)
        self.commit(lambda text: text.replace(b'"pv0", 0', b'"pv1", 0'))
        write(self.images[0], self.offset, others)


@pytest.mark.thorough
@needs_root
@pytest.mark.parametrize("kind", ["file", "device"])
def test_logical_volume(tmp_path, blocks, own, others, kind):
    volume = Volume(tmp_path, own)
    with devices(volume.images, kind) as images:
        volume.images = volume.with_metadata = images
        datanode = DataDirs(images, [DIR])
        check_move(datanode, blocks, lambda: volume.move(own, others))


@needs_root
def test_logical_volume_whose_disk_has_no_metadata(tmp_path, blocks, own, others):
    """The volume's disk has no metadata.  The move must be seen in the metadata of the other
    disk."""
    volume = Volume(tmp_path, own)
    metadata = Metadata(volume.images[0])
    metadata.point_to(*metadata.place()[:3], flags=1)  # its owner does not keep it up to date
    volume.with_metadata = volume.images[1:]
    check_move(DataDirs(volume.images, [DIR]), blocks, lambda: volume.move(own, others))


@needs_root
def test_metadata_that_says_the_same_of_the_volume(tmp_path, blocks, own):
    """Metadata changes, but not for this volume.  The disk must be examined again, and the volume
    be served at its place."""
    volume = Volume(tmp_path, own)

    def rename():
        volume.commit(lambda text: text.replace(b'creation_host = "', b'creation_host = "x'))

    check_move(DataDirs(volume.images, [DIR]), blocks, rename)


# ---- partitions --------------------------------------------------------------------------------

TABLES = {
    "gpt": "label: gpt\nlabel-id: 11111111-2222-3333-4444-555555555555\nstart={}, size={}\n",
    "mbr": "label: dos\nlabel-id: 0x11111111\nstart={}, size={}\n",
    "logical": "label: dos\nlabel-id: 0x11111111\nstart=2048, type=5\nstart={}, size={}\n",
}


class MovingPartition:
    """The only partition of a disk.  move() moves it by 26 MiB."""

    def __init__(self, folder, table, own):
        self.path = make_disk(folder / "disk", 60)
        self.table = table
        write(self.path, 4 * MIB, own)
        self._place(4 * MIB)

    def _place(self, offset):
        script = TABLES[self.table].format(offset // 512, SIZE // 512)
        command = ["/sbin/sfdisk", "-q", "--wipe", "never", self.path]
        subprocess.run(command, input=script.encode(), check=True)

    def move(self, own, others):
        write(self.path, 30 * MIB, own)
        self._place(30 * MIB)
        write(self.path, 4 * MIB, others)


@pytest.mark.thorough
@pytest.mark.parametrize("table", TABLES)
def test_partition(tmp_path, blocks, own, others, table):
    disk = MovingPartition(tmp_path, table, own)
    check_move(DataDirs([disk.path], [DIR]), blocks, lambda: disk.move(own, others))


@pytest.mark.thorough
def test_vreadd_finds_it_where_it_is(tmp_path, blocks, own, others):
    """The partition moves under a running vreadd.  The failed read must make vreadd look at once,
    not only within the next minute."""
    disk = MovingPartition(tmp_path, "gpt", own)
    disk.data_dirs = [DIR]
    block = blocks[0]
    daemon = Daemon(tmp_path, disk)
    try:
        with daemon.front() as front:
            handle = open_block(front, block)
            assert front.read(handle, 0, 65536) == block.content()[:65536]
            disk.move(own, others)
            assert front.read_response(handle, 0, 65536).status == -errno.EAGAIN
            daemon.wait_until(lambda: daemon.log().count(": serving ") == 2, 120)
            # vreadd logs this a moment before it serves the new place.
            daemon.wait_until(lambda: open_status(front, block) == 0)
            assert front.read(open_block(front, block), 0, 65536) == block.content()[:65536]
        assert daemon.stop() == 0
    finally:
        daemon.kill()
