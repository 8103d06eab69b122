# SPDX-License-Identifier: GPL-2.0-or-later
"""DistCp, which copies a folder within HDFS, under MapReduce's local runner.  It compares the
checksums of each file and its copy, as it does by default."""

from tools.bench.apps.application import Operation
from tools.bench.apps.hadoop_jobs import HadoopJobs
from tools.bench.suite import BenchError

TERAGEN = "org.apache.hadoop.examples.terasort.TeraGen"
ROW_BYTES = 100
SOURCE = "/apps/distcp/source"


class DistCp(HadoopJobs):
    NAME = "distcp"
    OPERATIONS = (Operation("copy", "four files of HDFS to HDFS, two at a time"),)

    def prepare(self):
        super().prepare()
        rows = (self.mib << 20) // ROW_BYTES
        self.ask("stock", "tool", TERAGEN, "-Dmapreduce.job.maps=4", rows, SOURCE)
        self._source = self.ask("stock", "digest", SOURCE)["digest"]

    def run(self, way, operation):
        self.ask(way, "delete", _copy(way))
        return self.ask(way, "distcp", "-m", 2, SOURCE, _copy(way))["seconds"]

    def digest(self, way, operation):
        """Read by stock.  The copy must be like the source."""
        digest = self.ask("stock", "digest", _copy(way))["digest"]
        if digest != self._source:
            raise BenchError(f"distcp by {way}: the copy differs from {SOURCE}")
        return digest


def _copy(way):
    return f"/apps/distcp/copy-{way}"
