# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of hdfs.py: small positional reads at random places, as HBase makes them.

    hdfs.tcp.pread4k, hdfs.shortcircuit.pread4k, vread.hdfs.pread4k    one thread
    *.pread4k.16                                                       16 threads at once
    *.rate                                                             reads per second

All threads of a row use one FileSystem and one stream.  The rows without ".rate" are the
microseconds of the median read.  The rates count from the first read's begin to the last one's end.
"""

from tools.bench.results import Row, Target

BYTES, COUNT = 4096, 4000
THREADS = {"": 1, ".16": 16}
MOUNTED = {
    "hdfs.tcp": "tcp",
    "vread.hdfs": "vread",
    "hdfs.shortcircuit": "shortcircuit",
}
TARGETS = tuple(
    Target(f"vread.hdfs.pread4k{suffix}.rate", f"hdfs.tcp.pread4k{suffix}.rate", 3.0)
    for suffix in THREADS
)
CONDITIONS = f"{COUNT} of {BYTES} bytes at random multiples of 4096, in all; one stream; median"


class SmallPreads:
    """measure: HdfsRows.measure.  path: the file that is read."""

    def __init__(self, measure, path):
        self._measure = measure
        self._path = path
        self.rows = {}
        for way in MOUNTED:
            for suffix in THREADS:
                name = f"{way}.pread4k{suffix}"
                self.rows[name] = Row(name, "us")
                self.rows[f"{name}.rate"] = Row(f"{name}.rate", "/s")

    def round(self, vreadd):
        for suffix, threads in THREADS.items():
            for way, mounted in MOUNTED.items():
                command = ("pread", mounted, self._path, BYTES, COUNT, threads)
                served = vreadd if mounted == "vread" else None
                measured = self._measure(command, served, BYTES * COUNT)
                name = f"{way}.pread4k{suffix}"
                size, cpu_seconds = measured["bytes"], measured["cpu_seconds"]
                self.rows[name].add_latency(measured["p50_us"], size, cpu_seconds)
                self.rows[f"{name}.rate"].add_figure(COUNT / measured["seconds"])

    def scaling(self):
        """{way: the rate of 16 threads by that of one, the median of the rounds}"""
        return {
            way: Target(f"{way}.pread4k.16.rate", f"{way}.pread4k.rate").ratio(self.rows)
            for way in MOUNTED
        }
