# SPDX-License-Identifier: GPL-2.0-or-later
"""Images that change while they are served by their data directories.  New directories must be
served without a restart, and missing ones given up.  Handles of the old content must give right
bytes or an error."""

import errno
import mmap
import os
import shutil
import subprocess
import threading

import pytest

from tests.support.clock import Clock
from tests.support.daemon import LOOKED, Daemon, vreadd_with_parser
from tests.support.disk import BlockError, blockctl
from tests.support.hdfs_dir import POOL, DataDirectory
from tests.support.localfront import PAGE
from tests.support.volumes import MIB, debugfs, make_ext, partitioned
from tests.support.waiting import eventually
from tools.images import LiveDisk, MountSpace
from tools.vreadd import DataDirs

DIR = "/dfs/data"
MAP_LOCKED = 0x2000  # of mmap(2); not in Python's mmap module
POOL2 = "BP-2-10.0.0.1-1700000000000"
MISSING_INTERVAL = 10  # s between two looks for missing directories
WANTED_INTERVAL = 1  # s between two looks if a client asks for a block that is not there


def make_disk(path, *directories, uuid=None, mib=24):
    """Makes an image with a file system that has these data directories, given as pairs (path,
    DataDirectory)."""
    tree = path.with_name(f"{path.name}.tree")
    for inside, directory in directories:
        shutil.copytree(directory.path, tree / inside.lstrip("/"))
    options = ("-U", uuid) if uuid else ()
    fresh = make_ext(path.with_name(f"{path.name}.new"), tree if directories else None,
                     mib=mib, options=options)  # fmt: skip
    shutil.rmtree(tree, ignore_errors=True)
    return fresh


def overwrite(path, content):
    """Writes the bytes of another image into the same file."""
    with open(path, "r+b" if path.exists() else "wb") as image:
        image.write(content.read_bytes())


@pytest.fixture
def directory(tmp_path):
    return DataDirectory(tmp_path / "d1", storage="DS-1")


@pytest.fixture
def image(tmp_path):
    return tmp_path / "disk.raw"


# ---- step by step -------------------------------------------------------------------------------


def refused(call):
    with pytest.raises(BlockError) as caught:
        call()
    assert caught.value.exposed == 0
    return caught.value.name


def right_or_stale(handle, block):
    try:
        return handle.read(0, block.length) == block.content()
    except BlockError as error:
        return error.name == "EAGAIN" and error.exposed == 0


def state(control):
    (status,) = control.status()
    return status["state"], status.get("missing", "")


def test_from_nothing_to_a_block(tmp_path, image, directory):
    block = directory.add(7, 300_000)
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        steps = (
            (None, "No such file or directory"),
            (lambda: image.touch(), "is empty (0 bytes)"),
            (lambda: image.write_bytes(bytes(24 * MIB)), "neither a partition table nor"),
            (lambda: overwrite(image, make_disk(image)), "no such directory with a file"),
        )
        for step, said in steps:
            if step:
                step()
            control.look()
            assert state(control)[0] == "waiting" and said in state(control)[1]
            assert refused(lambda: control.open(block)) == "ENODEV"
            assert control.datanodes_of("DS-1") == []
        overwrite(image, make_disk(image, (DIR, directory)))
        assert refused(lambda: control.open(block)) == "ENODEV"
        control.look()
        assert state(control) == ("served", "")
        assert control.open(block).read_all() == block.content()
        assert control.datanodes_of("DS-1") == ["dn1"]


def test_another_file_in_its_place(tmp_path, image, directory):
    """Another image replaces the file.  New opens must find only the new image's blocks; old
    handles must give the old bytes or EAGAIN."""
    old = directory.add(7, 300_000)
    make_disk(image, (DIR, directory)).rename(image)
    other = DataDirectory(tmp_path / "d2", storage="DS-2")
    new = other.add(8, 200_000)
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        handle = control.open(old)
        assert handle.read(0, 1000) == old.content()[:1000]
        make_disk(image, (DIR, other)).rename(image)
        control.look()
        assert control.open(new).read_all() == new.content()
        assert refused(lambda: control.open(old, storages=["DS-2"])) == "ENOENT"
        assert refused(lambda: control.open(old)) == "ENODEV"
        assert right_or_stale(handle, old)
        assert (control.datanodes_of("DS-1"), control.datanodes_of("DS-2")) == ([], ["dn1"])


def test_file_system_made_again(tmp_path, image, directory):
    old = directory.add(7, 300_000)
    make_disk(image, (DIR, directory)).rename(image)
    other = DataDirectory(tmp_path / "d2", storage="DS-2")
    new = other.add(8, 200_000)
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        handle = control.open(old)
        overwrite(image, make_disk(image, (DIR, other)))
        assert refused(lambda: handle.read(0, 1000)) in ("EAGAIN", "EIO")
        assert refused(lambda: control.open(new, storages=["DS-1"])) == "EIO"
        control.look()
        assert control.open(new, storages=["DS-2"]).read_all() == new.content()
        assert refused(lambda: handle.read(0, 1000)) in ("EAGAIN", "EIO")


def test_what_is_gone_is_believed_when_seen_twice(image, directory):
    """A VERSION that is missing must be believed only when two looks have found it missing: one
    look may come just while a file is being replaced."""
    block = directory.add(7, 1000)
    make_disk(image, (DIR, directory)).rename(image)
    with blockctl(dn1=DataDirs(image, [DIR])) as control:
        version = directory.path / "current" / "VERSION"
        empty = version.with_name("empty")
        empty.touch()
        rewrite = [f"cd {DIR}/current", "rm VERSION"]
        for source in (empty, version):
            debugfs(image, *rewrite, f"write {source} VERSION")
            control.look()
            assert state(control) == ("served", "")
            assert control.open(block, storages=["DS-1"]).read_all() == block.content()
        debugfs(image, *rewrite)
        control.look()
        assert state(control) == ("served", "")
        control.look()
        assert state(control)[0] == "waiting"
        assert "no such directory with a file current/VERSION" in state(control)[1]
        assert refused(lambda: control.open(block)) == "ENODEV"


def test_two_claim_one_storage(tmp_path, image, directory):
    """Two datanodes claim one storage id: a guest may write any VERSION.  The blocks of the other
    datanode must still be found."""
    block = directory.add(7, 1000)
    liar = DataDirectory(tmp_path / "liar", storage="DS-1")
    make_disk(image, (DIR, directory)).rename(image)
    second = tmp_path / "second"
    make_disk(second, (DIR, liar)).rename(second)
    with blockctl(dn0=DataDirs(second, [DIR]), dn1=DataDirs(image, [DIR])) as control:
        assert control.datanodes_of("DS-1") == ["dn0", "dn1"]
        assert control.open(block, storages=["DS-1"]).read_all() == block.content()


# ---- a running vreadd ---------------------------------------------------------------------------


class Served:
    """An image and its data directories, with the members that Daemon needs."""

    def __init__(self, image, *paths):
        self.path, self.data_dirs = image, paths


@pytest.fixture
def vreadd(tmp_path):
    """vreadd(image, *paths): starts a daemon.  All daemons must end with status 0."""
    daemons = []

    def start(image, *paths, **options):
        daemons.append(Daemon(tmp_path, Served(image, *paths), **options))
        return daemons[-1]

    yield start
    for daemon in daemons:
        assert daemon.stop() == 0, daemon.log()


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


def looks(daemon):
    return daemon.log().count("looked into")


def open_status(front, block, storages=None):
    return front.open(block.id, block.genstamp, block.pool, storages or [block.storage]).status


def wait_open(front, block, storages=None):
    """Opens the block again and again until that succeeds: each failed open makes vreadd look.
    Returns the handle."""
    response = None

    def is_open():
        nonlocal response
        response = front.open(block.id, block.genstamp, block.pool, storages or [block.storage])
        not_yet = (-errno.ENODEV, -errno.ENOENT, -errno.EIO, -errno.EAGAIN)
        assert response.status in (0, *not_yet)
        return response.status == 0

    eventually(is_open, what=lambda: errno.errorcode[-response.status])
    return response.handle


def read_all(front, handle, block):
    data = b""
    while len(data) < block.length:
        data += front.read(handle, len(data), min(front.pool_pages * PAGE, block.length))
    front.close_handle(handle)
    return data


def status_of(daemon):
    (datanode,) = daemon.status()["datanodes"]
    return datanode


@pytest.mark.thorough
def test_started_before_the_datanode_was_formatted(image, directory, vreadd):
    block = directory.add(7, 700_000)
    image.write_bytes(bytes(26 * MIB))
    daemon = vreadd(image, DIR)
    assert "datanode dn1: not served yet: image" in daemon.log()
    assert status_of(daemon)["state"] == "waiting"
    with daemon.front() as front:
        assert open_status(front, block) == -errno.ENODEV
        overwrite(image, partitioned(image.with_name("p"), "gpt", make_disk(image)))
        overwrite(
            image,
            partitioned(image.with_name("p"), "gpt", make_disk(image, (DIR, directory))),
        )
        assert read_all(front, wait_open(front, block, ["DS-1"]), block) == block.content()
    assert status_of(daemon)["state"] == "served"
    assert f"serving {image}, partition gpt:1, {DIR}: storage DS-1, 1 pools" in daemon.log()


def test_found_without_being_asked(image, directory, vreadd, clock):
    """The image appears; status must show it as served although no client opens a block."""
    daemon = vreadd(image, DIR, clock=clock)
    assert status_of(daemon)["missing"].endswith("No such file or directory; check the path")
    before = looks(daemon)
    make_disk(image, (DIR, directory)).rename(image)
    clock.advance(MISSING_INTERVAL - 0.001)
    assert (looks(daemon), status_of(daemon)["state"]) == (before, "waiting")
    clock.advance(0.001)
    daemon.wait_until(lambda: status_of(daemon)["state"] == "served")


def slow_parser(folder):
    """Installs a vreadd whose parsers wait, before they start, until the folder `go` is there.
    Returns (vreadd, go)."""
    go = folder / "go"
    script = f"until [ -e {go} ]; do sleep 0.01; done\nexec $REAL"
    return vreadd_with_parser(folder / "programs", script), go


def test_a_look_that_was_slow_is_soon_repeated(tmp_path, image, directory, vreadd, clock):
    """On a busy host the parser takes 25 s to start.  It uses little CPU time, so the next look
    comes after another 25 s."""
    program, go = slow_parser(tmp_path)
    make_disk(image).rename(image)
    daemon = vreadd(image, DIR, clock=clock, program=program, looked=False)
    clock.advance(25)
    go.mkdir()
    daemon.wait_until(lambda: LOOKED in daemon.log())
    overwrite(image, make_disk(image, (DIR, directory)))
    assert status_of(daemon)["state"] == "waiting"
    clock.advance(25)
    daemon.wait_until(lambda: status_of(daemon)["state"] == "served")


@pytest.mark.thorough
def test_looks_use_a_twentieth_of_a_processor(image, directory, vreadd, clock):
    """A guest may make its image so that each look uses 2 s of CPU time."""
    make_disk(image).rename(image)
    clock.cpu_ms = 2000
    daemon = vreadd(image, DIR, clock=clock)
    overwrite(image, make_disk(image, (DIR, directory)))
    start = clock.ms
    clock.until(lambda: status_of(daemon)["state"] == "served", step=0.5)
    assert clock.ms - start >= 20 * clock.cpu_ms


def test_new_pool(tmp_path, image, directory, vreadd):
    """A new pool in a known directory must be served at once, and must be in status after the next
    look."""
    make_disk(image, (DIR, directory)).rename(image)
    daemon = vreadd(image, DIR)
    both = DataDirectory(tmp_path / "d2", storage="DS-1", pools=[POOL, POOL2])
    block = both.add(9, 100_000, pool=POOL2)
    name = f"current/{POOL2}"
    folders = [f"{DIR}/{name}"]
    for folder in ("current", "finalized", "subdir0", "subdir0"):
        folders.append(f"{folders[-1]}/{folder}")
    with daemon.front() as front:
        assert open_status(front, block) == -errno.ENODEV
        debugfs(
            image,
            *(f"mkdir {folder}" for folder in folders),
            f"write {both.path}/{name}/current/VERSION {DIR}/{name}/current/VERSION",
            f"write {block.data} {DIR}/{block.path}",
            f"write {block.meta} {folders[-1]}/{block.meta.name}",
        )
        response = front.open(block.id, block.genstamp, POOL2, ["DS-1"])
        assert response.status == 0
        assert read_all(front, response.handle, block) == block.content()
        open_status(front, block, ["DS-unknown"])

    def pools():
        return status_of(daemon)["filesystems"][0]["data-dirs"][0]["pools"]

    daemon.wait_until(lambda: pools() == [POOL, POOL2])


def test_replaced_directory(tmp_path, image, directory, vreadd):
    old = directory.add(7, 100_000)
    make_disk(image, (DIR, directory)).rename(image)
    daemon = vreadd(image, DIR)
    other = DataDirectory(tmp_path / "d2", storage="DS-2")
    new = other.add(8, 200_000)
    with daemon.front() as front:
        before = wait_open(front, old, ["DS-1"])
        overwrite(image, make_disk(image, (DIR, other)))
        assert read_all(front, wait_open(front, new, ["DS-2"]), new) == new.content()
        assert open_status(front, old, ["DS-1"]) == -errno.ENODEV
        assert front.read_response(before, 0, 4096).status in (-errno.EAGAIN, -errno.EIO)


def test_looks_are_rare(image, directory, vreadd, clock):
    """Opens of an unknown storage must make vreadd look at most once per WANTED_INTERVAL."""
    block = directory.add(7, 1000)
    make_disk(image, (DIR, directory)).rename(image)
    daemon = vreadd(image, DIR, clock=clock)
    with daemon.front() as front:
        before = looks(daemon)
        for seconds in range(4):
            daemon.wait_until(lambda seconds=seconds: looks(daemon) == before + seconds)
            for _ in range(50):
                assert open_status(front, block, ["DS-unknown"]) == -errno.ENODEV
            assert looks(daemon) == before + seconds
            clock.advance(WANTED_INTERVAL)


@pytest.mark.thorough
def test_changes_under_load(tmp_path, image, directory, vreadd):
    """Images are replaced again and again under readers on several connections.  Each read must
    give right bytes or a fitting error, and the sanitizers must find nothing."""
    block = directory.add(7, 400_000)
    other = DataDirectory(tmp_path / "d2", storage="DS-2")
    same = other.add(7, 400_000)
    assert same.content() == block.content()
    make_disk(image, (DIR, directory)).rename(image)
    disks = [
        make_disk(tmp_path / f"x{n}", (DIR, each)) for n, each in enumerate([other, directory])
    ]
    daemon = vreadd(image, DIR)
    stop, wrong, read = threading.Event(), [], []

    def reader():
        try:
            read_on()
        except BaseException as error:
            wrong.append(error)
            raise

    def read_on():
        with daemon.front() as front:
            while not stop.is_set():
                response = front.open(block.id, block.genstamp, POOL, ["DS-1", "DS-2"])
                if response.status:
                    continue
                try:
                    data = front.read(response.handle, 0, 60_000)
                    (read if data == block.content()[:60_000] else wrong).append(1)
                except OSError as error:
                    assert error.errno in (errno.EAGAIN, errno.EIO)
                front.close_handle(response.handle)

    threads = [threading.Thread(target=reader) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        with daemon.front() as front:
            for n in range(4):
                overwrite(image, disks[n % 2])
                front.close_handle(wait_open(front, block, [f"DS-{2 - n % 2}"]))
        eventually(lambda: read or wrong, what="a read")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert read and not wrong


# ---- mounted by its owner -----------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.thorough
@pytest.mark.parametrize("table", ["gpt", "none"])
def test_datanode_at_work(tmp_path, image, directory, vreadd, table):
    """An image appears, is formatted, and gets a data directory, blocks, another pool, and at last
    another storage id.  Each change must be served.  The file system stays mounted all the
    time."""
    daemon = vreadd(image, DIR)
    first = directory.add(7, 300_000)
    disk = LiveDisk(image, tmp_path / "mnt", table=table, mib=64)
    with MountSpace() as space, daemon.front() as front:
        assert open_status(front, first, ["DS-1"]) == -errno.ENODEV
        disk.attach(space)
        disk.sync()
        assert open_status(front, first, ["DS-1"]) == -errno.ENODEV
        there = disk.view / DIR.lstrip("/")
        shutil.copytree(directory.path, there)
        disk.sync()
        handle = wait_open(front, first, ["DS-1"])
        assert read_all(front, handle, first) == first.content()

        both = DataDirectory(tmp_path / "d2", storage="DS-1", pools=[POOL, POOL2])
        second = both.add(9, 100_000, pool=POOL2)
        shutil.copytree(both.path / "current" / POOL2, there / "current" / POOL2)
        disk.sync()
        response = front.open(second.id, second.genstamp, POOL2, ["DS-1"])
        assert response.status == 0
        assert read_all(front, response.handle, second) == second.content()

        handle = wait_open(front, first, ["DS-1"])
        shutil.rmtree(there)
        other = DataDirectory(tmp_path / "d3", storage="DS-3")
        third = other.add(11, 200_000)
        shutil.copytree(other.path, there)
        disk.sync()
        assert read_all(front, wait_open(front, third, ["DS-3"]), third) == third.content()
        assert open_status(front, first, ["DS-1"]) == -errno.ENODEV
        assert front.read_response(handle, 0, 4096).status == -errno.EAGAIN
        disk.detach()


# ---- block devices ------------------------------------------------------------------------------


@pytest.fixture
def loop(image):
    """A loop device of the image.  Writes to the file do not go through the device's page cache,
    like a guest's writes."""
    image.write_bytes(bytes(24 * MIB))
    made = subprocess.run(
        ["/sbin/losetup", "--find", "--show", image], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no loop devices here: {made.stderr.strip()}")
    yield made.stdout.strip()
    subprocess.run(["/sbin/losetup", "--detach", made.stdout.strip()], check=True)


def locked(file, length):
    return mmap.mmap(file.fileno(), length, flags=mmap.MAP_SHARED | MAP_LOCKED, prot=mmap.PROT_READ)


def test_block_device(image, loop, directory):
    block = directory.add(7, 300_000)
    with blockctl(dn1=DataDirs(loop, [DIR])) as control:
        assert "neither a partition table nor a file system" in state(control)[1]
        # Keeps the device open and locks its pages, so that its page cache cannot be dropped.
        with open(loop, "rb") as device, locked(device, MIB):
            device.read()
            overwrite(image, make_disk(image, (DIR, directory)))
            device.seek(0)
            assert not any(device.read(MIB)), "stale: else this test shows nothing"
            control.look()
            assert state(control) == ("served", "")
            assert control.status()[0]["images"][0]["mode"] == "direct"
            assert control.open(block).read_all() == block.content()
