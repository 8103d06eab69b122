# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the image suite: how long it takes to open a block nobody has opened before.

A datanode's disk as they are today (sparse, so that it fits here): one ext4 of a tebibyte or more,
mounted while its blocks are opened, with thousands of blocks in it.  Its owner is this
process.

    open.ext4           its owner is not writing: blocks taken at random
    open.ext4.journal   every block was written, and made durable by fsync of both files and of
                        their folder, just before it is opened: its names and inodes are in the
                        journal and nowhere else

A row's value is what vread_open() took, median of a round: client, ring and vreadd.  vreadd is
started anew for each row, and a few other blocks are opened first.
"""

import os
import random
import statistics
import struct
import subprocess
import zlib
from pathlib import Path

from tools.bench.results import Limit, Row
from tools.bench.suite import BenchError
from tools.images import LiveDisk, MountSpace
from tools.vreadd import REPOSITORY, DataDirs, Vreadd

POOL = "BP-1-127.0.0.1-1"
CRC32, CHUNK = 1, 512
FIRST_ID = 1 << 30
BLOCK_BYTES = 4096
FIRST_STAMP = 1001
WARM_UP = 8  # blocks, before the ones that count
TARGETS = (Limit("open.ext4", at_most=300),)


class OpenRows:
    """A file system of `gib` with `blocks` blocks; `opens` of them are opened in a round."""

    def __init__(self, folder, gib, blocks, opens):
        self.rows = {name: Row(name, "us") for name in ("open.ext4", "open.ext4.journal")}
        self.conditions = {
            "file_system_bytes": gib << 30,
            "blocks": blocks,
            "opens_a_round": opens,
            "time": "of vread_open(), median of a round",
            "page_cache": "warm",
        }
        self._opens = opens
        self._chance = random.Random(blocks)
        self._next = FIRST_ID + blocks
        self._fresh = list(range(FIRST_ID, self._next))
        self._space = MountSpace()
        self._disk = LiveDisk(folder / "live.raw", folder / "live", table="none", mib=gib << 10)

    def __enter__(self):
        _make_file_system(self._disk.path, self._disk.length)
        self._space.open()
        try:
            self._disk.attach(self._space)
            self._make_directory()
            for block in self._fresh:
                self._write(block)
            self._disk.sync()
        except BaseException:
            self._space.close()
            raise
        self._chance.shuffle(self._fresh)
        return self

    def __exit__(self, *_):
        try:
            self._disk.detach()
        finally:
            self._space.close()

    def round(self):
        self._disk.sync()
        wanted = [self._take() for _ in range(self._opens)]
        self._measure("open.ext4", wanted)
        self._measure("open.ext4.journal", [self._new() for _ in range(self._opens)])

    def _measure(self, name, blocks):
        """blocks: functions that give a block's id just before it is opened."""
        with Vreadd({"dn1": DataDirs(self._disk.path, ["/data"])}) as daemon:
            client = _Client(daemon)
            try:
                for _ in range(WARM_UP):
                    client.open(self._take()())
                self.rows[name].add_time(statistics.median(client.open(b()) for b in blocks))
            finally:
                client.end()

    def _take(self):
        if not self._fresh:
            raise BenchError("no block is left that was not opened: too many rounds")
        block = self._fresh.pop()
        return lambda: block

    def _new(self):
        def write():
            block, self._next = self._next, self._next + 1
            self._write(block)
            data = self._path_of(block)
            for path in (data, _meta_of(data), data.parent):
                _fsync(path)
            return block

        return write

    def _path_of(self, block):
        subdirs = f"subdir{block >> 16 & 31}/subdir{block >> 8 & 31}"
        return self._current / "finalized" / subdirs / f"blk_{block}"

    @property
    def _current(self):
        return self._disk.view / "data/current" / POOL / "current"

    def _make_directory(self):
        (self._current / "finalized").mkdir(parents=True)
        (self._current / "rbw").mkdir()
        _write_version(
            self._disk.view / "data/current",
            storageID="DS-1", clusterID="CID-1", cTime=0, datanodeUuid="dn-1",
            storageType="DATA_NODE", layoutVersion=-57,
        )  # fmt: skip
        _write_version(self._current, namespaceID=1, cTime=0, blockpoolID=POOL, layoutVersion=-57)

    def _write(self, block):
        data = self._path_of(block)
        data.parent.mkdir(parents=True, exist_ok=True)
        content = block.to_bytes(8, "big") * (BLOCK_BYTES // 8)
        sums = (
            zlib.crc32(content[start : start + CHUNK]) for start in range(0, BLOCK_BYTES, CHUNK)
        )
        data.write_bytes(content)
        _meta_of(data).write_bytes(
            struct.pack(f">hbi{BLOCK_BYTES // CHUNK}I", 1, CRC32, CHUNK, *sums)
        )


class _Client:
    """vreadbench, which opens a block for each line it is given."""

    def __init__(self, daemon):
        self._daemon = daemon
        command = [REPOSITORY / "build/release/vreadbench", "-e", daemon.endpoint, "-a", "open"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def open(self, block):
        """Microseconds."""
        self._process.stdin.write(f"{POOL}/blk_{block}_{FIRST_STAMP}:{BLOCK_BYTES}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            complaint = self._process.stderr.read().strip()
            raise BenchError(f"vreadbench: {complaint}\nvreadd's log ends:\n{self._daemon.log()}")
        return float(answer)

    def end(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self._process.stderr.close()


def _make_file_system(path, length):
    """Without work left for the kernel: its writing would be in the journal."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as image:
        image.truncate(length)
    command = ["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-m", "0"]
    command += ["-E", "lazy_itable_init=0,lazy_journal_init=0", path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"mke2fs: {done.stderr.strip()}")


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
