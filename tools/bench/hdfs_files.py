# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the native suite: many small files, each opened, read whole and closed.

Two warm client JVMs, a stock one and one with the plug-in, read the same files in turns.  There are
more files than the plug-in keeps open replicas, so each file costs vRead an OPEN in each round, and
costs both clients a question to the NameNode.

    small.files.stock    milliseconds of all files over TCP
    small.files.vread    the same through vRead

The stock client writes the files once, and the datanode's disk is synced before the rounds.  Both
clients must get the bytes that were written.  vreadd must have served every byte of the plug-in's
rounds.  Paths do not compete (io.vread.compete), so the rows do not depend on a decision.
"""

from tools.bench.hdfs import BUILDER, JAR, STOCK
from tools.bench.hdfs_client import HdfsClient
from tools.bench.results import Row, Target
from tools.bench.scaffold import Scaffold
from tools.bench.suite import BenchError
from tools.vreadd import Vreadd

FILES, FEW, FILE_BYTES = 600, 60, 4096
FULL_SIZE = 64 << 20  # of the suite's file: smaller runs, as a test makes, read fewer files
FOLDER = "/bench/files"
STOCK_ROW, VREAD_ROW = "small.files.stock", "small.files.vread"
WARM_UP_ROUNDS = 10
VREAD = STOCK | BUILDER


class SmallFiles(Scaffold):
    """bed: HdfsRows."""

    TITLE = "small.files"
    MOST_ROUNDS = 11
    TARGETS = (Target(VREAD_ROW, STOCK_ROW, at_most=1.0),)

    def __init__(self, bed):
        super().__init__()
        self._bed = bed
        self._files = FILES if bed.size >= FULL_SIZE else FEW
        self._bytes = self._files * FILE_BYTES
        self._rounds = 0
        self._sum = None
        self._clients = {}
        self.rows = {name: Row(name, "ms") for name in (STOCK_ROW, VREAD_ROW)}

    def _start(self):
        self._sum = self._write()
        self._stack.callback(self._bed.client.ask, "delete", "tcp", FOLDER)
        self._bed.cluster.sync()
        self._vreadd = self._stack.enter_context(Vreadd(self._bed.served("dn1")))
        endpoint = {"io.vread.endpoint": self._vreadd.endpoint}
        for name, properties in ((STOCK_ROW, STOCK), (VREAD_ROW, VREAD | endpoint)):
            client = HdfsClient(
                self._bed.cluster, class_path=[JAR], classes=self._bed.client.classes
            )
            self._clients[name] = self._stack.enter_context(client)
            client.mount(name, properties)
        for _ in range(WARM_UP_ROUNDS):
            self.round()
        for row in self.rows.values():
            row.clear()

    def round(self):
        self._rounds += 1
        names = [STOCK_ROW, VREAD_ROW]
        if self._rounds % 2:
            names.reverse()
        for name in names:
            served = self._served()
            self.rows[name].add_figure(1000 * self._read(name))
            served = self._served() - served
            if name == VREAD_ROW and served < self._bytes:
                raise BenchError(
                    f"{name}: vreadd served {served} bytes of {self._bytes}; "
                    f"the client's log ends:\n{self._clients[name].log()}"
                )

    def conditions(self):
        return {
            "files": self._files,
            "file_bytes": FILE_BYTES,
            "client": f"a warm JVM for each row; the first {WARM_UP_ROUNDS} rounds do not count",
            "read": "open(), read() until its end, close(), one file after the other",
        }

    def _write(self):
        """The sum of the files' bytes."""
        address = self._bed.cluster.datanode("dn1").address
        command = ("writefiles", "tcp", FOLDER, self._files, FILE_BYTES, address)
        return self._bed.client.ask(*command)["sum"]

    def _read(self, name):
        command = ("readfiles", name, FOLDER, self._files, FILE_BYTES)
        measured = self._clients[name].ask(*command)
        if (measured["bytes"], measured["sum"]) != (self._bytes, self._sum):
            raise BenchError(
                f"{name}: read {measured['bytes']} bytes with sum {measured['sum']}, "
                f"expected {self._bytes} with sum {self._sum}"
            )
        return measured["seconds"]

    def _served(self):
        return self._vreadd.status()["totals"]["bytes"]
