# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of a datanode domU from inside: blocks are written into its mounted file system as a
datanode writes them, and synced as a datanode that publishes syncs them."""

import io
import itertools
import tarfile

from tests.support.hdfs_dir import DataDirectory
from tools.lab.rootfs import module_files

# Modules that a guest needs to mount XFS and that not every guest has; in the order of loading.
XFS_MODULES = ("libcrc32c", "xfs")

IDS = itertools.count(10_000)  # one reader may see several disks

XFS_GUEST_MIB = 256  # including these modules

# GNU's sync, which syncs single files; busybox's syncs everything.
SYNC_FILES = {"/usr/local/bin/sync-files": "/usr/bin/sync"}


def xfs_files():
    """The files for a guest that mounts XFS after load_xfs()."""
    files = {path.stem: path for path in module_files(XFS_MODULES)}
    return {_module(name): files[name] for name in XFS_MODULES}


def load_xfs(guest):
    for name in XFS_MODULES:
        guest.run(["insmod", _module(name)]).check()


def _module(name):
    return f"/lib/modules/{name}.ko"


def unpack(guest, folder, base, files):
    """Copies files of this machine, with paths relative to base, into a guest's folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for file in files:
            archive.add(file, file.relative_to(base))
    guest.run(f"mkdir -p {folder} && tar -xf - -C {folder}", stdin=packed.getvalue()).check()


class DataDisk:
    """A disk that a guest has mounted, with a data directory /data.  scratch: a local folder."""

    def __init__(self, guest, mount_point, scratch, storage):
        self.guest, self.mount_point = guest, mount_point
        self._directory = DataDirectory(scratch, storage=storage)

    def format(self):
        """Makes the data directory that a datanode makes at its first start."""
        unpack(self.guest, f"{self.mount_point}/data", self._directory.path, [
            self._directory.path / "current",
        ])  # fmt: skip
        self.guest.run("sync").check()

    def write(self, length):
        """Writes a new block, which is only in memory so far."""
        block = self._directory.add(next(IDS), length)
        files = [block.data, block.meta]
        unpack(self.guest, f"{self.mount_point}/data", self._directory.path, files)
        for file in files:
            file.unlink()
        return block

    def sync(self, block):
        """Syncs both files and their folder, as the publisher does."""
        data, meta = self._paths(block)
        self.guest.run(["sync-files", data, meta, data.rpartition("/")[0]]).check()

    def delete(self, block):
        self.guest.run(["rm", *self._paths(block)]).check()
        self.guest.run("sync").check()

    def inode(self, block):
        """The inode number of the block's data file."""
        return int(self.guest.text(["stat", "-c", "%i", self._paths(block)[0]]))

    def _paths(self, block):
        data = f"{self.mount_point}/data/{block.path}"
        return data, f"{data}_{block.genstamp}.meta"
