# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the native suite: a working set that is read again and again, from an image that vreadd
reads with O_DIRECT, as it reads a block device.

Four client JVMs have files of their own, together twice the size of the suite's file.  All bytes
are in the DataNode's page cache.  vreadd must use its cache of verified bytes, of the default size,
or the disk.  Every round runs both rows, all clients at once:

    odirect.warm.tcp      by TCP, out of the DataNode's page cache
    odirect.warm.vread    by the same vreadd in all rounds

The first read by each way does not count.  CPU time is that of the clients, the datanode and
vreadd.  A client may use TCP where vRead is slower; the conditions say how much vreadd served.
"""

import time

from tools.bench.direct import IMAGE_MODE, DirectVreadd
from tools.bench.hdfs import BUILDER, JAR, REQUEST, STOCK, bytes_served
from tools.bench.hdfs_client import HdfsClient
from tools.bench.results import Row, Target
from tools.bench.scaffold import Scaffold
from tools.bench.suite import BenchError
from tools.vreadd import process_cpu_seconds

CLIENTS = 4
HEAP_MIB = 128
TCP, VREAD = "odirect.warm.tcp", "odirect.warm.vread"
MOUNTED = {TCP: "tcp", VREAD: "vread"}


class WarmODirect(Scaffold):
    """bed: HdfsRows."""

    TITLE = "odirect.warm"
    MOST_ROUNDS = 11
    TARGETS = (Target(VREAD, TCP, 1.0),)

    def __init__(self, bed):
        super().__init__()
        self._bed = bed
        self._each = 2 * bed.size // CLIENTS
        self._size = self._each * CLIENTS
        self._paths = [f"/bench/odirect/{number}" for number in range(CLIENTS)]
        self._vreadd = None
        self._clients = []
        self._served = 0
        self.rows = {name: Row(name) for name in MOUNTED}

    def __exit__(self, *_):
        super().__exit__()
        for path in self._paths:
            self._bed.forget(path)

    def round(self):
        for name in MOUNTED:
            size, seconds, cpu_seconds = self._read(name)
            self.rows[name].add(size, seconds, cpu_seconds)

    def conditions(self):
        rounds = len(self.rows[VREAD].values)
        return {
            "clients": f"{CLIENTS} JVMs at once, a file of {self._each} bytes each",
            "bytes": self._size,
            "image": IMAGE_MODE,
            "cache_of_verified_bytes": "of the default size",
            "page_cache": "warm in the datanode",
            "share_that_vreadd_served": round(self._served / self._size / rounds, 3),
        }

    def _start(self):
        for path in self._paths:
            self._bed.write("tcp", path, self._each, "dn1")
        self._bed.cluster.sync()
        served = self._bed.served("dn1")
        self._vreadd = self._stack.enter_context(DirectVreadd(served))
        vread = STOCK | BUILDER | {"io.vread.endpoint": self._vreadd.endpoint}
        for _ in self._paths:
            client = self._stack.enter_context(
                HdfsClient(
                    self._bed.cluster,
                    class_path=[JAR],
                    classes=self._bed.client.classes,
                    heap_mib=HEAP_MIB,
                )
            )
            client.mount("tcp", STOCK)
            client.mount("vread", vread)
            self._clients.append(client)
        for name in MOUNTED:
            self._read(name)
        self._served = 0

    def _read(self, name):
        """All clients read their files: bytes, seconds until the last one has, CPU seconds."""
        commands = [("seq", MOUNTED[name], path, REQUEST) for path in self._paths]
        served, cpu_seconds = bytes_served(self._vreadd), self._cpu_seconds()
        began = time.monotonic()
        for client, command in zip(self._clients, commands, strict=True):
            client.tell(*command)
        for client, command in zip(self._clients, commands, strict=True):
            measured = client.answer(*command)
            if measured["bytes"] != self._each:
                raise BenchError(f"{command}: {measured['bytes']} bytes, of {self._each}")
        seconds = time.monotonic() - began
        self._served += bytes_served(self._vreadd) - served
        return self._size, seconds, self._cpu_seconds() - cpu_seconds

    def _cpu_seconds(self):
        seconds = sum(client.cpu_seconds() for client in self._clients)
        seconds += process_cpu_seconds(self._bed.cluster.pids["dn1"])
        return seconds + self._vreadd.cpu_seconds()
