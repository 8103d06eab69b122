# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the image suite: how long it takes to open a block that was never opened before.

The disk is as large as a datanode's today (sparse, so that it fits here): one file system of a
tebibyte with thousands of blocks, mounted while blocks are opened.  This process owns the disk.

    open.ext4           the owner is not writing: blocks taken at random
    open.ext4.journal   every block was written, and made durable by fsync of both files and of
                        their folder, just before it is opened: its names and inodes are only in
                        the journal
    open.xfs            as open.ext4, on XFS

A row's value is the time of vread_open(), median of a round: client, ring and vreadd.  For each row
vreadd is started anew, and a few other blocks are opened first.
"""

import random
import statistics
import subprocess

from tools.bench.block_disk import FIRST_STAMP, POOL, BlockDisk
from tools.bench.results import Limit, Row
from tools.bench.suite import BenchError
from tools.vreadd import REPOSITORY, DataDirs, Vreadd

FIRST_ID = 1 << 30
BLOCK_BYTES = 4096
WARM_UP = 8  # blocks, before the ones that count
TARGETS = (Limit("open.ext4", at_most=300),)


ROWS = {"ext4": ("open.ext4", "open.ext4.journal"), "xfs": ("open.xfs",)}


class OpenRows:
    """A file system of `gib` with `blocks` blocks; `opens` of them are opened in a round."""

    def __init__(self, folder, kind, gib, blocks, opens):
        self.rows = {name: Row(name, "us") for name in ROWS[kind]}
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
        self._disk = BlockDisk(folder, kind, gib << 30)

    def __enter__(self):
        self._disk.__enter__()
        try:
            for block in self._fresh:
                self._write(block)
        except BaseException:
            self._disk.__exit__()
            raise
        self._chance.shuffle(self._fresh)
        return self

    def __exit__(self, *_):
        self._disk.__exit__()

    def round(self):
        self._disk.sync_all()
        idle, *journal = self.rows
        self._measure(idle, [self._take() for _ in range(self._opens)])
        for name in journal:
            self._measure(name, [self._new() for _ in range(self._opens)])

    def _measure(self, name, blocks):
        """blocks: functions that give a block's id just before it is opened."""
        with Vreadd({"dn1": DataDirs(self._disk.image, ["/data"])}) as daemon:
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
            self._disk.sync(block)
            return block

        return write

    def _write(self, block):
        self._disk.write(block, block.to_bytes(8, "big") * (BLOCK_BYTES // 8))


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
        """Opens the block; returns the microseconds."""
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
