# SPDX-License-Identifier: GPL-2.0-or-later
"""Spark SQL, with Hadoop's shaded client, over Parquet and over a text table as Hive makes them.

Queries read two tables of Parquet, facts (whose notes are most of the bytes) and names, and the
text table users.
"""

from tools.bench.apps.application import WAYS, Application, Operation
from tools.bench.apps.jars import jars, versions
from tools.bench.apps.program import JavaProgram

HEAP_MIB = 2048
BYTES_OF_A_ROW = 108  # of facts
FOLDER = "/apps/spark"
JARS = ("spark-sql_2.12", "hadoop-client-api", "parquet-hadoop")  # whose versions are told
QUERIES = {
    "count": "SELECT count(*), sum(length(note)) FROM facts",
    "range": "SELECT id, note FROM facts WHERE amount BETWEEN 1000 AND 1999",
    "join": "SELECT names.name, count(*), sum(amount), max(note) FROM facts "
    "JOIN names ON facts.k = names.k GROUP BY names.name",
    "select": "SELECT * FROM users WHERE id BETWEEN {rows} / 4 AND {rows} / 4 + {rows} / 100",
}


class Spark(Application):
    NAME = "spark"
    WARM_UPS = 3  # compiles much
    OPERATIONS = (
        Operation("count", "rows and bytes of a column of Parquet"),
        Operation("range", "1 % of the rows of Parquet, by a range of an unsorted column"),
        Operation("join", "Parquet joined with a small table, and grouped"),
        Operation(
            "select",
            "1 % of the rows of a text table, by a range of its key (in place of Hive)",
            at_least=1 / (1 - 0.213),
            target="vRead paper, table 3: 21.3 % shorter",
        ),
    )

    def prepare(self):
        self._rows = (self.mib << 20) // BYTES_OF_A_ROW
        self._programs = {way: spark_program(self, way) for way in WAYS}
        self._programs["stock"].ask("make", FOLDER, self._rows)
        for program in self._programs.values():
            program.ask("open", FOLDER)

    def run(self, way, operation):
        sql = QUERIES[operation].format(rows=self._rows)
        return self._programs[way].ask("query", sql)["seconds"]

    def digest(self, way, operation):
        return self._programs[way].ask("digest")["digest"]

    def programs(self, way):
        return [self._programs[way]]

    def versions(self):
        return versions(jars("spark"), *JARS) | {"rows": self._rows}


def spark_program(application, way):
    """A Spark that reads by this way, until the application ends."""
    class_path = [*application.bed.class_path(way), f"{jars('spark')}/*"]
    program = JavaProgram(
        f"spark by {way}",
        ["SparkJobs.java"],
        class_path,
        application.bed.folder / f"spark-{way}",
        HEAP_MIB,
    )
    return application.stack.enter_context(program)
