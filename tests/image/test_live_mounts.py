# SPDX-License-Identifier: GPL-2.0-or-later
"""Owners that mount their ext4 in other ways than by default, and owners that write past the page
cache or through mappings of it: what was synced is read, and is right, or is refused with its
reason."""

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

# What mke2fs and mount are told.  data=writeback is not among them: it leaves no trace in the
# image, and its order of writing is none that a reader beside it could rely on (vreadd.8).
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
# What mount and tune2fs are told, and why such a file system is refused while it is in use.
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
    """Written, synced, read; deleted, its place taken by another, and that read."""
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
    """With its reason while it is in use, and read once it is unmounted."""
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
    """What attempt() answers once the journal, going on, has written home what it held."""
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
        # All of it is in the journal; what lies in its place is anything.
        refused(lambda: blocks.open(block), "EAGAIN")
        (listed,) = blocks.list()
        assert listed["status"] == "EAGAIN"
        assert "still in its file system's journal" in listed["problem"]
        handle = until_home(owner, lambda: blocks.open(block))
        assert until_home(owner, handle.read_all) == block.content
        # Frozen, everything is.
        block = owner.write(2, content(2, 100_000))
        owner.fsync(block)
        refused(lambda: blocks.open(block), "EAGAIN")
        with owner.frozen():
            assert blocks.open(block).read_all() == block.content


def fill_up(owner, room):
    """Journalled files cannot be given their space before they are written."""
    with open(owner.root / "ballast", "wb", buffering=0) as ballast:
        with contextlib.suppress(OSError):
            while ballast.write(bytes(1 << 20)):
                pass
        ballast.truncate(ballast.tell() - room)
        os.fsync(ballast.fileno())


def test_what_lies_in_the_place_of_journalled_data_is_not_read(journalling):
    """A block is deleted and another, as long, gets its place: its bytes are in the journal, those
    of the first, with checksums that match them, on the disk."""
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
    """A datanode's VERSION is journalled data, too: its directory is served once that is home."""
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
    """With O_DIRECT: whole pages, and the file cut to what it is to be."""
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
    """Blocks that are written so, deleted, and whose places others get."""
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
