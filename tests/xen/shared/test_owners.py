# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode domU with Debian's kernel writes to file systems of other kinds: XFS, ext4 that grows
while mounted, ext4 with fast commits, and ext4 with data in the journal.  A vreadd of its own in
dom0 reads them meanwhile."""

import time

import pytest

from tests.support.hdfs_dir import POOL
from tests.support.waiting import eventually
from tests.support.xen_owner import SYNC_FILES, XFS_GUEST_MIB, DataDisk, load_xfs, xfs_files
from tools.lab.deployment import Backend, Datanode

# `make test` instead runs test_torture.py, with an XFS in a domU, and test_xfs_live.py,
# test_ext4_kinds.py and test_ext4_groups.py in tests/image, in which the kernel of this machine
# mounts these file systems.
pytestmark = [pytest.mark.xen, pytest.mark.slow]

LENGTH = 300_000
PATIENCE = 300.0
TOOLS = ("/usr/sbin/mke2fs", "/usr/sbin/resize2fs")
SMALL_MIB, LARGE_MIB, STEP_MIB = 16, 56, 8
JOURNAL = ["-b", "4096", "-J", "size=4"]
INODES = 32  # so few that new files need inodes of groups that are added as it grows
SMALL_GROUPS = ["-b", "1024", "-J", "size=4", "-N", str(INODES)]


@pytest.fixture(scope="module")
def owner(backend, owned_images, until_module_ends):
    files = {path: path for path in TOOLS} | SYNC_FILES | xfs_files()
    disks = [f"phy:{owned_images['xfs']},xvdb,w", f"phy:{owned_images['spare']},xvdc,w"]
    guest = backend.host.create_guest("owners", memory_mib=XFS_GUEST_MIB, disks=disks, files=files)
    load_xfs(until_module_ends(guest))
    return guest


@pytest.fixture(scope="module")
def reader(backend, owned_images):
    """vreadd in dom0 with the owner's two disks."""
    names = ("xfs", "spare")
    datanodes = {name: Datanode(owned_images[name], data_dirs=("/data",)) for name in names}
    own = Backend(backend.host, datanodes, name="-owners", xen=False)
    own.start()
    yield own
    assert own.stop() == 0, own.log()


@pytest.fixture
def mounted(owner, reader, tmp_path):
    """mounted(datanode, kind, options="", mke2fs=None): mounts the disk of that datanode in the
    owner, and returns it as a DataDisk with an empty data directory.  mke2fs: arguments to make the
    file system with; None: it exists."""
    at = []

    def mount(name, kind, options="", mke2fs=None):
        device = {"xfs": "/dev/xvdb", "spare": "/dev/xvdc"}[name]
        if mke2fs is not None:
            owner.run(["mke2fs", "-q", "-F", "-t", kind, *mke2fs[:-1], device, mke2fs[-1]]).check()
        folder = f"/mnt/{name}"
        words = f"-o {options}" if options else ""
        owner.run(f"mkdir -p {folder} && mount -t {kind} {words} {device} {folder}").check()
        at.append(folder)
        disk = DataDisk(owner, folder, tmp_path / "blocks", f"DS-{time.monotonic_ns()}")
        disk.format()
        return disk

    yield mount
    for folder in at:
        owner.run(["umount", folder]).check()


def cat(reader, block):
    spec = f"{POOL}/blk_{block.id}_{block.genstamp}@{block.storage}"
    return reader.host.run(
        ["vread", "cat", "--endpoint", reader.endpoint, "--timeout", "60000", spec]
    )


def until_served(reader, block):
    """Waits until the block can be read: vreadd sees a new data directory when it next looks."""
    eventually(lambda: cat(reader, block).rc == 0, PATIENCE, f"block {block.id}")
    assert cat(reader, block).stdout == block.content()


def not_there(reader, block):
    answer = cat(reader, block)
    assert (answer.rc, answer.stdout) == (1, b"")
    return answer.stderr.decode()


def written_and_deleted(reader, disk, count):
    """Each block must be readable as soon as it was synced, and must not be found as soon as its
    deletion was synced."""
    first = disk.write(LENGTH)
    disk.sync(first)
    until_served(reader, first)
    for _ in range(count):
        block = disk.write(LENGTH)
        disk.sync(block)
        answer = cat(reader, block)
        assert answer.stdout == block.content(), answer.stderr
        disk.delete(block)
        assert "no such block" in not_there(reader, block)
    assert cat(reader, first).stdout == first.content()


def test_xfs(reader, mounted):
    """Blocks on an XFS are written and deleted.  The kernel of a real datanode domU writes the file
    system through blkback."""
    written_and_deleted(reader, mounted("xfs", "xfs"), count=4)


def test_fast_commits(reader, mounted):
    """Blocks on an ext4 with fast commits are written and deleted.  vreadd does not follow fast
    commits, but syncing a folder makes a full commit.  Debian's kernel writes the commits, whatever
    kernel runs on this machine."""
    disk = mounted("spare", "ext4", mke2fs=["-O", "fast_commit", *JOURNAL, "48M"])
    written_and_deleted(reader, disk, count=3)


def test_grown_while_it_is_read(owner, reader, mounted):
    """An ext4 grows while its blocks are read; all reads must be right, also of blocks in the new
    space.  Debian's kernel grows the file system, whatever kernel runs on this machine."""
    disk = mounted("spare", "ext4", mke2fs=[*SMALL_GROUPS, f"{SMALL_MIB}M"])
    blocks = [disk.write(LENGTH) for _ in range(3)]
    owner.run("sync").check()
    until_served(reader, blocks[0])
    for mib in range(SMALL_MIB + STEP_MIB, LARGE_MIB + 1, STEP_MIB):
        growing = owner.popen(["resize2fs", "/dev/xvdc", f"{mib}M"])
        grows = True
        while grows:
            grows = growing.running
            for block in blocks:
                answer = cat(reader, block)
                assert answer.stdout == block.content(), answer.stderr
        growing.wait(PATIENCE).check()
    # Writes more than the file system held before, so that bytes and inodes lie in the new space.
    while disk.inode(blocks[-1]) <= INODES or len(blocks) < 8:
        blocks.append(disk.write(SMALL_MIB << 18))
        disk.sync(blocks[-1])
        answer = cat(reader, blocks[-1])
        assert answer.stdout == blocks[-1].content(), answer.stderr
    for block in blocks:
        assert cat(reader, block).stdout == block.content()


def test_journalled_data(owner, reader, mounted):
    """Blocks on an ext4 with data=journal must be read only when their data has left the journal.
    On a frozen file system all data has left it.  Debian's kernel writes the journal, whatever
    kernel runs on this machine."""
    disk = mounted("spare", "ext4", "data=journal", mke2fs=[*JOURNAL, "48M"])
    blocks = [disk.write(LENGTH) for _ in range(3)]
    for block in blocks:
        disk.sync(block)
    for block in blocks:
        assert cat(reader, block).stdout in (b"", block.content())
    owner.run("fsfreeze --freeze /mnt/spare").check()
    try:
        until_served(reader, blocks[0])
        for block in blocks:
            assert cat(reader, block).stdout == block.content()
    finally:
        owner.run("fsfreeze --unfreeze /mnt/spare").check()
    disk.delete(blocks[0])
    not_there(reader, blocks[0])
