# SPDX-License-Identifier: GPL-2.0-or-later
"""The freshness suite: how long after PUBLISH a block can be read.

A datanode's disk is mounted while its blocks are read out of the image.  Its owner, this process,
writes a block, makes it durable as the publisher does (both files and their folder), says PUBLISH,
and reads the block through vRead to its end, again and again until that succeeds.  A value is the
time from before PUBLISH is sent until all bytes are there and compared.  Meanwhile another process
writes and deletes other files there, so that the journal has work.

    publish.ext4, publish.xfs      as said
    fsynced.ext4, fsynced.xfs      the same without PUBLISH: from the end of the last fsync on

--mib and --block-mib tell how many blocks a round has, and how large they are.  Needs root.
"""

import ctypes
import os
import random
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tools.bench import results
from tools.bench.block_disk import FIRST_STAMP, POOL, STORAGE, BlockDisk
from tools.bench.load import Load
from tools.bench.results import Limit, Row
from tools.bench.suite import BenchError, Suite
from tools.vreadd import REPOSITORY, DataDirs, Vreadd, VreaddError

MIB = 1 << 20
FIRST_ID = 1 << 30
KINDS = {"ext4": 100_000, "xfs": 3_000_000}  # us: the promised limit for a PUBLISHed block
DISK_BLOCKS = 4  # disk size in multiples of --mib: space is used again
OTHERS = "while :; do head -c 3000000 /dev/zero >other; mv other older; done"
PATIENCE = 60.0
FINALIZED = 1
TARGETS = tuple(Limit(f"publish.{kind}", at_most=most) for kind, most in KINDS.items())
AGAIN = (2, 11, 17, 61)  # ENOENT, EAGAIN, EEXIST, ENODATA: not there yet


def run(mib, block_mib, rounds):
    """Measures; the document that results.write() takes."""
    load = Load()
    count = mib // block_mib
    if count < 1:
        raise BenchError(f"--mib {mib}: expected at least one block of {block_mib} MiB")
    rows, again = [], {}
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="bench-freshness-", dir=REPOSITORY / "build"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for kind in KINDS:
            SUITE.say(f"{kind}: {rounds} rounds of 2 x {count} blocks")
            published, fsynced = Row(f"publish.{kind}", "us"), Row(f"fsynced.{kind}", "us")
            size = max(512 * MIB, DISK_BLOCKS * count * block_mib * MIB)
            with BlockDisk(folder, kind, size) as disk, _reading(disk) as reader:
                for _ in range(rounds * count):
                    for row in (published, fsynced):
                        reader.block(row, block_mib * MIB)
            rows += [published, fsynced]
            again[kind] = reader.again
    others = load.told_by(SUITE)
    conditions = {
        "cpus": os.cpu_count(),
        "cpus_used_by_others": others,
        "block_bytes": block_mib * MIB,
        "n": "blocks",
        "not_there_at_first": again,
        "promised_us": KINDS,
    }
    return results.document("freshness", rows, TARGETS, conditions)


@contextmanager
def _reading(disk):
    """Runs vreadd, a client of it, and a process that writes to the same file system."""
    disk.sync_all()  # a datanode that publishes has made its VERSION files durable, too
    with Vreadd({"dn1": DataDirs(disk.image, ["/data"])}, publish=["dn1"]) as daemon:
        others = subprocess.Popen(["sh", "-c", OTHERS], cwd=disk.root)
        try:
            with _Client(daemon.endpoint) as client:
                yield _Reader(disk, client)
        finally:
            others.kill()
            others.wait()


class _Reader:
    def __init__(self, disk, client):
        self._disk, self._client = disk, client
        self._chance = random.Random(1)
        self._next, self._last = FIRST_ID, None
        self.again = 0  # blocks that were not there at first

    def block(self, row, length):
        """Writes and syncs a block, times PUBLISH (if any) and reading, deletes the last block."""
        content = self._chance.randbytes(length)
        block = self._next
        self._next += 1
        self._disk.write(block, content)
        self._disk.sync(block)
        begin = time.perf_counter()
        if row.name.startswith("publish."):
            self._client.publish(block, length)
        self._read(block, content)
        row.add_time((time.perf_counter() - begin) * 1e6)
        if self._last:
            self._disk.delete(self._last)
        self._last = block

    def _read(self, block, content):
        deadline = time.monotonic() + PATIENCE
        first = True
        while (found := self._client.read(block, len(content))) is None:
            self.again += first
            first = False
            if time.monotonic() > deadline:
                raise BenchError(f"block {block} cannot be read {PATIENCE:.0f} s after its sync")
        if found != content:
            raise BenchError(f"block {block}: other bytes than were written")


# ---- libvread --------------------------------------------------------------------------


class _Options(ctypes.Structure):
    _fields_ = [
        ("endpoint", ctypes.c_char_p),
        ("pool_bytes", ctypes.c_size_t),
        ("timeout_ms", ctypes.c_uint),
        ("readahead_bytes", ctypes.c_uint),
        ("queues", ctypes.c_uint),
        ("publisher", ctypes.c_uint),
        ("interrupted", ctypes.c_void_p),
        ("interrupted_opaque", ctypes.c_void_p),
    ]


class _Block(ctypes.Structure):
    _fields_ = [
        ("pool_id", ctypes.c_char_p),
        ("block_id", ctypes.c_int64),
        ("generation_stamp", ctypes.c_uint64),
        ("visible_length", ctypes.c_uint64),
        ("storage_ids", ctypes.POINTER(ctypes.c_char_p)),
        ("num_storage_ids", ctypes.c_size_t),
        ("token", ctypes.c_void_p),
        ("token_length", ctypes.c_size_t),
        ("protect", ctypes.c_uint),
        ("reserved", ctypes.c_uint),
    ]


def _size(structure):
    return ctypes.c_size_t(ctypes.sizeof(structure))


class _Client:
    """libvread in this process: running a program would take most of the measured time."""

    TIMEOUT_MS = 30000

    def __init__(self, endpoint):
        self._library = ctypes.CDLL(str(REPOSITORY / "build/release/libvread.so.1"))
        self._library.vread_pread.restype = ctypes.c_ssize_t
        self._storages = (ctypes.c_char_p * 1)(STORAGE.encode())
        self._options = _Options(endpoint=endpoint.encode(), timeout_ms=self.TIMEOUT_MS)
        self._connection = ctypes.c_void_p()

    def __enter__(self):
        error = self._library.vread_connect_sized(
            ctypes.byref(self._connection), ctypes.byref(self._options), _size(self._options)
        )
        self._check(error, "connect")
        return self

    def __exit__(self, *_):
        self._library.vread_disconnect(self._connection)

    def publish(self, block, length):
        named = self._named(block)
        error = self._library.vread_publish_sized(
            self._connection, ctypes.byref(named), _size(named), FINALIZED, ctypes.c_uint64(length)
        )
        self._check(error, f"PUBLISH of block {block}")

    def read(self, block, length):
        """The block's bytes, or None if the block is not there yet."""
        named, file = self._named(block), ctypes.c_void_p()
        buffer = ctypes.create_string_buffer(length)
        error = self._library.vread_open_sized(
            self._connection, ctypes.byref(named), _size(named), ctypes.byref(file)
        )
        if error:
            return self._not_yet(error, f"OPEN of block {block}")
        got = self._library.vread_pread(file, buffer, ctypes.c_size_t(length), ctypes.c_uint64(0))
        self._library.vread_close(file)
        if got < 0:
            return self._not_yet(got, f"READ of block {block}")
        return buffer.raw if got == length else None

    def _named(self, block):
        return _Block(
            pool_id=POOL.encode(), block_id=block, generation_stamp=FIRST_STAMP,
            storage_ids=self._storages, num_storage_ids=1,
        )  # fmt: skip

    def _not_yet(self, error, what):
        if -error not in AGAIN:
            self._check(error, what)

    def _check(self, error, what):
        if error:
            raise BenchError(f"{what}: {os.strerror(-error)}")


SUITE = Suite(
    "freshness",
    __doc__,
    mib=32,
    block_mib=1,
    rounds=5,
    least_rounds=1,
    measure=run,
    failures=(VreaddError,),
)
