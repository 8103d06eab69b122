# SPDX-License-Identifier: GPL-2.0-or-later
"""Hadoop's TestDFSIO, the benchmark of the vRead paper, under MapReduce's local runner.

Each way writes four files into a folder of its own, and reads those.  TestDFSIO counts the bytes
that it reads, and does not look at them.
"""

from tools.bench.apps.application import Operation
from tools.bench.apps.hadoop_jobs import HadoopJobs
from tools.bench.suite import BenchError

PROGRAM = "org.apache.hadoop.fs.TestDFSIO"
FILES = 4
BUFFER = 1 << 20


class DfsIo(HadoopJobs):
    NAME = "dfsio"
    OPERATIONS = (
        Operation("write", "four files, two at a time"),
        Operation("read", "the four files again, two at a time"),
    )

    def run(self, way, operation):
        words = [f"-Dtest.build.data={_folder(way)}", f"-{operation}", "-nrFiles", FILES]
        words += ["-size", f"{self.mib // FILES}MB", "-bufferSize", BUFFER]
        self._report(way).unlink(missing_ok=True)
        return self.ask(way, "tool", PROGRAM, *words, "-resFile", self._report(way))["seconds"]

    def digest(self, way, operation):
        """Of the written bytes, read by stock; of a read, how much TestDFSIO counted."""
        if operation == "write":
            return self.ask("stock", "digest", f"{_folder(way)}/io_data")["digest"]
        lines = self._report(way).read_text().splitlines()
        counted = [line.split(":")[1].strip() for line in lines if "MBytes processed" in line]
        if len(counted) != 1 or float(counted[0]) != self.mib // FILES * FILES:
            raise BenchError(f"TestDFSIO by {way} read {counted} MiB instead of {self.mib}")
        return counted[0]

    def _report(self, way):
        return self.bed.folder / f"dfsio-{way}.txt"


def _folder(way):
    return f"/apps/dfsio/{way}"
