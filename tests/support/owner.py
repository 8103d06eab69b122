# SPDX-License-Identifier: GPL-2.0-or-later
"""An owner at work: this machine's kernel mounts an ext4 in an image, and blocks are written into
the ext4 as a datanode writes them.

    with Owner(tmp_path, "1k") as owner, owner.blockctl() as blocks:
        block = owner.write(1, b"...")      # blk_1 and its .meta; only in memory so far
        owner.fsync(block)                  # committed
        blocks.open(block).read_all()
"""

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support.disk import blockctl
from tests.support.hdfs_dir import POOL, DataDirectory, meta_bytes
from tests.support.waiting import eventually
from tools.vreadd import DataDirs

# Options of mke2fs and mount.
VARIANTS = {
    "default": ([], ""),
    "1k": (["-b", "1024"], ""),
    "2k-32bit": (["-b", "2048", "-O", "^64bit"], ""),
    "64bit-no-checksums": (["-O", "64bit,^metadata_csum"], ""),
    "no-checksums": (["-b", "1024", "-O", "^64bit,^metadata_csum"], ""),
    "commit-checksums": (["-O", "^metadata_csum"], "journal_checksum"),
    "ext3": (["-t", "ext3"], ""),
    "small-journal": (["-b", "1024", "-J", "size=1"], ""),
    "fast-commit": (["-O", "fast_commit", "-J", "size=8"], ""),
    "no-delayed-allocation": ([], "nodelalloc,nodioread_nolock"),
    "bigalloc": (["-O", "bigalloc", "-C", "16384"], ""),
    "small-inodes": (["-I", "128", "-O", "^metadata_csum"], ""),
    "orphan-file": (["-O", "orphan_file"], ""),
    "meta-bg": (["-b", "1024", "-O", "meta_bg,^resize_inode"], ""),
}
# make check has blocks of 4 and 1 KiB, and a file system with neither extents nor checksums.
QUICK = ("default", "1k", "ext3")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def variants(names=VARIANTS, quick=QUICK):
    """The names as parameters of a fixture or a test, those outside `quick` marked as thorough."""
    for name in names:
        yield pytest.param(name, marks=() if name in quick else pytest.mark.thorough)


@dataclass(frozen=True)
class LiveBlock:
    id: int
    content: bytes
    genstamp: int = 1001
    finalized: bool = True
    pool: str = POOL
    storage: str = "DS-1"

    @property
    def length(self):
        return len(self.content)


def fsync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def wait_until_unmounted(image):
    """A mount namespace that another test made meanwhile may have the image mounted, too.  Until
    that namespace ends, the file system stays mounted, and another mount gives the same one."""
    devices = ["losetup", "--noheadings", "--output", "AUTOCLEAR", "-j", image]

    def is_mounted():
        return "1" in subprocess.run(devices, check=True, capture_output=True, text=True).stdout

    eventually(lambda: not is_mounted(), 300, f"{image} not mounted in any namespace")


class Owner:
    """variant: a name or a pair of VARIANTS.  fill: a function that writes the first content into
    a DataDirectory."""

    # The journal commits only on request; without this option, five seconds after a change.
    LATE = ("commit=600",)

    def __init__(self, folder, variant="default", mib=64, name="disk", fill=None):
        self.variant = variant
        known = isinstance(variant, str)
        options, self.mount_options = VARIANTS[variant] if known else variant
        self.path = Path(folder) / f"{name}.raw"
        self.root = Path(folder) / f"{name}.mnt"
        self.root.mkdir()
        template = Path(folder) / f"{name}.template"
        directory = DataDirectory(template / "data")
        if fill:
            fill(directory)
        kind = [] if "-t" in options else ["-t", "ext4"]
        command = ["/sbin/mke2fs", "-q", "-F", *kind, "-d", template, *options]
        subprocess.run([*command, self.path, f"{mib}M"], check=True, capture_output=True)
        shutil.rmtree(template)
        self.current = self.root / "data/current" / POOL / "current"

    def __enter__(self):
        self.mount()
        return self

    def __exit__(self, *_):
        self.unmount()

    def mount(self, *options):
        words = ",".join(option for option in ("loop", self.mount_options, *options) if option)
        done = subprocess.run(
            ["mount", "-t", "ext4", "-o", words, self.path, self.root],
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"no such mount here: {done.stderr.strip()}")

    def unmount(self):
        if os.path.ismount(self.root):
            subprocess.run(["umount", self.root], check=True, timeout=120)
            wait_until_unmounted(self.path)

    @contextlib.contextmanager
    def frozen(self):
        """While frozen, all blocks are at their places and nobody writes."""
        subprocess.run(["fsfreeze", "--freeze", self.root], check=True)
        try:
            yield
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", self.root], check=True)

    def crash(self, name="crash.raw"):
        """Returns a copy of the image as it is now, as if the machine had stopped."""
        copy = self.path.with_name(name)
        subprocess.run(["cp", "--sparse=always", self.path, copy], check=True)
        return copy

    def served(self):
        return DataDirs(self.path, ["/data"])

    @contextlib.contextmanager
    def blockctl(self):
        with blockctl(dn1=self.served()) as control:
            yield control

    # ---- what a datanode does --------------------------------------------------

    def data(self, block):
        folder = self.current / "rbw"
        if block.finalized:
            subdirs = f"subdir{block.id >> 16 & 31}/subdir{block.id >> 8 & 31}"
            folder = self.current / "finalized" / subdirs
        return folder / f"blk_{block.id}"

    def meta(self, block):
        data = self.data(block)
        return data.with_name(f"{data.name}_{block.genstamp}.meta")

    def places(self, block, file=None):
        """The blocks of the file system that hold the data (file: or the .meta), as the owner sees
        them."""
        done = subprocess.run(
            ["/usr/sbin/filefrag", "-v", file or self.data(block)],
            capture_output=True,
            text=True,
            check=True,
        )
        extents = re.findall(r"^ *\d+: *\d+\.\. *\d+: *(\d+)\.\. *(\d+):", done.stdout, re.M)
        return {n for first, last in extents for n in range(int(first), int(last) + 1)}

    def fill_up(self, room):
        """A file takes all space but `room` bytes or less: some free space may be reserved."""
        free = os.statvfs(self.root)
        with open(self.root / "ballast", "wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, free.f_bfree * free.f_frsize - room)

    def write(self, block_id, content, genstamp=1001, finalized=True):
        block = LiveBlock(block_id, content, genstamp, finalized)
        self.data(block).parent.mkdir(parents=True, exist_ok=True)
        self.data(block).write_bytes(content)
        self.meta(block).write_bytes(meta_bytes(content))
        return block

    def fsync(self, block):
        """As HDFS does on request: both files and their directory."""
        fsync(self.data(block))
        fsync(self.meta(block))
        fsync(self.data(block).parent)

    def sync(self):
        """Writes this file system only: other tests need their data to stay unwritten."""
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            assert ctypes.CDLL(None).syncfs(descriptor) == 0
        finally:
            os.close(descriptor)

    def mount_late(self):
        """Mounts again, so that nothing is committed without a request."""
        self.unmount()
        self.mount(*self.LATE)

    def commit(self):
        """Commits changes of names to the journal."""
        (self.root / "touched").touch()
        fsync(self.root / "touched")
        fsync(self.root)

    def delete(self, block):
        self.data(block).unlink()
        self.meta(block).unlink()

    def move(self, block, **changes):
        """Moves a block to where it belongs with these changes: finalized, genstamp."""
        moved = replace(block, **changes)
        self.data(moved).parent.mkdir(parents=True, exist_ok=True)
        self.meta(block).rename(self.meta(moved))
        if self.data(block) != self.data(moved):
            self.data(block).rename(self.data(moved))
        return moved

    def _rewrite(self, block, content, kept):
        """Writes both files in place, from the first incomplete chunk on."""
        start = kept // 512 * 512
        sums = meta_bytes(content)
        with open(self.data(block), "r+b") as file:
            file.truncate(kept)
            file.seek(start)
            file.write(content[start:])
        with open(self.meta(block), "r+b") as file:
            file.truncate(7 + 4 * (start // 512))
            file.seek(7 + 4 * (start // 512))
            file.write(sums[7 + 4 * (start // 512) :])

    def cut(self, block, length):
        """Truncates both files in place."""
        self._rewrite(block, block.content[:length], length)

    def append(self, block, more):
        """Appends under a new generation stamp."""
        moved = self.move(block, genstamp=block.genstamp + 1)
        moved = replace(moved, content=block.content + more)
        self._rewrite(moved, moved.content, block.length)
        return moved

    def truncate(self, block, length):
        moved = self.move(block, genstamp=block.genstamp + 1)
        moved = replace(moved, content=block.content[:length])
        self._rewrite(moved, moved.content, length)
        return moved
