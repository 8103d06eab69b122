# SPDX-License-Identifier: GPL-2.0-or-later
"""A file of Parquet and one of ORC, by the formats' own Java libraries with vectored reads.

Both have the same rows, whose digests are known.  A run without a vectored read is an error: the
library has fallen back to other reads.
"""

from tools.bench.apps.application import WAYS, Application, Operation
from tools.bench.apps.jars import jars, versions
from tools.bench.apps.program import JavaProgram
from tools.bench.suite import BenchError
from tools.hdfs import DEFAULT_VERSION, hadoop_class_path, mapreduce_class_path

HEAP_MIB = 1024
BYTES_OF_A_ROW = 112
FORMATS = ("parquet", "orc")
SOURCES = ("ColumnarJobs", "Rows", "ColumnarDigest", "ParquetTable", "OrcTable",
           "VectoredReads")  # fmt: skip
JARS = ("parquet-hadoop", "orc-core")  # whose versions are told


class Columnar(Application):
    NAME = "columnar"
    WARM_UPS = 2  # compiles much
    OPERATIONS = tuple(
        Operation(f"{file_format}-{operation}", what)
        for file_format in FORMATS
        for operation, what in (
            ("scan", "all columns of all rows"),
            ("filter", "three of five columns of 1 % of the rows, by a range"),
        )
    )

    def prepare(self):
        self._programs = {way: self._program(way) for way in WAYS}
        self._digests = {}  # that a run by this way found last
        rows = (self.mib << 20) // BYTES_OF_A_ROW
        self._made = {
            name: self._programs["stock"].ask("make", name, _file(name), rows) for name in FORMATS
        }

    def run(self, way, operation):
        file_format, _, what = operation.partition("-")
        done = self._programs[way].ask(what, file_format, _file(file_format))
        if not done["ranges"]:
            raise BenchError(f"{operation} by {way}: no vectored read")
        self._digests[way] = done["digest"]
        return done["seconds"]

    def digest(self, way, operation):
        file_format, _, what = operation.partition("-")
        found, made = self._digests[way], self._made[file_format][what]
        if found != made:
            raise BenchError(f"{operation} by {way}: read {found}, and written was {made}")
        return found

    def programs(self, way):
        return [self._programs[way]]

    def versions(self):
        return {"hadoop": DEFAULT_VERSION} | versions(jars("columnar"), *JARS)

    def _program(self, way):
        folders = [hadoop_class_path(), mapreduce_class_path(), jars("columnar")]
        program = JavaProgram(
            f"columnar by {way}",
            [f"{source}.java" for source in SOURCES],
            self.bed.class_path(way) + [f"{folder}/*" for folder in folders],
            self.bed.folder / f"columnar-{way}",
            HEAP_MIB,
        )
        return self.stack.enter_context(program)


def _file(file_format):
    return f"/apps/columnar/rows.{file_format}"
