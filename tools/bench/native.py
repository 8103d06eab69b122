# SPDX-License-Identifier: GPL-2.0-or-later
"""The native suite: vRead over the local port beside plain reads of the same bytes.

A file of real HDFS blocks lies in a datanode image (made once and kept).  Every round runs, one
right after the other and warm:

    memcpy.seq           memory to a 1 MiB buffer
    image.pread.seq      pread at the blocks' extents in the image into a 1 MiB buffer
    image.handed.seq     the same, a CRC32C, a copy to shared memory and a copy to the buffer, in
                         one thread: no reader of another process's verified bytes can do less
    image.handed.all     as many of these at once as there are processors: what vread_read would
                         reach if nobody ever waited and nothing else cost time
    vread.block.seq      vread_read into a 1 MiB buffer, vreadd started anew: all is verified
    vread.block.reread   the same blocks opened and read again
    *.async              the same two with vread_submit/vread_reap: no copy, bytes are looked at

vread_read is what a sequential reader uses, and has pread's contract: the bytes are in the
caller's buffer.  Opening and closing every block is part of the time, connecting is not.  CPU time
is the client's and vreadd's together.  Before the rounds a summed pass of both ways of reading
must agree, or nothing is measured.

Then come as many rounds of a stock HDFS client with and without vRead: tools/bench/hdfs.py.  GROUPS
of rows follow, each described in its module.
"""

import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.bench import (
    hdfs,
    hdfs_colocated,
    hdfs_files,
    hdfs_hedged,
    hdfs_jvms,
    hdfs_odirect,
    hdfs_slow,
    hdfs_start,
    results,
)
from tools.bench.load import Load
from tools.bench.results import Row, Target
from tools.bench.suite import BenchError, Suite
from tools.hdfs.demo_data import demo_image
from tools.images import file_extents, write_layout
from tools.vreadd import REPOSITORY, Vreadd, VreaddError

BINARIES = REPOSITORY / "build" / "release"
REQUEST = 1 << 20
STEP_TIMEOUT = 300
TARGETS = (
    Target("vread.block.seq", "image.pread.seq", 0.35),
    Target("vread.block.reread", "image.pread.seq", 0.6),
    Target("vread.block.reread", "memcpy.seq", 0.6),
)
GROUPS = (
    hdfs_jvms.Jvms,
    hdfs_odirect.WarmODirect,
    hdfs_colocated.Colocated,
    hdfs_slow.Slow,
    hdfs_hedged.Hedged,
    hdfs_start.Start,
    hdfs_files.SmallFiles,
)


def run(mib, block_mib, rounds, only=None):
    """Measures; the document that results.write() takes.  only: the title of a group, whose rows
    alone are measured."""
    load = Load()
    groups = [group for group in GROUPS if only in (None, group.TITLE)]
    seen = {"cpu_to_cpu_round_trip_ns": []}
    targets = [] if only else [*TARGETS, *hdfs.TARGETS]
    for group in groups:
        targets += group.TARGETS
    if only:
        rows = _rows_of_groups(groups, mib, block_mib, rounds, seen)
    else:
        rows = [*_block_rows(mib, block_mib, rounds)]
        rows += _hdfs_rows(mib, block_mib, rounds, seen)
    others = load.told_by(SUITE)
    conditions = {
        "cpus": os.cpu_count(),
        "cpus_used_by_others": others,
        "bytes": mib << 20,
        "block_bytes": block_mib << 20,
        "request_bytes": REQUEST,
        "buffer": "page aligned",
        "page_cache": "warm",
        "api": {"vread.block.seq, .reread": "vread_read", "*.async": "vread_submit, vread_reap"},
        "cpu": "client and vreadd",
        "ratio": "median of the rounds' ratios",
        "hdfs": hdfs.CONDITIONS | seen,
    }
    return results.document("native", rows, targets, conditions)


def _block_rows(mib, block_mib, rounds):
    data = demo_image(mib=mib, block_mib=block_mib, layout=False)
    with tempfile.TemporaryDirectory(prefix="vread-bench-") as directory:
        bench = _Bench(data, Path(directory) / "layout.json")
        bench.check_agreement()
        for number in range(1, rounds + 1):
            SUITE.say(f"blocks, round {number} of {rounds}")
            bench.round()
    return bench.rows.values()


def _hdfs_rows(mib, block_mib, rounds, seen):
    """Also measures, before each round, how long a cache line takes from CPU to CPU and back.
    Conditions that were measured are added to `seen`."""
    SUITE.say("hdfs: starting a NameNode, two DataNodes and a client")
    with hdfs.HdfsRows(mib, block_mib) as bench:
        bench.check_agreement()
        SUITE.say("hdfs: warming up")
        bench.warm_up()
        for number in range(1, rounds + 1):
            SUITE.say(f"hdfs, round {number} of {rounds}")
            if os.cpu_count() > 1:
                trip = step([BINARIES / "imagebench", "roundtrip"], "")["round_trip_ns"]
                seen["cpu_to_cpu_round_trip_ns"].append(trip)
            bench.round()
        seen["pread4k_rate_of_16_threads_by_1"] = bench.scaling()
        rows = list(bench.rows.values())
        for group in GROUPS:
            rows += _group_rows(group(bench), rounds, seen)
    return rows


def _rows_of_groups(groups, mib, block_mib, rounds, seen):
    SUITE.say("hdfs: starting a NameNode, two DataNodes and a client")
    rows = []
    with hdfs.HdfsRows(mib, block_mib) as bench:
        for group in groups:
            rows += _group_rows(group(bench), rounds, seen)
    return rows


def _group_rows(group, rounds, seen):
    rounds = min(rounds, group.MOST_ROUNDS)
    with group:
        for number in range(1, rounds + 1):
            SUITE.say(f"{group.TITLE}, round {number} of {rounds}")
            group.round()
    seen[group.TITLE] = group.conditions()
    return group.rows.values()


class _Bench:
    NAMES = (
        "memcpy.seq",
        "image.pread.seq",
        "image.handed.seq",
        "image.handed.all",
        "vread.block.seq",
        "vread.block.reread",
        "vread.block.seq.async",
        "vread.block.reread.async",
    )

    def __init__(self, data, layout):
        write_layout(data.image_facts, layout)
        self.data = data
        self.layout = layout
        self.blocks = data.blocks_file.read_text()
        self.extents = extent_list(data, data.blocks)
        self.rows = {name: Row(name) for name in self.NAMES}

    def check_agreement(self):
        """Warms the page cache, and fails unless all ways read the same bytes."""
        plain = self._imagebench("sum", self.data.image, stdin=self.extents)["sum"]
        with self._vreadd() as daemon:
            read = self._vreadbench(daemon, "read", "-s")["sum"]
        if plain != read:
            raise BenchError(f"image.pread sums up to {plain}, vread.block to {read}")

    def round(self):
        self._add("memcpy.seq", self._imagebench("memcpy", self.data.size))
        for mode, name in (("pread", "image.pread.seq"), ("hand", "image.handed.seq")):
            self._add(name, self._imagebench(mode, self.data.image, stdin=self.extents))
        self._handed_all()
        for api, suffix in (("read", ""), ("async", ".async")):
            with self._vreadd() as daemon:
                self._add(f"vread.block.seq{suffix}", self._vreadbench(daemon, api))
                self._add(f"vread.block.reread{suffix}", self._vreadbench(daemon, api))

    def _handed_all(self):
        processes = os.cpu_count()
        with ThreadPoolExecutor(processes) as pool:
            begun = [
                pool.submit(self._imagebench, "hand", self.data.image, stdin=self.extents)
                for _ in range(processes)
            ]
            measured = [one.result() for one in begun]
        self.rows["image.handed.all"].add(
            sum(one["bytes"] for one in measured),
            max(one["seconds"] for one in measured),
            sum(one["cpu_seconds"] for one in measured),
        )

    def _vreadd(self):
        return Vreadd({"dn1": (self.data.image, self.layout)})

    def _add(self, name, measured):
        if measured["bytes"] != self.data.size:
            raise BenchError(f"{name}: {measured['bytes']} bytes were read of {self.data.size}")
        self.rows[name].add(measured["bytes"], measured["seconds"], measured["cpu_seconds"])

    def _imagebench(self, mode, what, stdin=""):
        return step([BINARIES / "imagebench", mode, str(what), str(REQUEST)], stdin)

    def _vreadbench(self, daemon, api, *flags):
        command = [BINARIES / "vreadbench", "-e", daemon.endpoint, "-a", api, "-r", str(REQUEST)]
        before = daemon.cpu_seconds()
        measured = step([*command, *flags], self.blocks, daemon)
        measured["cpu_seconds"] += daemon.cpu_seconds() - before
        return measured


def extent_list(data, blocks):
    """The blocks' extents in file order, a line each."""
    facts = data.image_facts
    lines = []
    for block in blocks:
        path = f"{facts.data_dirs[0].path}/{block.relative_path()}"
        for extent in file_extents(facts, path, block.length):
            lines.append(f"{extent.physical} {extent.length}\n")
    return "".join(lines)


def step(command, stdin, daemon=None):
    """Runs a bench program; returns what it measured.  An error has the end of daemon's log."""
    try:
        return _run(command, stdin)
    except BenchError as error:
        if not daemon:
            raise
        raise BenchError(f"{error}\nvreadd's log ends:\n{daemon.log()}") from error


def _run(command, stdin):
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=STEP_TIMEOUT
        )
    except FileNotFoundError as error:
        raise BenchError(f"{command[0]} is not built; run `make all`") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{name}: no end after {STEP_TIMEOUT} s") from error
    if done.returncode != 0:
        raise BenchError(f"{name} failed (exit {done.returncode}): {done.stderr.strip()}")
    return json.loads(done.stdout)


SUITE = Suite(
    "native",
    __doc__,
    mib=1024,
    block_mib=128,
    rounds=11,
    least_rounds=1,
    measure=run,
    groups=tuple(group.TITLE for group in GROUPS),
    failures=(VreaddError,),
)
