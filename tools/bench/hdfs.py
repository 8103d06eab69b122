# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the native suite: a stock HDFS client, with and without vRead.

A real NameNode and two DataNodes run, with each datanode's directory on a live ext4 image: dn1 is
stock, dn2 has vRead's publisher.  One warm client JVM has a FileSystem per configuration.  Every
round runs these rows, one right after the other and with warm page caches:

    hdfs.tcp.seq           read() of 1 MiB pieces of a file on dn1
    hdfs.shortcircuit.seq  the same by short-circuit reads, checksums on, libhadoop.so's CRCs
    vread.hdfs.seq         the same by vRead's plug-in, vreadd started anew: all is verified
    vread.hdfs.reread      the same again
    *.pread64k             positional reads of 64 KiB at random places: the median's microseconds
    *.pread4k*             small positional reads: tools/bench/hdfs_pread.py
    hdfs.write, vread.write    writing a file to dn1, and to dn2

CPU time is that of the client, the datanode and vreadd together.  Before the rounds all ways of
reading must give the same sum.  vreadd must have served every byte of vRead's reads.  vRead and TCP
hand data from CPU to CPU, short-circuit reads do not.  So on a machine whose CPUs share no cache
(see conditions.hdfs.cpu_to_cpu_round_trip_ns) vRead and TCP are slower than short-circuit reads.

Groups of further rows use the same cluster (GROUPS in native.py), each in a module of its own.  A
group is a context manager with a TITLE, TARGETS, MOST_ROUNDS, `rows`, round() and conditions().
"""

import time
from contextlib import contextmanager
from pathlib import Path

from tools.bench import hdfs_pread
from tools.bench.hdfs_client import HdfsClient
from tools.bench.hdfs_pread import SmallPreads
from tools.bench.results import Row, Target
from tools.bench.scaffold import Scaffold
from tools.bench.suite import BenchError
from tools.hdfs import HdfsCluster, HdfsError
from tools.hdfs.native_code import libhadoop_dir
from tools.hdfs.plug_in import READER
from tools.vreadd import REPOSITORY, Vreadd, process_cpu_seconds

JAR = REPOSITORY / "build" / "java" / "vread-hdfs.jar"
REQUEST = 1 << 20
PREAD_BYTES, PREAD_COUNT = 64 << 10, 2000
FILE, SMALL_FILE = "/bench/file", "/bench/small"
STOCK = {"dfs.client.read.shortcircuit": "false"}
SHORT_CIRCUIT = {"dfs.client.read.shortcircuit": "true"}
# A busy machine is slow, and everything must go by vRead.
BUILDER = READER | {"io.vread.timeout.ms": "60000", "io.vread.compete": "false"}
PUBLISHER = {"dfs.datanode.fsdataset.factory": "io.vread.datanode.VreadFsDatasetFactory"}
# The NameNode completes a file once the datanode has reported the last block.  A client that asks
# too early asks again after 400 ms, which is as long as half a write here.  Whether a client does
# is chance, so with 400 ms a few writes of either kind decide the ratio.
WRITER = {
    "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "10",
    "dfs.client.block.write.locateFollowingBlock.retries": "10",
}
WRITES = 3  # of each kind in a round, because writes vary most
WARM_UP_ROUNDS = 3
SETTLE_TIMEOUT = 60

NAMES = {
    "hdfs.tcp.seq": "MB/s",
    "hdfs.shortcircuit.seq": "MB/s",
    "vread.hdfs.seq": "MB/s",
    "vread.hdfs.reread": "MB/s",
    "hdfs.tcp.pread64k": "us",
    "hdfs.shortcircuit.pread64k": "us",
    "vread.hdfs.pread64k": "us",
    "hdfs.write": "MB/s",
    "vread.write": "MB/s",
}
TARGETS = (
    Target("vread.hdfs.seq", "hdfs.tcp.seq", 4.0),
    Target("vread.hdfs.seq", "hdfs.shortcircuit.seq", 1.0),
    Target("vread.hdfs.seq", "hdfs.tcp.seq", at_most=0.25, cpu=True),
    Target("vread.hdfs.pread64k", "hdfs.tcp.pread64k", at_most=0.2),
    Target("vread.hdfs.pread64k", "hdfs.shortcircuit.pread64k", at_most=0.4),
    Target("vread.write", "hdfs.write", 0.98),
    *hdfs_pread.TARGETS,
)
CONDITIONS = {
    "file_system": "ext4, mounted by the datanode while vreadd reads its image",
    "client": "one warm JVM; its first rounds do not count",
    "read": f"read(byte[]) of {REQUEST} bytes into a page-aligned part of an array",
    "pread": f"{PREAD_COUNT} of {PREAD_BYTES} bytes at random multiples of 4096; median",
    "pread4k": hdfs_pread.CONDITIONS,
    "write": WRITER,
    "cpu": "client, datanode and vreadd",
}


class HdfsRows(Scaffold):
    """Use as a context manager.  `cluster` and `client` are for the groups of further rows, too."""

    def __init__(self, mib, block_mib):
        super().__init__()
        self.size = mib << 20
        self.write_size = self.size // 2
        self._small = SmallPreads(self.measure, FILE)
        self.rows = {name: Row(name, unit) for name, unit in NAMES.items()} | self._small.rows
        self._block_mib = block_mib
        self.cluster = self.client = self._publish_vreadd = None
        self._pairs = 0

    # ---- setting up -------------------------------------------------------

    def _start(self):
        if not JAR.exists():
            raise BenchError(f"{JAR.relative_to(REPOSITORY)} is not built; run `make all`")
        directory = self.temporary()
        # Datanodes refuse a socket below a folder that anybody may write to, like /tmp.
        sockets = self.temporary(Path("/run"))
        self.cluster = HdfsCluster(
            directory,
            block_size=self._block_mib << 20,
            conf=SHORT_CIRCUIT | {"dfs.domain.socket.path": f"{sockets}/dn._PORT"},
            class_path=[JAR],
            datanodes=2,
            live=True,
            disk_mib=5 * (self.size >> 20) + 512,
            java_options=[f"-Djava.library.path={libhadoop_dir()}"],
        )
        self._stack.enter_context(self.cluster)
        self._start_publisher()
        self.client = self._stack.enter_context(
            HdfsClient(self.cluster, class_path=[JAR], library_path=libhadoop_dir())
        )
        self.client.mount("tcp", STOCK | WRITER)
        self.client.mount("shortcircuit", SHORT_CIRCUIT)
        self.write("tcp", FILE, self.size, "dn1")
        self.write("tcp", SMALL_FILE, 4096, "dn1")
        self.cluster.sync()

    def _start_publisher(self):
        """Starts a vreadd for dn2's image, which must exist, then dn2 anew with the publisher."""
        vreadd = Vreadd(self.served("dn2"), publish=["dn2"])
        self._publish_vreadd = self._stack.enter_context(vreadd)
        datanode = self.cluster.datanode("dn2")
        datanode.stop()
        datanode.conf = PUBLISHER | {"io.vread.endpoint": vreadd.endpoint}
        self.cluster.start_datanode("dn2")

    # ---- measuring --------------------------------------------------------

    def check_agreement(self):
        sums = {name: self.client.ask("sum", name, FILE)["sum"] for name in ("tcp", "shortcircuit")}
        with self.vread():
            sums["vread"] = self.client.ask("sum", "vread", FILE)["sum"]
        if len(set(sums.values())) != 1:
            raise BenchError(f"{FILE} has different sums: {sums}")

    def warm_up(self):
        for _ in range(WARM_UP_ROUNDS):
            self.round()
        for row in self.rows.values():
            row.clear()

    def round(self):
        self._sequential("hdfs.tcp.seq", "tcp")
        self._sequential("hdfs.shortcircuit.seq", "shortcircuit")
        with self.vread() as vreadd:
            self._sequential("vread.hdfs.seq", "vread", vreadd)
            self._sequential("vread.hdfs.reread", "vread", vreadd)
            self._positional("hdfs.tcp.pread64k", "tcp")
            self._positional("vread.hdfs.pread64k", "vread", vreadd)
            self._positional("hdfs.shortcircuit.pread64k", "shortcircuit")
            self._small.round(vreadd)
        for _ in range(WRITES):
            self._writes()

    def scaling(self):
        return self._small.scaling()

    @contextmanager
    def vread(self, name="vread", properties=STOCK | BUILDER, vreadd=None):
        """A vreadd that has verified nothing yet, and the client connected to it.

        name, properties: of the client's FileSystem.  vreadd: of dn1, not started; None: a plain
        one."""
        with vreadd or Vreadd(self.served("dn1")) as vreadd:
            self.client.mount(name, properties | {"io.vread.endpoint": vreadd.endpoint})
            try:
                self.client.ask("seq", name, SMALL_FILE, REQUEST)
                yield vreadd
            finally:
                self.client.ask("unmount", name)

    def _sequential(self, name, mounted, vreadd=None):
        measured = self.measure(("seq", mounted, FILE, REQUEST), vreadd, self.size)
        # Hadoop counts vRead's bytes as short-circuit bytes, too.
        short_circuit = 0 if mounted == "tcp" else self.size
        if measured["short_circuit_bytes"] != short_circuit:
            raise BenchError(f"{name}: {measured['short_circuit_bytes']} bytes by short circuit")
        self.rows[name].add(measured["bytes"], measured["seconds"], measured["cpu_seconds"])

    def _positional(self, name, mounted, vreadd=None):
        command = ("pread", mounted, FILE, PREAD_BYTES, PREAD_COUNT, 1)
        measured = self.measure(command, vreadd, PREAD_BYTES * PREAD_COUNT)
        self.rows[name].add_latency(measured["p50_us"], measured["bytes"], measured["cpu_seconds"])

    def measure(self, command, vreadd, size, datanode="dn1", must_serve=True):
        """Runs a command that moves `size` bytes.  If there is a vreadd, its CPU time counts, and
        all bytes must have come through it, but for `must_serve`."""
        served = bytes_served(vreadd)
        before = self._cpu_seconds(vreadd, datanode)
        measured = self.client.ask(*command)
        measured["cpu_seconds"] = self._cpu_seconds(vreadd, datanode) - before
        if measured["bytes"] != size:
            raise BenchError(f"{command}: {measured['bytes']} bytes, expected {size}")
        if vreadd and must_serve and bytes_served(vreadd) - served < size:
            raise BenchError(
                f"{command}: vreadd served {bytes_served(vreadd) - served} bytes of {size}; "
                f"the client's log ends:\n{self.client.log()}"
            )
        return measured

    def _cpu_seconds(self, vreadd, datanode):
        seconds = self.client.cpu_seconds()
        seconds += process_cpu_seconds(self.cluster.pids[datanode])
        return seconds + (vreadd.cpu_seconds() if vreadd else 0)

    def _writes(self):
        rows = [("hdfs.write", "dn1", None), ("vread.write", "dn2", self._publish_vreadd)]
        self._pairs += 1
        if self._pairs % 2:
            rows.reverse()  # whoever writes second may find the disk busy
        for name, datanode, vreadd in rows:
            path = f"/bench/{name}"
            before = self._cpu_seconds(vreadd, datanode)
            measured = self.write("tcp", path, self.write_size, datanode)
            cpu = self._cpu_seconds(vreadd, datanode) - before
            self.rows[name].add(measured["bytes"], measured["seconds"], cpu)
            self._check_place(path, datanode)
            self.forget(path)

    def write(self, mounted, path, size, datanode):
        address = self.cluster.datanode(datanode).address
        return self.client.ask("write", mounted, path, size, REQUEST, address)

    def _check_place(self, path, datanode):
        storages = set(self.cluster.datanode(datanode).storage_ids())
        for block in self.cluster.blocks(path):
            if not storages.issuperset(block.storage_ids):
                raise BenchError(f"{path}: {block.spec()} is not on {datanode}")

    def forget(self, path):
        """Deletes a file; returns when its blocks are gone and the disks are idle."""
        blocks = self.cluster.blocks(path)
        self.client.ask("delete", "tcp", path)
        deadline = time.monotonic() + SETTLE_TIMEOUT
        while any(self._has(block) for block in blocks):
            if time.monotonic() > deadline:
                raise BenchError(f"{path}: blocks are still there after {SETTLE_TIMEOUT} s")
            time.sleep(0.1)
        self.cluster.sync()

    def _has(self, block):
        try:
            return self.cluster.block_file(block)
        except HdfsError:
            return None

    def served(self, name):
        return self.cluster.served(name)


def bytes_served(vreadd):
    return vreadd.status()["totals"]["bytes"] if vreadd else 0
