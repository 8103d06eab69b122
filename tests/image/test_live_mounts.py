# SPDX-License-Identifier: GPL-2.0-or-later
"""Owners that mount ext4 with other than default options, and owners that write with O_DIRECT or
through mmap.  Synced data must be read right, or refused with the reason."""

import contextlib
import mmap
import os
import subprocess

import pytest

from tests.support.disk import BlockError, blockctl
from tests.support.hdfs_dir import DataDirectory, meta_bytes
from tests.support.live import content, refused
from tests.support.owner import LiveBlock, Owner, needs_root
from tests.support.xfs_owner import XfsOwner
from tools.vreadd import DataDirs

pytestmark = needs_root

# {name: (arguments of mke2fs, mount options)}.  data=writeback is missing: it leaves no trace in
# the image, and a reader cannot rely on its order of writes (vreadd.8).
FOLLOWED = {
    "nobarrier": ([], "nobarrier"),
    "journal_checksum": (["-O", "^metadata_csum"], "journal_checksum"),
    "nodelalloc": ([], "nodelalloc"),
    "dioread_nolock": ([], "dioread_nolock"),
    "dioread_lock": ([], "dioread_lock"),
    "discard": ([], "discard"),
    "commit": ([], "commit=1"),
    "data_ordered": ([], "data=ordered"),
    "auto_da_alloc": ([], "noauto_da_alloc"),
    "lazytime": ([], "lazytime,noatime"),
}
# {name: (mount options, arguments of tune2fs, reason why it is refused while in use)}
ASYNC = "it is mounted with journal_async_commit"
WRITEBACK = "it is in use with data=writeback"
REFUSED = {
    "journal_async_commit": ("journal_async_commit,data=writeback", [], ASYNC),
    "journal_async_commit-journal": ("journal_async_commit,data=journal", [], ASYNC),
    "writeback-by-default": ("", ["-o", "journal_data_writeback"], WRITEBACK),
    "writeback-among-options": ("", ["-E", "mount_opts=data=writeback"], WRITEBACK),
}
JOURNALLED = {
    "default": (["-b", "4096", "-J", "size=4"], "data=journal"),
    "1k": (["-b", "1024", "-J", "size=2"], "data=journal"),
    "no-checksums": (["-b", "4096", "-J", "size=4", "-O", "^metadata_csum"], "data=journal"),
}


@pytest.mark.parametrize("options", FOLLOWED.values(), ids=FOLLOWED)
def test_followed(tmp_path, options):
    """Blocks are written, appended to, deleted, and others written in their places.  Each must be
    read as soon as it was synced, and old handles be refused."""
    with Owner(tmp_path, options) as owner, owner.blockctl() as blocks:
        for n in range(4):
            block = owner.write(n, content(n, 100_000 + n))
            owner.fsync(block)
            handle = blocks.open(block)
            assert handle.read_all() == block.content
            longer = owner.append(block, content(n, 70_000))
            owner.fsync(longer)
            refused(lambda: handle.read(0, 100), "EAGAIN")  # noqa: B023
            handle = blocks.open(longer)
            assert handle.read_all() == longer.content
            owner.delete(longer)
            owner.commit()
            refused(lambda: handle.read(0, 100), "EAGAIN")  # noqa: B023
            refused(lambda: blocks.open(longer), "ENOENT")  # noqa: B023


@pytest.mark.parametrize(("mounted", "tuned", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path, mounted, tuned, reason):
    """The file system must be refused with its reason while in use, and read once unmounted."""
    owner = Owner(tmp_path, ([], mounted))
    if tuned:
        subprocess.run(["/sbin/tune2fs", *tuned, owner.path], check=True, capture_output=True)
    with owner:
        block = owner.write(1, content(1, 100_000))
        owner.fsync(block)
        with owner.blockctl() as blocks:
            (datanode,) = blocks.status()
            assert datanode["state"] == "waiting"
            assert reason in datanode["missing"]
            refused(lambda: blocks.open(block), "ENODEV")
        owner.unmount()
        with owner.blockctl() as blocks:
            assert blocks.open(block).read_all() == block.content


# ---- data that goes through the journal ---------------------------------------------


@pytest.fixture(params=JOURNALLED)
def journalling(request, tmp_path):
    with Owner(tmp_path, JOURNALLED[request.param], mib=24) as owner:
        yield owner


def until_home(owner, attempt):
    """Writes other blocks until attempt() succeeds, because the journal has written its data to
    their places.  Returns attempt()'s result."""
    for n in range(1000, 1200):
        try:
            return attempt()
        except BlockError as error:
            assert error.name == "EAGAIN"
        owner.fsync(owner.write(n, content(n, 300_000)))
        owner.delete(LiveBlock(n, b""))
    raise AssertionError("it is never read")


def test_journalled_data_is_read_once_it_is_home(journalling):
    owner = journalling
    with owner.blockctl() as blocks:
        block = owner.write(1, content(1, 100_000))
        owner.fsync(block)
        # The data is only in the journal.  At its place there may be any bytes.
        refused(lambda: blocks.open(block), "EAGAIN")
        (listed,) = blocks.list()
        assert listed["status"] == "EAGAIN"
        assert "still in its file system's journal" in listed["problem"]
        handle = until_home(owner, lambda: blocks.open(block))
        assert until_home(owner, handle.read_all) == block.content
        # On a frozen file system all data is at its place.
        block = owner.write(2, content(2, 100_000))
        owner.fsync(block)
        refused(lambda: blocks.open(block), "EAGAIN")
        with owner.frozen():
            assert blocks.open(block).read_all() == block.content


def fill_up(owner, room):
    """Fills the file system except for `room` bytes, by writing: files with journalled data cannot
    be preallocated."""
    with open(owner.root / "ballast", "wb", buffering=0) as ballast:
        with contextlib.suppress(OSError):
            while ballast.write(bytes(1 << 20)):
                pass
        ballast.truncate(ballast.tell() - room)
        os.fsync(ballast.fileno())


@pytest.mark.thorough
def test_what_lies_in_the_place_of_journalled_data_is_not_read(journalling):
    """A block is deleted, and another of the same length gets its place.  The new bytes are in the
    journal; at the place are still the old bytes with matching checksums.  These must not be
    read."""
    owner = journalling
    fill_up(owner, 800_000)
    first = owner.write(1, content(1, 400_000))
    with owner.frozen():
        places = owner.places(first)
    owner.delete(first)
    owner.commit()
    second = owner.write(2, content(2, 400_000))
    owner.fsync(second)
    assert owner.places(second) & places, "it got another place: nothing is tested"
    with owner.blockctl() as blocks:
        refused(lambda: blocks.open(second), "EAGAIN")
        handle = until_home(owner, lambda: blocks.open(second))
        assert until_home(owner, handle.read_all) == second.content


def test_directory_that_is_in_the_journal_yet(tmp_path):
    """A data directory must be served only when its VERSION has left the journal: VERSION is
    journalled data, too."""
    with Owner(tmp_path, JOURNALLED["default"]) as owner:
        DataDirectory(owner.root / "new", storage="DS-new")
        owner.commit()
        with blockctl(dn1=DataDirs(owner.path, ["/new"])) as blocks:
            (datanode,) = blocks.status()
            assert (
                "its current/VERSION is still in its file system's journal" in datanode["missing"]
            )
            with owner.frozen():
                blocks.look()
                assert blocks.datanodes_of("DS-new") == ["dn1"]


# ---- owners that do not write through the page cache --------------------------------


def write_direct(path, content):
    """Writes whole pages with O_DIRECT, then truncates the file to its length."""
    page = mmap.PAGESIZE
    with mmap.mmap(-1, -(-len(content) // page) * page) as buffer:
        buffer[: len(content)] = content
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o644)
        try:
            assert os.write(file, buffer) == len(buffer)
            os.ftruncate(file, len(content))
            os.fsync(file)
        finally:
            os.close(file)


def write_mapped(path, content):
    with open(path, "w+b") as file:
        file.truncate(len(content))
        with mmap.mmap(file.fileno(), len(content)) as mapped:
            mapped[:] = content
            mapped.flush()
        os.fsync(file.fileno())


WAYS = {"direct": write_direct, "mapped": write_mapped}
KINDS = {"ext4": Owner, "xfs": XfsOwner}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_written_past_the_page_cache(tmp_path, kind, way):
    """Blocks are written past the page cache and deleted, and others get their places.  Each must
    be read right, and deleted blocks not found."""
    with KINDS[kind](tmp_path) as owner, owner.blockctl() as blocks:
        before = None
        for n in range(12):
            block = LiveBlock(n, content(n, 200_000 + 1000 * n))
            owner.data(block).parent.mkdir(parents=True, exist_ok=True)
            WAYS[way](owner.data(block), block.content)
            WAYS[way](owner.meta(block), meta_bytes(block.content))
            owner.fsync(block)
            assert blocks.open(block).read_all() == block.content
            if before:
                owner.delete(before)
                owner.commit()
                refused(lambda: blocks.open(before), "ENOENT")  # noqa: B023
            before = block
