# SPDX-License-Identifier: GPL-2.0-or-later
"""Flink in a mini cluster of two slots, whose jobs read text by Flink's file source.

Flink makes its own file system of Hadoop's, from the Hadoop configuration on the class path.
"""

from tools.bench.apps.application import WAYS, Application, Operation
from tools.bench.apps.jars import jars, versions
from tools.bench.apps.program import JavaProgram
from tools.bench.suite import BenchError
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path

HEAP_MIB = 1024
BYTES_OF_A_ROW = 116
FOLDER = "hdfs:///apps/flink"
JARS = ("flink-runtime", "flink-connector-files", "flink-hadoop-fs")  # whose versions are told


class Flink(Application):
    NAME = "flink"
    WARM_UPS = 3  # compiles much
    OPERATIONS = (
        Operation("scan", "all lines of four files of text"),
        Operation("group", "the same files parsed, and a column summed by another"),
    )

    def prepare(self):
        self._programs = {way: self._program(way) for way in WAYS}
        self._digests = {}  # that a run by this way found last
        rows = (self.mib << 20) // BYTES_OF_A_ROW
        self._made = self._programs["stock"].ask("make", FOLDER, rows)

    def run(self, way, operation):
        done = self._programs[way].ask(operation, FOLDER)
        self._digests[way] = done["digest"]
        return done["seconds"]

    def digest(self, way, operation):
        found, made = self._digests[way], self._made[operation]
        if found != made:
            raise BenchError(f"flink {operation} by {way}: read {found}, and written was {made}")
        return found

    def programs(self, way):
        return [self._programs[way]]

    def versions(self):
        return {"hadoop": DEFAULT_VERSION} | versions(jars("flink"), *JARS)

    def _program(self, way):
        folders = [hadoop_class_path(), jars("flink")]
        program = JavaProgram(
            f"flink by {way}",
            ["FlinkJobs.java", "Rows.java"],
            self.bed.class_path(way) + [f"{folder}/*" for folder in folders],
            self.bed.folder / f"flink-{way}",
            HEAP_MIB,
        )
        return self.stack.enter_context(program)
