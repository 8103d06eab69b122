# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk image in use: its ext4 or XFS is mounted read-write while others read the image.  Live
clusters (tools/hdfs) and tests use it.

    disk = LiveDisk("dn1.raw", mount_point="dn1", table="gpt", mib=1024)
    with MountSpace() as space:
        disk.attach(space)
        (disk.view / "hadoop").mkdir()    # in the image's file system, from here
        disk.detach()

The first attach() makes the image; later ones find it.  The image holds only what the kernel has
written out, like the disk of a virtual machine with a write-back cache.  sync() writes out all.
"""

import ctypes
import os
from pathlib import Path

from tools.images.datanode import (
    FIRST_PARTITION,
    GPT_TAIL,
    MIB,
    TABLES,
    ImageError,
    _partition,
    _run,
)

XFS_LOG_MIB = 10


class LiveDisk:
    """path: the image file.  mount_point: where the daemons in the mount space see it.  kind: ext4,
    or xfs, which is made without a partition table."""

    def __init__(self, path, mount_point, table="gpt", mib=1024, features=None, kind="ext4"):
        if kind == "xfs" and table != "none":
            raise ImageError(f"XFS with partition table {table!r}: expected none")
        if table not in TABLES:
            raise ImageError(f"partition table {table!r}: expected one of {', '.join(TABLES)}")
        if mib < 64:
            raise ImageError(f"image of {mib} MiB: expected at least 64, for ext4 and its journal")
        self.path = Path(path).resolve()
        self.mount_point = Path(mount_point).absolute()
        self.table = table
        self.offset = 0 if table == "none" else sum(FIRST_PARTITION)
        self.length = mib * MIB
        self.block_size = 4096
        self._features = features
        self._kind = kind
        self._space = None

    @property
    def view(self):
        """The root of the file system, for this process."""
        return self._space.view(self.mount_point)

    def attach(self, space):
        if not self.path.exists():
            self._make()
        space.mount_image(self.path, self.mount_point, self.offset, self.length, self._kind)
        self._space = space

    def copy(self, original):
        """Makes the image a copy of another disk's, which is not attached."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _run(["cp", str(original.path), str(self.path)])

    def detach(self):
        if self._space:
            self._space.unmount(self.mount_point)
            self._space = None

    def sync(self):
        """Everything written so far is in the image when this returns."""
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = os.open(self.view, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if libc.syncfs(descriptor) != 0:
                raise ImageError(f"{self.path}: syncfs: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(descriptor)

    def _make(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        with open(fresh, "wb") as image:
            image.truncate(self.offset + self.length + (GPT_TAIL if self.table == "gpt" else 0))
        if self.table != "none":
            _partition(fresh, self.table, self.offset, self.length)
        if self._kind == "xfs":
            # Without --unsupported: at least 300 MB, with a log of at least a fifth of that.
            _run(
                ["mkfs.xfs", "--unsupported", "-q", "-f", "-l", f"size={XFS_LOG_MIB}m", str(fresh)]
            )
        else:
            self._make_ext4(fresh)
        fresh.rename(self.path)

    def _make_ext4(self, fresh):
        command = ["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-b", str(self.block_size)]
        command += ["-E", f"offset={self.offset},root_owner=0:0"]
        if self._features:
            command += ["-O", self._features]
        _run([*command, str(fresh), f"{self.length // 1024}k"])
