# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the native suite: a slow disk below an image that vreadd reads with O_DIRECT, while the
DataNode has the blocks in its page cache.

    slowdisk.stock    a whole file by TCP, out of the DataNode's page cache
    slowdisk.first    the same file with vRead's plug-in and the plug-in's own settings; vreadd and
                      the plug-in's client are new in every round, so neither knows the disk, and
                      vreadd has the file neither cached nor verified
    slowdisk.vread    the same file again

The plug-in may leave blocks to the stock client: the conditions say how much vreadd served.
"""

from tools.bench.direct import IMAGE_MODE, DirectVreadd
from tools.bench.hdfs import REQUEST, STOCK, bytes_served
from tools.bench.results import Row, Target
from tools.bench.slow_disk import SlowDisk
from tools.hdfs.plug_in import READER
from tools.vreadd import DataDirs

FILE = "/bench/slow"
BYTES_PER_SECOND = 50_000_000
VREAD, FIRST, STOCK_ROW = "slowdisk.vread", "slowdisk.first", "slowdisk.stock"
MOUNTED = "slowdisk"


class Slow:
    """bed: HdfsRows."""

    TITLE = "slowdisk"
    MOST_ROUNDS = 11
    TARGETS = (Target(VREAD, STOCK_ROW, 0.95),)

    def __init__(self, bed):
        self._bed = bed
        self._size = bed.size // 2
        self._served = {FIRST: 0, VREAD: 0}
        self._folder = bed.temporary()
        self.rows = {name: Row(name) for name in (VREAD, FIRST, STOCK_ROW)}

    def __enter__(self):
        self._bed.write("tcp", FILE, self._size, "dn1")
        self._bed.cluster.sync()
        self._bed.client.ask("seq", "tcp", FILE, REQUEST)  # warms up
        return self

    def __exit__(self, *_):
        self._bed.forget(FILE)

    def round(self):
        self._read(STOCK_ROW, "tcp", None)
        datanode = self._bed.cluster.datanode("dn1")
        with SlowDisk(datanode.disk.path, self._folder, BYTES_PER_SECOND) as disk:
            served = {"dn1": DataDirs(disk.path, datanode.paths_on_disk)}
            vreadd = DirectVreadd(served)
            with self._bed.vread(MOUNTED, STOCK | READER, vreadd):
                for name in (FIRST, VREAD):
                    before = bytes_served(vreadd)
                    self._read(name, MOUNTED, vreadd)
                    self._served[name] += bytes_served(vreadd) - before

    def conditions(self):
        return {
            "file_bytes": self._size,
            "disk": f"{BYTES_PER_SECOND / 1e6:g} MB/s, by qemu-storage-daemon and FUSE",
            "image": IMAGE_MODE,
            "page_cache": "warm in the datanode",
            "share_that_vreadd_served": self._share(VREAD),
            "share_that_vreadd_served_first": self._share(FIRST),
        }

    def _share(self, name):
        return round(self._served[name] / self._size / len(self.rows[name].values), 3)

    def _read(self, name, mounted, vreadd):
        command = ("seq", mounted, FILE, REQUEST)
        measured = self._bed.measure(command, vreadd, self._size, must_serve=False)
        self.rows[name].add(measured["bytes"], measured["seconds"], measured["cpu_seconds"])
