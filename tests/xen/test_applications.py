# SPDX-License-Identifier: GPL-2.0-or-later
"""Real applications in a client domU read stock HDFS by vRead: Spark SQL, HBase, MapReduce,
TestDFSIO, DistCp and pyarrow.  The results must be those that are known, and the DataNode must
not serve what vRead can give.

The applications are those of the native bench (tools/bench/apps), with a few MiB of data.  The
same programs make the data and the known results here, natively.  The DataNode's disk is
mounted in its domU all the time.  Speed is not judged.

The module is slow: HDFS and the applications' JVMs run on one emulated processor.  `make test`
instead runs test_hadoop.py, in which `hdfs dfs` reads.
"""

import json
import os
import shutil
import subprocess
import sys
import zlib

import pytest

from tests.guest.applications import (
    BLOCK_MIB,
    UNSHARED,
    Bed,
    all_by_vread,
    digest_of,
    nearly_all_by_vread,
    test_dfsio,  # noqa: F401
)
from tools.bench.apps import hbase
from tools.bench.apps.arrow import PROGRAM
from tools.bench.apps.jars import jars
from tools.bench.apps.program import JavaProgram
from tools.bench.apps.spark import QUERIES
from tools.hdfs import config
from tools.hdfs.native_code import pyarrow_dir
from tools.hdfs.ports import free_ports
from tools.lab import applications, hadoop, hadoop_state
from tools.lab.applications import HBASE_PATIENCE, PYARROW, STATISTICS, Application
from tools.lab.hadoop_guests import CONF
from tools.lab.java_disk import URI
from tools.lab.source import noise

pytestmark = [pytest.mark.xen, pytest.mark.hadoop, pytest.mark.slow, pytest.mark.timeout(3600)]

SPARK_ROWS = 50_000  # 108 bytes each
PYARROW_ROWS = 50_000  # 112 bytes each
HBASE_ROWS = 3000
HBASE_GETS = 200
HBASE_PORTS = (2181, 16000, 16020)  # in the domU
SORT_ROWS = 20_000
ROW_BYTES, KEY_BYTES = 100, 10  # of terasort
# Writes what arrow_program.py writes, to a local folder, and prints the digests of its reads.
ARROW_DATA = """
import json, sys
import pyarrow.compute as pc
import pyarrow.parquet as pq
import arrow_program as program
folder, rows = sys.argv[1], int(sys.argv[2])
each = rows // program.FILES
for number in range(program.FILES):
    pq.write_table(program._table(number * each, each), f"{folder}/{number}.parquet")
table = program._table(0, rows)
wanted = (pc.field("amount") >= 1000) & (pc.field("amount") < 2000)
some = table.filter(wanted).select(["id", "note"])
print(json.dumps({"scan": program._digest(table), "filter": program._digest(some)}))
"""


@pytest.fixture(scope="module")
def bed(start_host, product_files):
    dom0_files, guest_files = product_files
    host = start_host(
        "applications",
        **hadoop_state.with_applications(),
        files=dom0_files,
        guest_files=guest_files,
    )
    backend = hadoop.backend(host)
    backend.start()
    hdfs = hadoop.Hdfs(host, backend, block_mib=BLOCK_MIB)
    hdfs.start()
    applications.mount(hdfs.client)
    with hdfs.shell() as shell:
        yield Bed(hdfs, backend, shell)


def test_pyarrow(bed, tmp_path):
    """A dataset of four files of Parquet, through libhdfs: all of it, and a range."""
    modules = os.environ | {"PYTHONPATH": f"{pyarrow_dir()}:{PROGRAM.parent}"}
    command = [sys.executable, "-c", ARROW_DATA, tmp_path, str(PYARROW_ROWS)]
    made = subprocess.run(command, env=modules, stdout=subprocess.PIPE, check=True)
    digests = json.loads(made.stdout)
    bed.put(tmp_path, "/arrow")
    with Application(bed.client, PYARROW) as arrow:
        properties = hadoop.READER | {hadoop.STATISTICS: STATISTICS}
        arrow.ask("use", *(f"{name}={value}" for name, value in properties.items()))
        for operation, digest in digests.items():
            with bed.reading(arrow, f"pyarrow {operation}") as read:
                arrow.ask(operation, "/arrow")
            assert arrow.ask("digest") == {"digest": digest}
            all_by_vread(read)


def test_spark_sql(bed, tmp_path):
    """Queries over Parquet, and one over a text table as Hive makes it.  Spark brings Hadoop's
    shaded client.  It takes minutes, because Spark loads ten thousand classes."""
    data = tmp_path / "data"
    class_path = [f"{jars('spark')}/*"]
    queries = {name: sql.format(rows=SPARK_ROWS) for name, sql in QUERIES.items()}
    expected = {}
    with JavaProgram("spark", ["SparkJobs.java"], class_path, tmp_path / "spark", 1024) as spark:
        spark.ask("make", f"file://{data}", SPARK_ROWS)
        spark.ask("open", f"file://{data}")
        for query, sql in queries.items():
            spark.ask("query", sql)
            expected[query] = spark.ask("digest")
            assert expected[query]["rows"] > 0
    bed.put(data, "/spark")
    with Application(bed.client, "spark") as spark:
        for name, value in hadoop.READER.items():
            spark.ask("set", name, value)
        with bed.reading(spark, "spark open") as read:
            spark.ask("open", "/spark")
        all_by_vread(read)
        for query, sql in queries.items():
            with bed.reading(spark, f"spark {query}") as read:
                spark.ask("query", sql)
            assert spark.ask("digest") == expected[query]
            all_by_vread(read)


def test_hbase(bed, tmp_path):
    """PerformanceEvaluation's scan, sequentialRead and randomRead.  The table was written by an
    HBase here, without HDFS.  The RegionServer reads."""
    data = tmp_path / "data"
    expected = hbase_table(data, tmp_path)
    bed.put(data, "/hbase")
    bed.configure(hadoop.READER)
    site = hbase.site(f"{URI}/hbase", "/run/hbase-tmp", HBASE_PORTS) | HBASE_PATIENCE
    bed.client.run(f"cat >{CONF}/hbase-site.xml", stdin=config.site(site).encode()).check()
    with Application(bed.client, "hbase") as server:
        server.ask("start")
        with Application(bed.client, "hbase", "HBaseClient") as client:
            for operation, digest in expected.items():
                with bed.reading(server, f"hbase {operation}") as read:
                    assert client.ask("evaluate", *evaluation(operation)) == {"code": 0}
                assert server.ask(*hbase_digest(operation)) == digest
                nearly_all_by_vread(read)
                if operation == "scan":
                    assert read.got >= HBASE_ROWS * hbase.VALUE_BYTES, read
        server.ask("stop")


def hbase_table(root, scratch):
    """Writes a table to a local folder; {operation: digest} of what is read of it."""
    conf = scratch / "conf"
    conf.mkdir()
    site = hbase.site(f"file://{root}", scratch / "tmp", free_ports(3))
    site["hbase.unsafe.stream.capability.enforce"] = "false"  # a local file has no hsync()
    (conf / "hbase-site.xml").write_text(config.site(site))
    path = [conf, f"{jars('hbase')}/*"]
    operations = ("scan", "sequentialRead", "randomRead")
    with JavaProgram(
        "hbase", ["HBaseServer.java"], path, scratch / "server", 512, [scratch / "zookeeper"]
    ) as server:
        server.ask("start")
        with JavaProgram("hbase client", ["HBaseClient.java"], path, scratch / "c", 256) as client:
            client.ask(
                "evaluate", "--writeToWAL=false", "--presplit=1", *evaluation("sequentialWrite")
            )
        server.ask("settle", hbase.TABLE)
        digests = {name: server.ask(*hbase_digest(name)) for name in operations}
        server.ask("stop")
    assert digests["scan"]["rows"] == HBASE_ROWS
    shutil.rmtree(root / "archive")  # files of before the compaction
    return digests


def evaluation(operation):
    """Arguments of PerformanceEvaluation, with one client."""
    words = ["--nomapred", f"--table={hbase.TABLE}", f"--valueSize={hbase.VALUE_BYTES}"]
    words.append(f"--rows={HBASE_GETS if operation == 'sequentialRead' else HBASE_ROWS}")
    if operation == "randomRead":
        words.append(f"--sampleRate={HBASE_GETS / HBASE_ROWS:.4f}")
    return (*words, operation, 1)


def hbase_digest(operation):
    """The command that digests what an operation reads."""
    if operation == "scan":
        return ("digest", hbase.TABLE)
    return ("gets", hbase.TABLE, HBASE_ROWS, HBASE_GETS)


def test_mapreduce(bed, tmp_path):
    """Terasort, teravalidate of what was sorted, and DistCp, under the local runner."""
    whole = noise(8).path.read_bytes()[: SORT_ROWS * ROW_BYTES]
    (tmp_path / "part-m-00000").write_bytes(whole)
    rows = [whole[at : at + ROW_BYTES] for at in range(0, len(whole), ROW_BYTES)]
    rows.sort(key=lambda row: row[:KEY_BYTES])
    bed.put(tmp_path, "/input")
    bed.configure(UNSHARED | hadoop.READER)
    with Application(bed.client, "jobs") as jobs:

        def terasort(name, *arguments):
            jobs.ask("tool", f"org.apache.hadoop.examples.terasort.{name}", *arguments)

        with bed.reading(jobs, "terasort") as read:
            terasort("TeraSort", "/input", "/sorted")
        nearly_all_by_vread(read)
        bed.wait_published()
        with bed.reading(jobs, "teravalidate") as read:
            terasort("TeraValidate", "/sorted", "/report")
        nearly_all_by_vread(read)
        with bed.reading(jobs, "distcp") as read:
            jobs.ask("distcp", "-m", 1, "/input", "/copy")
        nearly_all_by_vread(read)
        bed.configure(UNSHARED)  # the results are read by TCP
        found = jobs.ask("digest", "/sorted")
        assert found["digest"] == digest_of({"part-r-00000": b"".join(rows)})
        assert jobs.ask("digest", "/copy")["digest"] == digest_of({"part-m-00000": whole})
        # A row out of order would add to the report.
        report = jobs.ask("text", "/report/part-r-00000")["text"].split()
        assert report == ["checksum", f"{sum(map(zlib.crc32, rows)):x}"]
