# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the image suite: how long it takes to open a block that was never opened before.

The disk is as large as a datanode's today (sparse, so that it fits here): one file system of a
tebibyte with thousands of blocks, mounted while blocks are opened.  This process owns the disk.

    open.ext4           the owner is not writing: blocks taken at random
    open.ext4.journal   every block was written, and made durable by fsync of both files and of
                        their folder, just before it is opened: its names and inodes are only in
                        the journal
    open.xfs            as open.ext4, on XFS
    open.million        as open.ext4, among a million blocks, most of them without bytes

A row's value is the time of vread_open(), median of a round: client, ring and vreadd.  For each row
vreadd is started anew, and a few other blocks are opened first.  The conditions say how much memory
vreadd and its parsers took at most.
"""

import random
import re
import statistics
import subprocess
from pathlib import Path

from tools.bench.block_disk import FIRST_STAMP, POOL, STORAGE, BlockDisk
from tools.bench.results import Limit, Row
from tools.bench.suite import BenchError
from tools.vreadd import REPOSITORY, DataDirs, Vreadd

FIRST_ID = 1 << 30
BLOCK_BYTES = 4096
WARM_UP = 8  # blocks, before the ones that count
TARGETS = (Limit("open.ext4", at_most=300), Limit("open.million", at_most=150))


KINDS = {"ext4": "ext4", "xfs": "xfs", "million": "ext4"}
ROWS = {
    "ext4": ("open.ext4", "open.ext4.journal"),
    "xfs": ("open.xfs",),
    "million": ("open.million",),
}


class OpenRows:
    """A file system of `gib` with `blocks` blocks; `opens` of them are opened in a round.  which: a
    key of ROWS.  names: blocks in all, most without bytes, if these are more than `blocks`."""

    def __init__(self, folder, which, gib, blocks, opens, names=0):
        self.rows = {name: Row(name, "us") for name in ROWS[which]}
        ids = range(FIRST_ID, FIRST_ID + max(names, blocks))
        self._conditions = {
            "file_system_bytes": gib << 30,
            "blocks": len(ids),
            "blocks_with_bytes": blocks,
            "opens_a_round": opens,
            "time": "of vread_open(), median of a round",
            "page_cache": "warm",
        }
        self._opens = opens
        self._chance = random.Random(blocks)
        self._next = ids.stop
        self._fresh = sorted(self._chance.sample(ids, blocks))
        self._names = set(ids).difference(self._fresh)
        self._peak = {}
        folder = folder / which
        folder.mkdir()
        self._disk = BlockDisk(folder, KINDS[which], gib << 30)

    def __enter__(self):
        self._disk.__enter__()
        try:
            self._disk.write_names(sorted(self._names))
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

    def conditions(self):
        return self._conditions | {"peak_memory_mib": self._peak}

    def _measure(self, name, blocks):
        """blocks: functions that give a block's id just before it is opened."""
        with Vreadd({"dn1": DataDirs(self._disk.image, ["/data"])}) as daemon:
            client = _Client(daemon)
            try:
                for _ in range(WARM_UP):
                    client.open(self._take()())
                self.rows[name].add_time(statistics.median(client.open(b()) for b in blocks))
                self._keep_peak(daemon)
            finally:
                client.end()

    def _keep_peak(self, daemon):
        for name, pids in (("vreadd", [daemon.pid]), ("parsers", _children(daemon.pid))):
            peak = sum(_peak_mib(pid) for pid in pids)
            self._peak[name] = max(self._peak.get(name, 0), round(peak, 1))

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


def _children(pid):
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for children in lists for child in children.read_text().split()]


def _peak_mib(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024


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
        spec = f"{POOL}/blk_{block}_{FIRST_STAMP}@{STORAGE}"
        self._process.stdin.write(f"{spec}:{BLOCK_BYTES}\n")
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
