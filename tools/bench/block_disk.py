# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode's disk for image_open.py and freshness.py: a mounted file system in a sparse image,
and a data directory in it, where the bench writes blocks as a datanode does.

    with BlockDisk(folder, "ext4", 1 << 40) as disk:
        disk.write(1, content)
        disk.sync(1)
"""

import os
import struct
import subprocess
import zlib
from pathlib import Path

from tools.bench.suite import BenchError
from tools.images import MountSpace

POOL = "BP-1-127.0.0.1-1"
STORAGE = "DS-1"
CRC32, CHUNK = 1, 512
FIRST_STAMP = 1001
MAKE = {
    # Nothing is initialised later: the kernel would write that through the journal.
    "ext4": ["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0"]
    + ["-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q"],
}


class BlockDisk:
    """length: bytes of the image.  The data directory is /data in the file system.  storage: its
    id."""

    def __init__(self, folder, kind, length, storage=STORAGE):
        self.image = folder / f"{kind}.raw"
        self._mount_point = folder / kind
        self._kind, self._length, self._storage = kind, length, storage
        self._space = MountSpace()

    def __enter__(self):
        _make_file_system(self._kind, self.image, self._length)
        self._space.open()
        try:
            self._space.mount_image(self.image, self._mount_point, 0, self._length, kind=self._kind)
            self._make_directory()
        except BaseException:
            self._space.close()
            raise
        return self

    def __exit__(self, *_):
        try:
            self._space.unmount(self._mount_point)
        finally:
            self._space.close()

    @property
    def root(self):
        return self._space.view(self._mount_point)

    def write(self, block, content):
        data = self._path_of(block)
        data.parent.mkdir(parents=True, exist_ok=True)
        sums = [
            zlib.crc32(content[start : start + CHUNK]) for start in range(0, len(content), CHUNK)
        ]
        data.write_bytes(content)
        _meta_of(data).write_bytes(struct.pack(f">hbi{len(sums)}I", 1, CRC32, CHUNK, *sums))

    def write_names(self, blocks):
        """Makes the files of many blocks, without bytes: what a look-up has to pass by."""
        folders = {}
        try:
            for block in blocks:
                data = self._path_of(block)
                if data.parent not in folders:
                    data.parent.mkdir(parents=True, exist_ok=True)
                    folders[data.parent] = os.open(data.parent, os.O_DIRECTORY)
                for name in (data.name, _meta_of(data).name):
                    flags = os.O_CREAT | os.O_WRONLY
                    os.close(os.open(name, flags, dir_fd=folders[data.parent]))
        finally:
            for descriptor in folders.values():
                os.close(descriptor)

    def sync(self, block):
        """Makes a block durable: both files and their folder."""
        data = self._path_of(block)
        for path in (data, _meta_of(data), data.parent):
            _fsync(path)

    def delete(self, block):
        data = self._path_of(block)
        data.unlink()
        _meta_of(data).unlink()

    def sync_all(self):
        subprocess.run(["sync", "-f", self.root], check=True)

    def _path_of(self, block):
        subdirs = f"subdir{block >> 16 & 31}/subdir{block >> 8 & 31}"
        return self._current / "finalized" / subdirs / f"blk_{block}"

    @property
    def _current(self):
        return self.root / "data/current" / POOL / "current"

    def _make_directory(self):
        (self._current / "finalized").mkdir(parents=True)
        (self._current / "rbw").mkdir()
        _write_version(
            self.root / "data/current",
            storageID=self._storage, clusterID="CID-1", cTime=0, datanodeUuid="dn-1",
            storageType="DATA_NODE", layoutVersion=-57,
        )  # fmt: skip
        _write_version(self._current, namespaceID=1, cTime=0, blockpoolID=POOL, layoutVersion=-57)


def _make_file_system(kind, path, length):
    with open(path, "wb") as image:
        image.truncate(length)
    command = [*MAKE[kind], path]
    environment = os.environ | {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError as error:
        raise BenchError(f"{command[0]} is not installed; run `make setup`") from error
    if done.returncode:
        raise BenchError(f"{command[0]}: {done.stderr.strip()}")


def _write_version(folder, **values):
    lines = [f"{key}={value}\n" for key, value in values.items()]
    (folder / "VERSION").write_text("#Sat Nov 21 07:22:00 UTC 2026\n" + "".join(lines))


def _meta_of(data):
    return Path(f"{data}_{FIRST_STAMP}.meta")


def _fsync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
