# SPDX-License-Identifier: GPL-2.0-or-later
"""pyarrow datasets of Parquet, through libhdfs: a Python process for each way."""

import sys
from pathlib import Path

from tools.bench.apps.application import WAYS, Application, Operation
from tools.bench.apps.program import Program
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path, jvm
from tools.hdfs.native_code import PYARROW, java_home, libhdfs_dir, pyarrow_dir

PROGRAM = Path(__file__).with_name("arrow_program.py")
FOLDER = "/apps/arrow"
HEAP_MIB = 512
BYTES_OF_A_ROW = 112


class Arrow(Application):
    NAME = "pyarrow"
    OPERATIONS = (
        Operation("scan", "all columns of all rows"),
        Operation("filter", "two columns of 1 % of the rows, by a range"),
    )

    def prepare(self):
        self._programs = {way: self._start(way) for way in WAYS}
        rows = (self.mib << 20) // BYTES_OF_A_ROW
        self._programs["stock"].ask("make", FOLDER, rows)

    def ready(self, way):
        self._programs[way].ask("touch")

    def run(self, way, operation):
        return self._programs[way].ask(operation, FOLDER)["seconds"]

    def digest(self, way, operation):
        return self._programs[way].ask("digest")["digest"]

    def programs(self, way):
        return [self._programs[way]]

    def versions(self):
        return {"pyarrow": PYARROW.partition("==")[2], "hadoop": DEFAULT_VERSION}

    def _start(self, way):
        folder = self.bed.folder / f"arrow-{way}"
        statistics = folder / "statistics"
        more = {"io.vread.statistics.file": statistics} if way == "vread" else {}
        path = [*self.bed.class_path(way, more), f"{hadoop_class_path()}/*"]
        java = jvm.java_command(":".join(map(str, path)), "", heap_mib=HEAP_MIB, log_level="WARN")
        *options, _, class_path, _ = java[1:]
        environment = {
            "CLASSPATH": class_path,
            "LIBHDFS_OPTS": " ".join(options),
            "JAVA_HOME": str(java_home()),
            "ARROW_LIBHDFS_DIR": str(libhdfs_dir()),
            "PYTHONPATH": str(pyarrow_dir()),
        }
        program = Program(
            f"pyarrow by {way}", [sys.executable, PROGRAM, statistics], folder, environment
        )
        return self.stack.enter_context(program)
