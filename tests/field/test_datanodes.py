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
from tests.support.hdfs_dir import CRC32C, POOL, DataDirectory, block_content, meta_bytes
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


# ---- replicas ------------------------------------------------------------------------


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


PLACES_OF_OTHERS = (
    "current/tmp",
    "current/lazypersist/subdir0/subdir0",
    "current/finalized/lost+found",
    "trash/finalized/subdir0/subdir0",
    "previous/finalized/subdir0/subdir0",
    "previous.tmp/finalized/subdir0/subdir0",
    "removed.tmp/finalized/subdir0/subdir0",
)


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


class Served:
    """What Daemon needs of an image."""

    def __init__(self, path, *data_dirs):
        self.path, self.data_dirs = path, data_dirs
