# SPDX-License-Identifier: GPL-2.0-or-later
"""The export of a table to PostgreSQL, as Sqoop does it: rows of a text table, inserted by JDBC in
batches, over two connections.  Spark reads the table and writes the rows.

A second operation inserts the same rows by COPY, which costs PostgreSQL less.  CPU time includes
PostgreSQL's.
"""

from tools.bench.apps.application import WAYS, Application, Operation
from tools.bench.apps.jars import jars, versions
from tools.bench.apps.postgres import Postgres
from tools.bench.apps.spark import BYTES_OF_A_ROW, FOLDER, JARS, spark_program
from tools.bench.suite import BenchError

# PostgreSQL takes minutes for as many bytes as the other applications read.
PART = 8


class Export(Application):
    NAME = "export"
    OPERATIONS = (
        Operation(
            "insert",
            "a text table of HDFS to PostgreSQL, inserted by JDBC (in place of Sqoop)",
            at_least=1 / (1 - 0.113),
            target="vRead paper, table 3: 11.3 % shorter",
        ),
        Operation("copy", "the same by COPY"),
    )

    def prepare(self):
        self._rows = (self.mib << 20) // PART // BYTES_OF_A_ROW
        self._database = self.stack.enter_context(Postgres())
        self._version = self._database.version()
        self._programs = {way: spark_program(self, way) for way in WAYS}
        self._programs["stock"].ask("make", FOLDER, self._rows)
        for program in self._programs.values():
            program.ask("open", FOLDER)

    def run(self, way, operation):
        database, table = self._database, _table(way)
        self._database.ask(f"DROP TABLE IF EXISTS {table}; CHECKPOINT")
        login = (database.user, database.password, table)
        url = f"{database.url}?reWriteBatchedInserts=true"
        return self._programs[way].ask(operation, url, *login)["seconds"]

    def digest(self, way, operation):
        sql = "SELECT count(*), md5(string_agg(t::text, E'\\n' ORDER BY id)) FROM {} t"
        rows, _, digest = self._database.ask(sql.format(_table(way))).partition("|")
        if int(rows) != self._rows:
            raise BenchError(f"export by {way}: {rows} rows, expected {self._rows}")
        return digest

    def programs(self, way):
        return [self._programs[way], self._database]

    def versions(self):
        found = versions(jars("spark"), *JARS, "postgresql")
        found["postgresql JDBC"] = found.pop("postgresql")
        return found | {"PostgreSQL": self._version, "rows": self._rows}


def _table(way):
    return f"users_by_{way}"
