# SPDX-License-Identifier: GPL-2.0-or-later
"""File systems in use by their owners.  vreadd must read them if it can follow the use, else refuse
them, and read them again afterwards.

The tests use a real vreadd, whose counters and status must tell the operator, too.
"""

import contextlib
import errno
import os
import subprocess

import pytest

from tests.support.daemon import Daemon, open_block
from tests.support.disk import BlockError, Disk
from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.localfront import PAGE
from tests.support.owner import needs_root, wait_until_unmounted
from tools.images import file_extents

pytestmark = pytest.mark.spread

MIB = 1 << 20
ID = 1073741825
FILL = b"\xa5"

# {name: (debugfs command that begins a use which cannot be followed, command that ends it as fsck
# or unmounting does, reason in status)}
IN_USE = {
    "not-clean": (
        "set_super_value state 0", "set_super_value state 1",
        "it was not cleanly unmounted: let its owner run e2fsck",
    ),
    "errors": (
        "set_super_value state 3", "set_super_value state 1",
        "it has errors: let its owner run e2fsck",
    ),
    "no-journal": (
        "feature needs_recovery -has_journal", "feature -needs_recovery has_journal",
        "it is in use and has no journal",
    ),
    "writeback": (
        "set_super_value default_mount_opts 0x6c\nfeature needs_recovery",
        "feature -needs_recovery",
        "it is in use with data=writeback",
    ),
}  # fmt: skip


@pytest.fixture(params=IN_USE)
def use(request):
    """use(disk, used): begins (True) or ends (False) the use of a disk."""
    begin, end, reason = IN_USE[request.param]

    def change(disk, used):
        disk.debugfs(begin if used else end)

    change.reason = reason
    return change


def make_disk(folder, block_id=ID, storage="DS-1", length=2 * MIB + 100):
    folder.mkdir(exist_ok=True)
    directory = DataDirectory(folder / "data", storage=storage)
    block = directory.add(block_id, length)
    return Disk(folder, [directory]), block


@pytest.fixture
def served(tmp_path):
    return make_disk(tmp_path / "dn1")


@pytest.fixture
def vreadd(tmp_path):
    """vreadd(disk): starts a daemon.  All daemons must end with status 0."""
    daemons = []

    def start(disk, **options):
        daemons.append(Daemon(tmp_path, disk, **options))
        return daemons[-1]

    yield start
    for daemon in daemons:
        assert daemon.stop() == 0, daemon.log()


def open_status(front, block):
    return front.open(block.id, block.genstamp, POOL).status


def read_all(front, block):
    handle = open_block(front, block)
    data = b""
    while len(data) < block.length:
        data += front.read(handle, len(data), min(front.pool_pages * PAGE, block.length))
    front.close_handle(handle)
    return data


def state(daemon):
    (datanode,) = daemon.status()["datanodes"]
    (system,) = datanode["filesystems"]
    return system["state"]


def assert_nothing_exposed(front, handle, length=PAGE):
    """READ and STAT of an old handle must give EAGAIN and write nothing into the pool."""
    front.pool[:] = FILL * len(front.pool)
    for offset in (0, 511):
        assert front.read_response(handle, offset, length).status == -errno.EAGAIN
    assert front.stat(handle).status == -errno.EAGAIN
    assert bytes(front.pool) == FILL * len(front.pool)


def test_refused_from_the_start(served, vreadd, use):
    disk, block = served
    use(disk, True)
    daemon = vreadd(disk)
    assert "datanode dn1: serving" in daemon.log()
    assert f"image {disk.path}, partition gpt:2: {use.reason}" in daemon.log()
    assert state(daemon) == f"refused: {use.reason}"
    with daemon.front() as front:
        front.pool[PAGE:] = FILL * (len(front.pool) - PAGE)
        assert open_status(front, block) == -errno.EBUSY
        assert bytes(front.pool[PAGE:]) == FILL * (len(front.pool) - PAGE)
        assert daemon.status()["totals"]["errors"] == {"EBUSY": 1}
        use(disk, False)
        assert state(daemon) == "clean"
        assert read_all(front, block) == block.content()


def test_refused_under_an_open_handle(served, vreadd, use):
    disk, block = served
    daemon = vreadd(disk)
    assert "reads are refused" not in daemon.log()
    assert state(daemon) == "clean"
    with daemon.front() as front:
        fresh = open_block(front, block)
        used = open_block(front, block)
        assert front.read(used, 0, 200_000) == block.content()[:200_000]
        assert front.read(used, 0, 200_000) == block.content()[:200_000]  # not verified again
        use(disk, True)
        assert state(daemon) == f"refused: {use.reason}"
        for handle in (fresh, used):
            assert_nothing_exposed(front, handle)
        assert open_status(front, block) == -errno.EBUSY
        use(disk, False)
        assert state(daemon) == "clean"
        for handle in (fresh, used):  # vreadd finds the block again
            assert front.read(handle, 0, 200_000) == block.content()[:200_000]
            assert front.stat(handle).status == 0
        assert read_all(front, block) == block.content()


def test_another_block_where_the_block_was(tmp_path, served, vreadd, use):
    """Another block and its .meta lie at the places that the inodes name: every checksum is right,
    every byte is wrong.  While the file system is in use, no byte may be read."""
    disk, block = served
    stranger, other = make_disk(tmp_path / "other", ID + 1, length=block.length)
    pairs = (
        (disk.inside(block.path), other.data),
        (disk.meta_of(block), other.meta),
    )

    def place(path, content):
        with open(disk.path, "r+b") as image:
            for extent in file_extents(disk.image, path, len(content)):
                image.seek(extent.physical)
                image.write(content[extent.logical :][: extent.length])

    daemon = vreadd(disk)
    with daemon.front() as front:
        handle = open_block(front, block)
        use(disk, True)
        for path, file in pairs:
            place(path, file.read_bytes())
        assert_nothing_exposed(front, handle)
        assert open_status(front, block) == -errno.EBUSY
        use(disk, False)
        # Only the state kept the bytes back: once it is clean, they pass for the block.
        assert read_all(front, block) == other.content()


def test_marked_as_mounted_and_nothing_committed(served, vreadd):
    """The file system is as right after mounting: marked as in use, with an empty journal.  It must
    be read."""
    disk, block = served
    daemon = vreadd(disk)
    with daemon.front() as front:
        handle = open_block(front, block)
        disk.debugfs("feature needs_recovery")
        assert state(daemon) == "live"
        assert front.read(handle, 0, 100_000) == block.content()[:100_000]
        assert read_all(front, block) == block.content()
        disk.debugfs("feature -needs_recovery")
        assert state(daemon) == "clean"
        assert front.read(handle, 0, 100_000) == block.content()[:100_000]


def refused(call, name):
    with pytest.raises(BlockError) as caught:
        call()
    assert (caught.value.name, caught.value.exposed) == (name, 0)


@pytest.mark.thorough
def test_an_operator_learns_of_it_though_others_lack_the_block(tmp_path, use):
    """Several datanodes are searched and one is in use: the error must be EBUSY, not ENOENT or
    EACCES.  If another datanode has a copy, the copy must be read."""
    used, block = make_disk(tmp_path / "1")
    clean, other = make_disk(tmp_path / "2", ID + 1, storage="DS-2")
    copy, _ = make_disk(tmp_path / "3", storage="DS-3")
    use(used, True)
    both = ["DS-1", "DS-2"]
    for first, second in ((used, clean), (clean, used)):
        with first.blockctl(dn2=second) as control:
            refused(lambda ask=control.open: ask(block, storages=both), "EBUSY")
            refused(lambda ask=control.open: ask(block, storages=both, id=99), "EBUSY")
            assert control.open(other, storages=both).read_all() == other.content()
            refused(lambda ask=control.open: ask(other, storages=both, genstamp=5), "EEXIST")
            refused(lambda control=control: control.open(block, storages=["DS-2"]), "ENOENT")
            control.policy("dn1" if first is clean else "dn2", "*")
            refused(lambda control=control: control.open(block, storages=["DS-1"]), "EACCES")
            control.policy("dn1" if first is used else "dn2", "*")
            refused(lambda ask=control.open: ask(block, storages=both), "EBUSY")
    with used.blockctl(dn2=copy) as control:
        assert control.open(block, storages=["DS-1", "DS-3"]).read_all() == block.content()


@pytest.mark.thorough
def test_list_passes_over_it(served, tmp_path, use):
    disk, _ = served
    clean, other = make_disk(tmp_path / "2", ID + 1)
    use(disk, True)
    with disk.blockctl(dn2=clean) as control:
        assert [entry["id"] for entry in control.list()] == [other.id]
        use(disk, False)
        assert [entry["id"] for entry in control.list()] == [ID, other.id]


@contextlib.contextmanager
def mounted(disk, folder, options="rw"):
    """with mounted(disk, folder): this machine's kernel has the file system mounted."""
    folder.mkdir(exist_ok=True)
    offset = disk.image.offset
    options = f"loop,offset={offset},sizelimit={disk.image.length},{options}"
    done = subprocess.run(
        ["mount", "-t", "ext4", "-o", options, disk.path, folder], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"no loop mounts here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True, timeout=60)
        wait_until_unmounted(disk.path)


def commit(root):
    """Commits changes to the journal.  They are not written to their places yet."""
    folder = os.open(root, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


@needs_root
def test_mounted_by_a_kernel(served, tmp_path, vreadd):
    disk, block = served
    daemon = vreadd(disk)
    with daemon.front() as front:
        handle = open_block(front, block)
        assert front.read(handle, 0, 100_000) == block.content()[:100_000]
        with mounted(disk, tmp_path / "mnt") as root:
            assert state(daemon) == "live"
            assert front.read(handle, 0, 100_000) == block.content()[:100_000]
            assert read_all(front, block) == block.content()
            for name in (disk.inside(block.path), disk.meta_of(block)):
                (root / name.lstrip("/")).unlink()
            commit(root)
            assert_nothing_exposed(front, handle)
            assert open_status(front, block) == -errno.ENOENT
        assert state(daemon) == "clean"
        assert_nothing_exposed(front, handle)
        assert open_status(front, block) == -errno.ENOENT


@needs_root
def test_mounted_read_only(served, tmp_path, vreadd):
    """The owner mounts read-only, which changes nothing.  The state must stay clean, and reads must
    go on."""
    disk, block = served
    daemon = vreadd(disk)
    with daemon.front() as front:
        handle = open_block(front, block)
        with mounted(disk, tmp_path / "mnt", "ro") as root:
            data = (root / disk.inside(block.path).lstrip("/")).read_bytes()
            assert data == block.content()
            assert state(daemon) == "clean"
            assert front.read(handle, 0, 100_000) == block.content()[:100_000]
            assert read_all(front, block) == block.content()
        assert front.stat(handle).status == 0
