# SPDX-License-Identifier: GPL-2.0-or-later
"""HBase's PerformanceEvaluation: scan, sequentialRead and randomRead of 1000-byte values.

There is an HBase for each way, in a process of its own: ZooKeeper, master and one RegionServer.
The second HBase starts from a copy of the first one's files, so both have the same table.  Blocks
of the table are not kept in HBase's own block cache, as if the table were much larger than it.
One warm client process for each way runs PerformanceEvaluation, whose own time counts.  It prints
no results.  So after a scan all cells of the table are read again and digested, and after gets
those of some rows at random.
"""

import re

from tools.bench.apps.application import WAYS, Application, Operation
from tools.bench.apps.jars import jars, versions
from tools.bench.apps.program import JavaProgram
from tools.bench.suite import BenchError
from tools.hdfs import config
from tools.hdfs.ports import free_ports

TABLE = "evaluation"
VALUE_BYTES = 1000
GETS = 10_000  # of a sequentialRead or randomRead, about
CHECKED_GETS = 1000
LOG_TIMES = "log4j.logger.org.apache.hadoop.hbase.PerformanceEvaluation=INFO\n"
SERVER_HEAP_MIB, CLIENT_HEAP_MIB = 1024, 512
FINISHED = re.compile(r"Finished class \S+Test in (\d+)ms at offset 0 for (\d+) rows")
PAPER = "vRead paper, table 2: {} % more"
JARS = ("hbase-server", "hbase-mapreduce", "hadoop-hdfs-client")  # whose versions are told


class HBase(Application):
    NAME = "hbase"
    OPERATIONS = (
        Operation("scan", "all rows", 1.273, PAPER.format(27.3)),
        Operation("sequentialRead", "gets of one row after the other", 1.236, PAPER.format(23.6)),
        Operation("randomRead", "gets at random", 1.173, PAPER.format(17.3)),
    )

    def prepare(self):
        self._rows = (self.mib << 20) // VALUE_BYTES
        # PerformanceEvaluation reads one of so many rows at random: a whole number.
        self._every = max(1, self._rows // GETS)
        self._gets = self._rows // self._every
        self._servers, self._clients = {}, {}
        self._start("stock")
        self._evaluate("stock", "sequentialWrite", "--writeToWAL=false", "--presplit=1")
        self._servers["stock"].ask("settle", TABLE)
        self._servers["stock"].ask("stop")
        self.bed.cluster.fs("-cp", _root("stock"), _root("vread"))
        for way in WAYS:
            self._start(way)

    def run(self, way, operation):
        if operation == "scan":
            return self._evaluate(way, "scan")
        if operation == "sequentialRead":
            return self._evaluate(way, operation, rows=self._gets)
        # A little less than 1 / every, because PerformanceEvaluation divides and rounds down.
        return self._evaluate(way, operation, f"--sampleRate={0.999 / self._every:.6f}")

    def digest(self, way, operation):
        server = self._servers[way]
        if operation == "scan":
            answer, rows = server.ask("digest", TABLE), self._rows
        else:
            answer, rows = server.ask("gets", TABLE, self._rows, CHECKED_GETS), CHECKED_GETS
        if answer["rows"] != rows:
            raise BenchError(f"hbase by {way}: {answer['rows']} rows, expected {rows}")
        return answer["digest"]

    def programs(self, way):
        return [self._servers[way], self._clients[way]]

    def versions(self):
        return versions(jars("hbase"), *JARS) | {"rows": self._rows, "gets": self._gets}

    def _start(self, way):
        root = f"{self.bed.cluster.uri}{_root(way)}"
        properties = site(root, self.bed.folder / "tmp" / f"hbase-{way}", free_ports(3))
        zoo_keeper = properties["hbase.zookeeper.property.clientPort"]
        class_path = self.bed.class_path(way)
        conf = class_path[-1]
        (conf / "hbase-site.xml").write_text(config.site(properties))
        with open(conf / "log4j.properties", "a") as log:
            log.write(LOG_TIMES)
        folder = self.bed.folder / f"hbase-{way}-{zoo_keeper}"
        path = [*class_path, f"{jars('hbase')}/*"]
        self._servers[way] = self.stack.enter_context(
            JavaProgram(
                f"hbase by {way}", ["HBaseServer.java"], path, folder / "server",
                SERVER_HEAP_MIB, [folder / "zookeeper"],
            )
        )  # fmt: skip
        self._servers[way].ask("start")
        self._clients[way] = self.stack.enter_context(
            JavaProgram(
                f"hbase client by {way}", ["HBaseClient.java"], path, folder / "client",
                CLIENT_HEAP_MIB,
            )
        )  # fmt: skip

    def _evaluate(self, way, test, *options, rows=None):
        """Runs a test by one client; the seconds that PerformanceEvaluation logs."""
        rows = rows or self._rows
        client = self._clients[way]
        logged = client.log_size()
        words = ["--nomapred", f"--rows={rows}", f"--table={TABLE}", f"--valueSize={VALUE_BYTES}"]
        client.ask("evaluate", *words, *options, test, 1)
        found = FINISHED.findall(client.log_from(logged))
        if len(found) != 1:
            raise BenchError(f"hbase by {way}: {test} logged {found}:\n{client.log()}")
        return int(found[0][0]) / 1000


def site(root, tmp, ports):
    """The properties of an HBase in one process.  ports: of ZooKeeper, master, RegionServer."""
    zoo_keeper, master, region_server = ports
    return {
        "hbase.rootdir": root,
        "hbase.cluster.distributed": "true",
        "hbase.tmp.dir": tmp,
        "hbase.zookeeper.quorum": "127.0.0.1",
        "hbase.zookeeper.property.clientPort": zoo_keeper,
        "hbase.master.hostname": "127.0.0.1",
        "hbase.regionserver.hostname": "127.0.0.1",
        "hbase.master.port": master,
        "hbase.regionserver.port": region_server,
        "hbase.master.info.port": "-1",
        "hbase.regionserver.info.port": "-1",
        # One region, whatever its size.
        "hbase.hregion.max.filesize": str(1 << 40),
    }


def _root(way):
    return f"/apps/hbase-{way}"
