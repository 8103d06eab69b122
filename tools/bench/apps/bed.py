# SPDX-License-Identifier: GPL-2.0-or-later
"""The HDFS that an application of this bench reads: a NameNode, and a DataNode whose disk is a live
image that vreadd serves.  The DataNode has vRead's publisher, and serves both ways.

with Bed(mib=64, block_mib=8) as bed:
    bed.class_path("vread"), bed.conf("vread")   # of a client that reads by this way
    before = bed.counts()
"""

import time
from dataclasses import dataclass

from tools.bench.scaffold import Scaffold
from tools.bench.suite import BenchError
from tools.hdfs import HdfsCluster, config
from tools.hdfs.plug_in import READER
from tools.vreadd import REPOSITORY, Vreadd, process_cpu_seconds

JAR = REPOSITORY / "build" / "java" / "vread-hdfs.jar"
PUBLISHER = "io.vread.datanode.VreadFsDatasetFactory"
ACTIVITY = "Hadoop:service=DataNode,name=DataNodeActivity*"
METRICS_PERIOD = 1  # s between the values of the DataNode's counters
DATANODE_HEAP_MIB = 512


@dataclass(frozen=True)
class Counts:
    vread_bytes: int  # that vreadd gave to clients
    stock_bytes: int  # that the DataNode sent
    cpu_seconds: float  # of the DataNode and vreadd

    def __sub__(self, other):
        return Counts(
            self.vread_bytes - other.vread_bytes,
            self.stock_bytes - other.stock_bytes,
            self.cpu_seconds - other.cpu_seconds,
        )


class Bed(Scaffold):
    """properties: of clients that read through vRead, beside the two that they need."""

    def __init__(self, mib, block_mib, properties=None):
        super().__init__()
        self._disk_mib = 16 * mib + 2048
        self._block_size = block_mib << 20
        self._properties = dict(properties or {})
        self.folder = self.cluster = self.vreadd = None

    def _start(self):
        if not JAR.exists():
            raise BenchError(f"{JAR.relative_to(REPOSITORY)} is not built; run `make all`")
        self.folder = self.temporary()
        self.cluster = HdfsCluster(
            self.folder / "hdfs",
            block_size=self._block_size,
            heap_mib=DATANODE_HEAP_MIB,
            class_path=[JAR],
            live=True,
            disk_mib=self._disk_mib,
            java_options=[],
        )
        self._stack.callback(self.cluster.stop)
        self.cluster.conf_dir.mkdir(parents=True)
        metrics = self.cluster.conf_dir / "hadoop-metrics2.properties"
        metrics.write_text(f"*.period={METRICS_PERIOD}\n")
        self.cluster.attach_disks()
        self.vreadd = Vreadd(self.cluster.served("dn1"), publish=["dn1"])
        self._stack.enter_context(self.vreadd)
        self.cluster.datanode("dn1").conf = {
            "dfs.datanode.fsdataset.factory": PUBLISHER,
            "io.vread.endpoint": self.vreadd.endpoint,
        }
        self.cluster.start()

    def properties(self, way):
        """The Hadoop properties of a client."""
        mine = {
            **READER,
            "io.vread.endpoint": self.vreadd.endpoint,
        }
        more = mine | self._properties if way == "vread" else {}
        return self.cluster.properties | {"hadoop.tmp.dir": self.folder / "tmp" / way} | more

    def conf(self, name, properties):
        """A new folder of Hadoop's configuration files."""
        folder = self.folder / "conf" / name
        config.write_site(folder, properties)
        (folder / "log4j.properties").write_text(config.LOG4J)
        return folder

    def class_path(self, way, more=None):
        """What is before an application's jars.  more: further properties."""
        conf = self.conf(way, self.properties(way) | (more or {}))
        return [JAR, conf] if way == "vread" else [conf]

    def counts(self):
        """Counts so far.  Takes as long as the DataNode's counters may be old."""
        time.sleep(1.5 * METRICS_PERIOD)
        cpu = self.vreadd.cpu_seconds() + process_cpu_seconds(self.cluster.pids["dn1"])
        return Counts(
            self.vreadd.status()["totals"]["bytes"],
            self.cluster.jmx("dn1", ACTIVITY)["BytesRead"],
            cpu,
        )
