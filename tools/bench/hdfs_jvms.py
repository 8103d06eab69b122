# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the native suite: many short-lived client processes at one endpoint.

48 client JVMs with the plug-in start, a few at a time.  When all are up, each is told to read a
block of its own.  So all connect at the same time, as tasks of a job do, and keep their part of the
pool until all have read.  The endpoint's pool is as large as that of a vread device by default.

    jvms48.readers            processes that got their whole block through vRead
    jvms48.fallbacks          blocks that were refused to the stock client, of all processes
    jvms48.fallbacks.ENOSPC   those for which no part of the pool was free

The conditions have the fallbacks of all rounds by reason.
"""

from collections import Counter
from contextlib import ExitStack

from tools.bench.hdfs import BUILDER, JAR, REQUEST, STOCK
from tools.bench.hdfs_client import HdfsClient
from tools.bench.results import Limit, Row
from tools.bench.suite import BenchError
from tools.hdfs.jvm import SHORT_LIVED
from tools.vreadd import Vreadd

PROCESSES, FEW = 48, 6
FULL_SIZE = 1 << 30  # of the suite's file: smaller runs start fewer processes
AT_ONCE = 4  # JVMs that start beside each other
HEAP_MIB = 48
BLOCK_BYTES = 4 << 20
DEVICE_POOL_PAGES = 4096  # pool_mib of the module: 16
READERS, FALLBACKS, NO_ROOM = "jvms48.readers", "jvms48.fallbacks", "jvms48.fallbacks.ENOSPC"


class Jvms:
    """bed: HdfsRows."""

    TITLE = "jvms48"
    MOST_ROUNDS = 3
    TARGETS = (Limit(NO_ROOM, at_most=0),)

    def __init__(self, bed):
        self._bed = bed
        self._processes = PROCESSES if bed.size >= FULL_SIZE else FEW
        self._paths = [f"/bench/jvms/{number}" for number in range(self._processes)]
        self._reasons = Counter()
        self.rows = {name: Row(name, "") for name in (READERS, FALLBACKS, NO_ROOM)}

    def __enter__(self):
        for path in self._paths:
            self._bed.write("tcp", path, BLOCK_BYTES, "dn1")
        self._bed.cluster.sync()
        return self

    def __exit__(self, *_):
        pass

    def round(self):
        limit = f"[local]\nmax-total-pool-pages = {DEVICE_POOL_PAGES}\n"
        with Vreadd(self._bed.served("dn1"), sections=limit) as vreadd, ExitStack() as stack:
            clients = self._start(stack, vreadd)
            commands = [("seq", "vread", path, REQUEST) for path in self._paths]
            for client, command in zip(clients, commands, strict=True):
                client.tell(*command)
            for client, command in zip(clients, commands, strict=True):
                measured = client.answer(*command)
                if measured["bytes"] != BLOCK_BYTES:
                    raise BenchError(f"{command}: {measured['bytes']} bytes, of {BLOCK_BYTES}")
            self._count([client.ask("statistics") for client in clients])

    def conditions(self):
        return {
            "processes": f"{self._processes} JVMs, -Xmx{HEAP_MIB}m, all connected at once",
            "block_bytes": BLOCK_BYTES,
            "pool_pages_of_endpoint": DEVICE_POOL_PAGES,
            "fallbacks_of_all_rounds": dict(self._reasons),
        }

    def _start(self, stack, vreadd):
        """Clients that are up, and not yet connected to vreadd."""
        properties = STOCK | BUILDER | {"io.vread.endpoint": vreadd.endpoint}
        mount = ["mount", "vread", *(f"{key}={value}" for key, value in properties.items())]
        clients = []
        for first in range(0, self._processes, AT_ONCE):
            few = [
                stack.enter_context(self._client())
                for _ in range(first, min(first + AT_ONCE, self._processes))
            ]
            for client in few:
                client.tell(*mount)
            for client in few:
                client.answer(*mount)
            clients += few
        return clients

    def _client(self):
        return HdfsClient(
            self._bed.cluster,
            class_path=[JAR],
            classes=self._bed.client.classes,
            heap_mib=HEAP_MIB,
            options=SHORT_LIVED,
        )

    def _count(self, statistics):
        reasons = Counter()
        for process in statistics:
            reasons.update(process["fallback"]["reasons"])
        self._reasons += reasons
        whole = [process for process in statistics if process["vread"]["bytes"] >= BLOCK_BYTES]
        self.rows[READERS].add_figure(len(whole))
        self.rows[FALLBACKS].add_figure(reasons.total())
        self.rows[NO_ROOM].add_figure(reasons["ENOSPC"])
