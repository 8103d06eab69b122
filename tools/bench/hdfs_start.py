# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the native suite: the first read of a client that has just started.

A new JVM makes a FileSystem and reads a small file from its first byte to its last, with and
without the plug-in, in turns.  The JVM itself measures the time (tools/bench/java/FirstRead.java).
HDFS and vreadd are warm.  The JVM runs as the command `hdfs` runs it, without a class data archive
of Hadoop's classes: an archive would have the stock client's classes and not the plug-in's.

    start.stock         milliseconds from before FileSystem.newInstance() to the last byte
    start.vread         the same through vRead
    start.more          how many more these are in each pair of runs; negative: fewer
    start.read.stock    of the same runs, from open() to the last byte
    start.read.vread
    start.read.more

A run fails if the plug-in has a thread before the file is opened, or if a byte of the plug-in's
run came by another way.
"""

import json

from tools.bench.hdfs import JAR, STOCK, bytes_served
from tools.bench.results import Limit, Row
from tools.bench.suite import BenchError
from tools.hdfs import hadoop_class_path, jvm
from tools.hdfs.plug_in import READER
from tools.vreadd import Vreadd

FILE = "/bench/start"
FILE_BYTES = 64 << 10
PAIRS = 3  # in a round, because times of starts vary much
MOST_MORE_MS = 5
# As bin/hadoop does.
OPTIONS = ["-Xmx512m", "-Djava.net.preferIPv4Stack=true", "-Dhadoop.root.logger=WARN,console"]
# A busy machine is slow, and everything must go by vRead.
VREAD = STOCK | READER | {"io.vread.timeout.ms": "60000"}


class Start:
    """bed: HdfsRows."""

    TITLE = "start"
    MOST_ROUNDS = 11
    TARGETS = (
        Limit("start.more", at_most=MOST_MORE_MS),
        Limit("start.read.more", at_most=MOST_MORE_MS),
    )

    def __init__(self, bed):
        self._bed = bed
        names = [f"{what}.{of}" for what in ("start", "start.read") for of in ("stock", "vread")]
        names += ["start.more", "start.read.more"]
        self.rows = {name: Row(name, "ms") for name in names}
        self._pairs = 0
        self._vreadd = Vreadd(bed.served("dn1"))

    def __enter__(self):
        self._bed.write("tcp", FILE, FILE_BYTES, "dn1")
        self._bed.cluster.sync()
        self._vreadd.__enter__()
        try:
            self._vread()
            self._stock()
        except BaseException:
            self._vreadd.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self._vreadd.__exit__(None, None, None)
        self._bed.forget(FILE)

    def round(self):
        for _ in range(PAIRS):
            self._pairs += 1
            if self._pairs % 2:
                stock, vread = self._stock(), self._vread()
            else:
                vread, stock = self._vread(), self._stock()
            for what, key in (("start", "ms"), ("start.read", "read_ms")):
                self.rows[f"{what}.stock"].add_figure(stock[key])
                self.rows[f"{what}.vread"].add_figure(vread[key])
                self.rows[f"{what}.more"].add_figure(vread[key] - stock[key])

    def conditions(self):
        return {
            "file_bytes": FILE_BYTES,
            "jvm": "new for each run; no class data archive but the JDK's own",
            "library": "from the jar, unless a folder of java.library.path has it",
        }

    def _stock(self):
        return self._first_read(STOCK)

    def _vread(self):
        before = bytes_served(self._vreadd)
        measured = self._first_read(VREAD | {"io.vread.endpoint": self._vreadd.endpoint})
        if bytes_served(self._vreadd) - before < FILE_BYTES:
            raise BenchError(f"start.vread: vreadd did not serve all {FILE_BYTES} bytes")
        return measured

    def _first_read(self, properties):
        cluster = self._bed.cluster
        class_path = [self._bed.client.classes, JAR, cluster.conf_dir]
        class_path += sorted(hadoop_class_path(cluster.version).glob("*.jar"))
        command = [jvm.program(), *OPTIONS, "-cp", ":".join(map(str, class_path)), "FirstRead"]
        command += [FILE, *(f"{key}={value}" for key, value in properties.items())]
        measured = json.loads(jvm.run(command, "the first read of a JVM"))
        if measured["bytes"] != FILE_BYTES:
            raise BenchError(f"start: {measured['bytes']} bytes were read of {FILE_BYTES}")
        if measured["threads"]:
            raise BenchError(f"start: threads before the first read: {measured['threads']}")
        return measured
