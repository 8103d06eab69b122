# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the native suite: hedged reads while the disk under vRead hangs.

A file has replicas on both DataNodes, whose page caches are warm.  Hedged reads are on: a read that
has no answer after the hedge time is made at the other DataNode, too.  The client makes 100
positional reads of 4 KiB at random places, one after the other:

    hedged.p99.stock       the stock client: all DataNodes answer
    hedged.p99.vread       vRead's plug-in with its own timeouts: the image that vreadd reads with
                           O_DIRECT begins to hang after the first few reads
    hedged.p99.expected    the hedge time and hedged.p99.stock of the same round

The value is the 99th percentile of the round's reads in milliseconds: of 100, the slowest read.
"""

from tools.bench.direct import IMAGE_MODE, DirectVreadd
from tools.bench.hdfs import STOCK
from tools.bench.results import Row, Target
from tools.bench.slow_disk import SlowDisk
from tools.bench.suite import BenchError
from tools.hdfs.plug_in import READER
from tools.vreadd import DataDirs

FILE = "/bench/hedged"
BYTES, COUNT, WARM_UP_COUNT = 4096, 100, 10
HEDGE_MS = 100
HEDGED = STOCK | {
    "dfs.client.hedged.read.threadpool.size": "8",
    "dfs.client.hedged.read.threshold.millis": str(HEDGE_MS),
}
VREAD, STOCK_ROW, EXPECTED = "hedged.p99.vread", "hedged.p99.stock", "hedged.p99.expected"


class Hedged:
    """bed: HdfsRows."""

    TITLE = "hedged"
    MOST_ROUNDS = 5
    TARGETS = (Target(VREAD, EXPECTED, at_most=1.2),)

    def __init__(self, bed):
        self._bed = bed
        self._size = bed.size // 4
        self._folder = bed.temporary()
        self.rows = {name: Row(name, "ms") for name in (VREAD, STOCK_ROW, EXPECTED)}

    def __enter__(self):
        client = self._bed.client
        client.mount("two", STOCK | {"dfs.replication": "2"})
        client.mount(STOCK_ROW, HEDGED)
        self._bed.write("two", FILE, self._size, "dn1")
        client.ask("unmount", "two")
        for block in self._bed.cluster.blocks(FILE):
            if len(block.storage_ids) != 2:
                raise BenchError(f"{FILE}: {block.spec()} has no two replicas")
        self._bed.cluster.sync()
        self._p99(STOCK_ROW, COUNT)
        return self

    def __exit__(self, *_):
        self._bed.client.ask("unmount", STOCK_ROW)
        self._bed.forget(FILE)

    def round(self):
        stock = self._p99(STOCK_ROW, COUNT)
        self.rows[STOCK_ROW].add_figure(stock)
        self.rows[EXPECTED].add_figure(HEDGE_MS + stock)
        self.rows[VREAD].add_figure(self._with_a_hanging_disk())

    def conditions(self):
        return {
            "pread": f"{COUNT} of {BYTES} bytes at random multiples of 4096",
            "hedge_ms": HEDGE_MS,
            "replicas": "on both datanodes; vreadd has the image of one of them",
            "image": IMAGE_MODE,
            "disk": "hangs after a few reads; qemu-storage-daemon and FUSE",
        }

    def _with_a_hanging_disk(self):
        datanode = self._bed.cluster.datanode("dn1")
        with SlowDisk(datanode.disk.path, self._folder) as disk:
            served = {"dn1": DataDirs(disk.path, datanode.paths_on_disk)}
            with self._bed.vread(VREAD, HEDGED | READER, DirectVreadd(served)):
                self._p99(VREAD, WARM_UP_COUNT)
                disk.hang()
                try:
                    return self._p99(VREAD, COUNT)
                finally:
                    disk.answer()

    def _p99(self, mounted, count):
        measured = self._bed.client.ask("pread", mounted, FILE, BYTES, count, 1)
        return measured["p99_us"] / 1000
