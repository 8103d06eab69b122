# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to data directories in a datanode's life, as users of HDFS reported it.  The
directories are made without HDFS."""

import contextlib
import shutil
import struct

import pytest

from tests.support.clock import Clock
from tests.support.daemon import Daemon, open_block
from tests.support.disk import BlockError, blockctl
from tests.support.hdfs_dir import (
    CRC32C,
    POOL,
    DataDirectory,
    block_content,
    checksums,
    meta_bytes,
)
from tests.support.volumes import debugfs, make_ext, partitioned
from tools.vreadd import DataDirs

LENGTH = 70_000


@pytest.fixture
def directory(tmp_path):
    return DataDirectory(tmp_path / "first", storage="DS-1")


@pytest.fixture
def other(tmp_path):
    return DataDirectory(tmp_path / "second", storage="DS-2")


@pytest.fixture
def image(tmp_path):
    return tmp_path / "disk.raw"


@pytest.fixture
def serve(tmp_path, image):
    """serve(directories): a datanode with these data directories in one file system."""

    def serving(*directories):
        tree = tmp_path / "tree"
        for each in directories:
            shutil.copytree(each.path, tree / each.path.name)
        make_ext(image, tree)
        return blockctl(dn1=DataDirs(image, [f"/{each.path.name}" for each in directories]))

    return serving


def refusal(control, block, *arguments, **options):
    with pytest.raises(BlockError) as caught:
        control.open(block, *arguments, **options)
    return caught.value.name


def why_not_served(control):
    (status,) = control.status()
    assert status["state"] == "waiting"
    return status["missing"]


def moved_to(block, folder):
    """Moves both files of a block to another folder of its pool."""
    pool = block.data.parents[4] if "finalized" in str(block.data) else block.data.parents[2]
    to = pool / folder
    to.mkdir(parents=True, exist_ok=True)
    for file in (block.data, block.meta):
        file.rename(to / file.name)


def version_of(directory):
    return directory.path / "current/VERSION"


# ---- VERSION ------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [-56, -55])
def test_older_layout(directory, serve, layout):
    """Block folders of older datanodes are not where vRead looks: that is said, instead of serving
    a datanode of which no block is found."""
    block = directory.add(1073741825 + (200 << 16), LENGTH)
    moved_to(block, "current/finalized/subdir200/subdir0")
    version = version_of(directory)
    version.write_text(version.read_text().replace("-57", str(layout)))
    with serve(directory) as control:
        assert "older than -57" in why_not_served(control)
        assert refusal(control, block) == "ENODEV"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("=", " = ").replace("\n", "\n  "),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("DS-1", "DS-0", 1) + "! the last one counts\nstorageID=DS-1",
        lambda text: text.replace("=", ":"),
        lambda text: text.replace("=", " "),
        lambda text: text.replace("DS-1", "DS\\u002d1"),
        lambda text: text.replace("DS-1", "DS\\\n    -1"),
        lambda text: text.replace("\n", "\r"),
    ],
    ids=["dos", "mark", "blanks", "no-end", "twice", "colon", "blank", "escape", "goes-on", "mac"],
)
def test_version_that_was_edited(directory, serve, change):
    block = directory.add(1, LENGTH)
    version = version_of(directory)
    version.write_bytes(change(version.read_text()).encode())
    with serve(directory) as control:
        assert control.open(block).read_all() == block.content()


def test_disk_of_another_datanode(directory, tmp_path, serve):
    """One of the directories says that it is of another datanode: each is what its storage id
    says."""
    other = DataDirectory(tmp_path / "second", storage="DS-2", datanode="dn-2")
    blocks = [directory.add(1, LENGTH), other.add(2, LENGTH)]
    with serve(directory, other) as control:
        for block in blocks:
            assert control.open(block).read_all() == block.content()
            wrong = "DS-1" if block.storage == "DS-2" else "DS-2"
            assert refusal(control, block, storages=[wrong]) == "ENOENT"


def test_datanode_with_a_new_name(directory, image, serve):
    """A datanode that lost the disk with its name takes another one, on the disks that are left."""
    block = directory.add(1, LENGTH)
    with serve(directory) as control:
        handle = control.open(block)
        fresh = directory.path / "VERSION.new"
        fresh.write_text(version_of(directory).read_text().replace("dn-1", "dn-9"))
        debugfs(image, "rm /first/current/VERSION", f"write {fresh} /first/current/VERSION")
        control.look()
        assert read_or_nothing(handle) in (block.content(), None)
        assert control.open(block).read_all() == block.content()
        (status,) = control.status()
        (system,) = status["filesystems"]
        assert system["data-dirs"][0]["datanode-uuid"] == "dn-9"


def test_copied_data_directory(directory, tmp_path, serve):
    """Two directories have one storage id, because a disk was copied to a larger one: a block is
    found in the one that has it."""
    copy = DataDirectory(tmp_path / "second", storage="DS-1")
    blocks = [directory.add(1, LENGTH), copy.add(2, LENGTH)]
    with serve(directory, copy) as control:
        for block in blocks:
            assert control.open(block).read_all() == block.content()


@pytest.mark.parametrize("address", ["2001:db8::1", "fe80:0:0:0:1%eth0", "unknownIP"])
def test_pool_named_after_other_addresses(tmp_path, serve, address):
    directory = DataDirectory(tmp_path / "first", pools=[f"BP-1-{address}-1700000000000"])
    block = directory.add(1, LENGTH)
    with serve(directory) as control:
        assert control.open(block).read_all() == block.content()


def test_disk_that_was_not_mounted(tmp_path, image, directory, other):
    """A datanode started without one of its disks, and made a new directory at the same path of the
    system's disk.  Both are there, with different storages."""
    blocks = [directory.add(1, LENGTH), other.add(2, LENGTH)]
    systems = []
    for each in (directory, other):
        tree = tmp_path / f"{each.storage}.tree"
        shutil.copytree(each.path, tree / "grid/data")
        systems.append(make_ext(tmp_path / f"{each.storage}.fs", tree))
    partitioned(image, "gpt", *systems)
    with blockctl(dn1=DataDirs(image, ["/grid/data"])) as control:
        for block in blocks:
            assert control.open(block).read_all() == block.content()


# ---- replicas ------------------------------------------------------------------------


def test_shorter_replica_in_another_storage(directory, other, serve):
    """Two storages of a datanode have the block, one of them a replica that is too short."""
    short = directory.add(1, LENGTH)
    block = other.add(1, 100_000)
    with serve(directory, other) as control:
        assert refusal(control, short, 100_000) == "ERANGE"
        both = control.open(block, 100_000, storages=["DS-1", "DS-2"])
        assert both.read_all() == block.content()


def test_older_replica_in_another_storage(directory, other, serve):
    """Two storages of a datanode have the block, under different generation stamps."""
    older = directory.add(1, LENGTH)
    block = other.add(1, 100_000, genstamp=1002)
    with serve(directory, other) as control:
        for each in (older, block):
            handle = control.open(each, storages=["DS-1", "DS-2"])
            assert handle.read_all() == block_content(1, each.length)
        assert refusal(control, older, storages=["DS-2"]) == "EEXIST"


def test_block_of_five_gibibytes(directory, tmp_path, image):
    """Nearly all of it is a hole, the end is not."""
    block = directory.add(1, 512)
    end = block_content(2, 100 * 512 + 77)
    holes = (5 << 30) // 512
    with open(block.data, "wb") as data:
        data.seek(holes * 512)
        data.write(end)
    sums = checksums(bytes(512)) * holes + checksums(end)
    block.meta.write_bytes(meta_bytes(b"") + sums)
    directory.path.rename(tmp_path / "tree")
    make_ext(image, tmp_path / "tree", mib=6 << 10)
    length = holes * 512 + len(end)
    with blockctl(dn1=DataDirs(image, ["/"])) as control:
        handle = control.open(block, length)
        assert handle.length == length
        assert handle.read(length - len(end), len(end)) == end
        for limit in (1 << 31, 1 << 32):
            assert handle.read(limit - 100, 1000) == bytes(1000)


HEADERS = {
    "empty": (b"", "EILSEQ"),
    "short": (b"\0\1\2\0", "EILSEQ"),
    "zeros": (bytes(1000), "EILSEQ"),
    "version 2": (struct.pack(">hbi", 2, CRC32C, 512) + bytes(1000), "EILSEQ"),
    "type 5": (struct.pack(">hbi", 1, 5, 512) + bytes(1000), "EILSEQ"),
    "negative chunk": (struct.pack(">hbi", 1, CRC32C, -512) + bytes(1000), "EILSEQ"),
    "no sums": (struct.pack(">hbi", 1, CRC32C, 512), "EILSEQ"),
    "null": (struct.pack(">hbi", 1, 0, 512), "EOPNOTSUPP"),
}


def test_headers_of_meta_files(directory, serve):
    """A damaged .meta file is refused, and listed with the reason; a block beside it is read."""
    damaged = {name: directory.add(100 + i, LENGTH) for i, name in enumerate(HEADERS)}
    for name, block in damaged.items():
        block.meta.write_bytes(HEADERS[name][0])
    good = directory.add(1, LENGTH)
    with serve(directory) as control:
        listed = {entry["id"]: entry for entry in control.list()}
        for name, block in damaged.items():
            assert refusal(control, block) == HEADERS[name][1], name
            assert listed[block.id]["status"] == HEADERS[name][1] and listed[block.id]["problem"]
        assert listed[good.id]["status"] == "ok"
        assert control.open(good).read_all() == good.content()


def test_files_after_a_power_failure(directory, serve):
    """Files that were not written out are empty, full of zeros or gone."""
    gone, alone, empty, zeros = (directory.add(i, LENGTH) for i in range(1, 5))
    gone.data.unlink()
    alone.meta.unlink()
    empty.data.write_bytes(b"")
    zeros.data.write_bytes(bytes(LENGTH))
    with serve(directory) as control:
        assert refusal(control, gone, LENGTH) == "ENOENT"
        assert refusal(control, alone, LENGTH) == "EILSEQ"
        assert refusal(control, empty, LENGTH) == "ERANGE"
        handle = control.open(zeros, LENGTH)
        with pytest.raises(BlockError, match="EBADMSG"):
            handle.read(0, LENGTH)


PLACES_OF_OTHERS = (
    "current/tmp",
    "current/lazypersist/subdir0/subdir0",
    "current/finalized/lost+found",
    "trash/finalized/subdir0/subdir0",
    "previous/finalized/subdir0/subdir0",
    "previous.tmp/finalized/subdir0/subdir0",
    "removed.tmp/finalized/subdir0/subdir0",
)


def test_replicas_that_are_kept_for_a_rollback(directory, serve):
    """Replicas in trash, previous and tmp are none: their bytes are of another time."""
    kept = [directory.add(10 + i, LENGTH) for i in range(len(PLACES_OF_OTHERS))]
    for block, place in zip(kept, PLACES_OF_OTHERS, strict=True):
        moved_to(block, place)
    current = directory.add(10, 1000)  # as one of those
    with serve(directory) as control:
        assert control.open(current).read_all() == current.content()
        assert [entry["id"] for entry in control.list()] == [10]
        for block in kept[1:]:
            assert refusal(control, block) == "ENOENT"


def replaced(image, block, content, genstamp, folder=None):
    """Writes other files in the place of the block's, as the datanode would in the image."""
    inside = f"/first/{block.path}".rsplit("/", 1)[0]
    target = folder or inside
    data, meta = (block.data.with_suffix(suffix) for suffix in (".data", ".sums"))
    data.write_bytes(content)
    meta.write_bytes(meta_bytes(content))
    debugfs(
        image,
        f"rm {inside}/{block.data.name}",
        f"rm {inside}/{block.meta.name}",
        f"write {data} {target}/{block.data.name}",
        f"write {meta} {target}/blk_{block.id}_{genstamp}.meta",
        # As the kernel does: an inode that is used again is of another generation.
        f"set_inode_field {target}/{block.data.name} generation {genstamp + block.length}",
    )


def read_or_nothing(handle):
    """What an old handle gives: all of the bytes, or an error."""
    with contextlib.suppress(BlockError):
        return handle.read_all()
    return None


def test_append_without_a_new_stamp(directory, image, serve):
    """A client that is not Hadoop's appended under the stamp that the replica had."""
    block = directory.add(1, LENGTH)
    longer = block_content(1, 100_000)
    with serve(directory) as control:
        handle = control.open(block, LENGTH)
        assert handle.read_all() == block.content()
        replaced(image, block, longer, block.genstamp)
        assert read_or_nothing(handle) in (block.content(), None)
        assert control.open(block, 100_000).read_all() == longer


def test_stamp_that_is_raised_in_place(directory, image, serve):
    """A recovery of the block renames its .meta file, while the block is scanned and read."""
    block = directory.add(1, LENGTH)
    folder = f"/first/{block.path}".rsplit("/", 1)[0]
    with serve(directory) as control:
        handle = control.open(block)
        debugfs(
            image,
            f"ln {folder}/blk_1_1001.meta {folder}/blk_1_1002.meta",
            f"unlink {folder}/blk_1_1001.meta",
        )
        assert read_or_nothing(handle) in (block.content(), None)
        assert refusal(control, block) == "EEXIST"
        assert control.open(block, genstamp=1002).read_all() == block.content()


def test_other_bytes_under_the_same_name(directory, image, serve):
    """A rollback brings back older bytes under the name that newer ones had."""
    block = directory.add(1, LENGTH)
    older = block_content(2, LENGTH)
    with serve(directory) as control:
        handle = control.open(block)
        assert handle.read_all() == block.content()
        replaced(image, block, older, block.genstamp)
        assert control.open(block).read_all() == older
        assert read_or_nothing(handle) in (older, None)


class Served:
    """What Daemon needs of an image."""

    def __init__(self, path, *data_dirs):
        self.path, self.data_dirs = path, data_dirs


def test_other_bytes_while_the_old_are_in_the_cache(tmp_path, directory, image, serve):
    """Bytes that vreadd keeps in its cache of verified bytes are never those of an older file."""
    block = directory.add(1, 1_000_000)
    newer = block_content(2, 1_000_000)
    serve(directory)
    clock = Clock(tmp_path / "clock")
    cache = "[vreadd]\ncache = 64M\n"
    served = Served(image, "/first")
    daemon = Daemon(tmp_path, served, local=cache, extra="image-mode = direct\n", clock=clock)
    try:
        for content in (block.content(), block.content(), newer):
            if content is newer:
                assert daemon.status()["reading"]["cache"]["hits"] > 0
                replaced(image, block, newer, block.genstamp)
            with daemon.front(pool_pages=300) as front:
                handle = open_block(front, block)
                assert front.read(handle, 0, block.length) == content
        assert daemon.stop() == 0, daemon.log()
    finally:
        daemon.kill()


def test_block_that_a_balancer_moved(directory, other, image, serve):
    """The block is on another disk of the datanode, and is found under that disk's storage only."""
    block = directory.add(1, LENGTH)
    other.add(2, LENGTH)  # so that the folders are there
    with serve(directory, other) as control:
        handle = control.open(block)
        replaced(
            image,
            block,
            block.content(),
            block.genstamp,
            folder=f"/second/current/{POOL}/current/finalized/subdir0/subdir0",
        )
        assert refusal(control, block) == "ENOENT"
        assert control.open(block, storages=["DS-2"]).read_all() == block.content()
        assert read_or_nothing(handle) in (block.content(), None)
