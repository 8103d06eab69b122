# SPDX-License-Identifier: GPL-2.0-or-later
"""XFS made by the kernel and by xfsprogs: every form of directory and of extent list must be read.
Changes by tools that leave no trace in the log must be seen.  Unsupported XFS must be refused."""

import ctypes
import os
import subprocess

import pytest

from tests.support.disk import BlockError, built
from tests.support.live import content, refused, state
from tests.support.owner import LiveBlock, fsync, needs_root
from tests.support.xfs_owner import PARAMS, XfsOwner, make_xfs

pytestmark = [needs_root, pytest.mark.usefixtures("both_builds")]
FOUR_K = 4096
PUNCH_HOLE = 3  # and keep the size
libc = ctypes.CDLL("libc.so.6")
# Block ids that differ by this step are in the same subdirectory.
SUBDIR_STEP = 1 << 21


@pytest.fixture(params=PARAMS)
def owner(request, tmp_path):
    with XfsOwner(tmp_path, request.param) as owner:
        yield owner


@pytest.fixture
def plain(tmp_path):
    with XfsOwner(tmp_path) as owner:
        yield owner


def fill_directory(owner, subdir, count):
    """Writes small blocks into one directory, with two names each."""
    ids = [(subdir << 8) + (n & 255) + (n >> 8) * SUBDIR_STEP for n in range(count)]
    return [owner.write(n, content(n, 100 + n % 900)) for n in ids]


def xfs_io(path, command):
    subprocess.run(["xfs_io", "-x", "-c", command, path], check=True, capture_output=True)


def write_in_holes(owner, block_id, length):
    """Writes a block whose extents are each one file-system block long."""
    unit = max(FOUR_K, os.statvfs(owner.root).f_bsize)
    owner.write(block_id, b"")  # first: inodes need contiguous space
    xfs_io(owner.root, "resblks 0")  # else reserved blocks could not be filled
    with open(owner.root / "ballast", "wb") as ballast:
        step, size = 32 << 20, 0
        while step >= unit:
            try:
                os.posix_fallocate(ballast.fileno(), size, step)
                size += step
            except OSError:
                step //= 2
        for n in range(length // unit + 64):
            at = 2 * n * unit
            libc.fallocate(ballast.fileno(), PUNCH_HOLE, ctypes.c_int64(at), ctypes.c_int64(unit))
    owner.sync()
    block = owner.write(block_id, content(block_id, length))
    owner.fsync(block)
    return block


def extents_of(path):
    listed = subprocess.run(["filefrag", path], capture_output=True, text=True, check=True)
    return int(listed.stdout.rsplit(":", 1)[1].split()[0])


def compare(owner, there, every=1):
    with owner.blockctl() as control:
        listed = {(entry["id"], entry["genstamp"]) for entry in control.list()}
        assert listed == {(block.id, block.genstamp) for block in there}
        for block in there[::every]:
            handle = control.open(block)
            assert handle.read_all() == block.content, block.id
            handle.close()
        refused(lambda: control.open(LiveBlock(12345, b"")), "ENOENT")


@pytest.mark.thorough
def test_directories_of_all_forms(owner):
    """Directories in the inode, in one block, with an index of one block and of more: all blocks
    must be found, mounted and unmounted."""
    there = []
    for subdir, count in enumerate((1, 30, 200, 700)):
        there += fill_directory(owner, subdir, count)
    for block in there[40:200:3]:
        owner.delete(block)
    there = there[:40] + [b for n, b in enumerate(there[40:200]) if n % 3] + there[200:]
    owner.sync()
    compare(owner, there, every=29)
    owner.unmount()
    compare(owner, there, every=29)


@pytest.mark.thorough
def test_many_extents(owner):
    block = write_in_holes(owner, 7, 3_000_000)
    if owner.variant != "16k":
        assert extents_of(owner.data(block)) > 100  # more than an inode holds
    compare(owner, [block])
    owner.unmount()
    compare(owner, [block])


def test_holes_and_unwritten_extents_are_not_read(plain):
    """Blocks with holes or unwritten extents must be refused, mounted or not: HDFS writes none."""
    blocks = [plain.write(n, content(n, 200_000)) for n in (1, 2, 3)]
    subprocess.run(
        ["fallocate", "-p", "-o", "65536", "-l", "65536", plain.data(blocks[0])], check=True
    )
    subprocess.run(
        ["fallocate", "-z", "-o", "65536", "-l", "65536", plain.data(blocks[1])], check=True
    )
    plain.sync()
    for _ in range(2):
        with plain.blockctl() as control:
            for block in blocks[:2]:
                refused(lambda block=block: control.open(block).read_all(), "ENOENT", "ENODATA")
            assert control.open(blocks[2]).read_all() == blocks[2].content
        plain.unmount()


def xfs_db(path, *commands):
    words = [word for command in commands for word in ("-c", command)]
    done = subprocess.run(
        ["xfs_db", "-x", *words, path], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_changed_offline_under_an_open_handle(plain):
    """xfs_db and xfs_repair change an unmounted XFS without a trace in the log.  The changed block
    must be refused under an open handle; others must be read."""
    kept, changed = (plain.write(n, content(n, 300_000)) for n in (1, 2))
    inode = plain.data(changed).stat().st_ino
    plain.unmount()
    with plain.blockctl() as control:
        assert state(control) == "clean"
        handles = [control.open(block) for block in (kept, changed)]
        for handle, block in zip(handles, (kept, changed), strict=True):
            assert handle.read_all() == block.content
        xfs_db(plain.path, f"inode {inode}", "write -d core.size 200000")
        refused(lambda: handles[1].read(0, 100), "EAGAIN")
        refused(lambda: control.open(changed).read_all(), "ENOENT", "EAGAIN")
        assert handles[0].read_all() == kept.content
        subprocess.run(["xfs_repair", plain.path], check=True, capture_output=True)
        assert control.open(kept).read_all() == kept.content


def test_a_block_of_extents_that_names_another_file(plain):
    """It may hold the extents of that file, with a right checksum: it must not be followed."""
    kept = plain.write(1, content(1, 300_000))
    changed = write_in_holes(plain, 7, 3_000_000)
    inode = plain.data(changed).stat().st_ino
    plain.unmount()
    compare(plain, [kept, changed])
    found = xfs_db(
        plain.path, f"inode {inode}", "addr u3.bmbt.ptrs[1]", f"write owner {inode + 1}", "print"
    )
    assert f"owner = {inode + 1}\n" in found
    assert "(correct)" in found  # the checksum
    with plain.blockctl() as control:
        refused(lambda: control.open(changed).read_all(), "EAGAIN", "EBUSY")
        assert control.open(kept).read_all() == kept.content


def test_log_zeroed_by_repair(plain):
    """xfs_repair -L zeroes the log.  Afterwards blocks must be found as they are outside the log,
    or not at all, and new ones must be read."""
    first = plain.write(1, content(1, 100_000))
    plain.fsync(first)
    plain.unmount()
    plain.mount()
    second = plain.write(2, content(2, 100_000))
    plain.fsync(second)
    plain.crash()
    plain.unmount()
    with plain.blockctl() as control:
        handles = [control.open(block) for block in (first, second)]
        for handle, block in zip(handles, (first, second), strict=True):
            assert handle.read_all() == block.content
        subprocess.run(["xfs_repair", "-L", plain.path], check=True, capture_output=True)
        for block in (first, second):
            try:
                assert control.open(block).read_all() == block.content
            except BlockError as error:
                assert error.name in ("ENOENT", "ENODATA")  # noqa: PT017
        assert control.open(first).read_all() == first.content
        plain.mount()
        third = plain.write(3, content(3, 100_000))
        plain.fsync(third)
        assert control.open(third).read_all() == third.content


@pytest.mark.thorough
def test_grown(plain):
    block = plain.write(1, content(1, 100_000))
    plain.fsync(block)
    with plain.blockctl() as control:
        handle = control.open(block)
        assert handle.read_all() == block.content
        device = subprocess.run(
            ["findmnt", "-no", "SOURCE", plain.root], capture_output=True, text=True, check=True
        ).stdout.strip()
        os.truncate(plain.path, 128 << 20)
        subprocess.run(["losetup", "-c", device], check=True)
        subprocess.run(["xfs_growfs", plain.root], check=True, capture_output=True)
        more = [plain.write(n, content(n, 3_000_000)) for n in range(2, 24)]
        for each in more:
            plain.fsync(each)
        control.look()
        for each in [block, *more]:
            assert control.open(each).read_all() == each.content
        # The handle was opened in the old image: it may never give other bytes.
        try:
            assert handle.read_all() == block.content
        except BlockError as error:
            assert error.name == "EAGAIN"  # noqa: PT017


def test_log_goes_round(plain):
    """The log wraps past the position that an idle reader knew.  The reader must then read right
    bytes."""
    block = plain.write(1, content(1, 50_000))
    plain.fsync(block)
    with plain.blockctl() as control:
        handle = control.open(block)
        for n in range(2):
            for name in range(3000):
                with open(plain.root / f"{name}-{'x' * 200}", "wb"):
                    pass
            fsync(plain.root)
            for name in range(3000):
                os.unlink(plain.root / f"{name}-{'x' * 200}")
            fsync(plain.root)
            other = plain.write(2 + n, content(n, 50_000))
            plain.fsync(other)
            assert handle.read_all() == block.content
            assert control.open(other).read_all() == other.content


REFUSED = {
    "version-4": (["-m", "crc=0"], (), "version 4"),
    "needs-repair": ([], ("sb 0", "write -d features_incompat 0x1b"), "run xfs_repair"),
    "unknown-feature": ([], ("sb 0", "write -d features_incompat 0x10000b"), "does not support"),
    "unknown-in-log": ([], ("sb 0", "write -d features_log_incompat 0x80"), "does not support"),
    "other-log": ([], ("sb 0", "write -d logstart 0"), "on another device"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_with_a_reason(tmp_path, kind):
    options, commands, reason = REFUSED[kind]
    path = tmp_path / "disk.raw"
    make_xfs(path, options)
    if commands:
        xfs_db(path, *commands)
    done = subprocess.run(
        [built("blockctl"), f"dn1={path},/data"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert reason in done.stderr
