# SPDX-License-Identifier: GPL-2.0-or-later
"""MapReduce's terasort, and teravalidate of what it wrote, under the local runner.

Each way sorts the same input into a folder of its own, and validates that folder.
"""

from tools.bench.apps.application import Operation
from tools.bench.apps.hadoop_jobs import HadoopJobs
from tools.bench.suite import BenchError

EXAMPLES = "org.apache.hadoop.examples.terasort"
ROW_BYTES = 100
INPUT = "/apps/terasort/input"


class MapReduce(HadoopJobs):
    NAME = "mapreduce"
    OPERATIONS = (
        Operation("terasort", "sorts 100-byte rows; two reducers"),
        Operation("teravalidate", "reads and checks what was sorted"),
    )

    def prepare(self):
        super().prepare()
        rows = (self.mib << 20) // ROW_BYTES
        self._run("stock", "TeraGen", "-Dmapreduce.job.maps=4", rows, INPUT)

    def run(self, way, operation):
        if operation == "terasort":
            self.ask(way, "delete", _sorted(way))
            return self._run(way, "TeraSort", "-Dmapreduce.job.reduces=2", INPUT, _sorted(way))
        self.ask(way, "delete", _report(way))
        return self._run(way, "TeraValidate", _sorted(way), _report(way))

    def digest(self, way, operation):
        """Of the sorted bytes, read by stock; of the report."""
        if operation == "terasort":
            return self.ask("stock", "digest", _sorted(way))["digest"]
        text = self.ask("stock", "text", f"{_report(way)}/part-r-00000")["text"]
        # If rows are not in order, the report has a line for each place.
        words = text.split()
        if len(words) != 2 or words[0] != "checksum":
            raise BenchError(f"teravalidate by {way}: {text}")
        return words[1]

    def _run(self, way, name, *arguments):
        return self.ask(way, "tool", f"{EXAMPLES}.{name}", *arguments)["seconds"]


def _sorted(way):
    return f"/apps/terasort/sorted-{way}"


def _report(way):
    return f"/apps/terasort/report-{way}"
