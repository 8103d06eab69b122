# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixtures of the feature tests: `bed`, a federation with vRead; `readers`, its clients by
name; `cells`, which checks and records who read."""

import contextlib

import pytest

from tests.support.feature_table import check_cell
from tests.support.hadoop_bed import VERSIONS, hadoop_bed, locking
from tests.support.hadoop_client import JAR, compiled
from tools.hdfs import DEFAULT_VERSION, FederatedCluster, hadoop_class_path, shaded_class_path

SPARK = ("3.3.4", "3.4.1")  # Hadoop's versions in Spark 3.5 and 4.0
TYPES = ("DISK", "SSD", "ARCHIVE")
# A client follows links by FileSystem.get().  A cached file system could be that of the stock
# client in the same JVM.
LINKS = {
    "dfs.namenode.plugins": "io.vread.check.Links",
    "fs.hdfs.impl.disable.cache": "true",
}


@pytest.fixture(scope="package", params=VERSIONS)
def bed(request, tmp_path_factory):
    options = locking(request.param.version)
    with hadoop_bed(
        request.param,
        tmp_path_factory.mktemp("features"),
        FederatedCluster,
        datanodes=2,
        data_dirs=len(TYPES),
        storage_types=TYPES,
        class_path=[JAR, compiled()],
        **options | {"conf": options.get("conf", {}) | LINKS},
    ) as running:
        yield running


@pytest.fixture(scope="package")
def spark_readers(bed, tmp_path_factory):
    """spark_readers(conf_dir): a context with {name: client}.  Spark's clients run beside one
    version only: theirs does not change."""

    @contextlib.contextmanager
    def started(conf_dir):
        with contextlib.ExitStack() as stack:
            found = {}
            for version in SPARK if bed.mode.version == DEFAULT_VERSION else ():
                folder = tmp_path_factory.mktemp(f"spark-{version}")
                hadoop = [conf_dir, f"{shaded_class_path(version)}/*", *_jackson()]
                client = bed.another_client(folder, hadoop=hadoop)
                found[f"spark-{version}"] = stack.enter_context(client)
            yield found

    return started


@pytest.fixture(scope="package")
def readers(bed, spark_readers):
    """{name: client}"""
    with spark_readers(bed.hdfs.conf_dir) as found:
        yield {bed.mode.version: bed.client} | found


def _jackson():
    """The scenarios need Jackson; Hadoop's shaded jars have it under other names."""
    lib = hadoop_class_path(DEFAULT_VERSION)
    return sorted(
        jar
        for part in ("core", "databind", "annotations")
        for jar in lib.glob(f"jackson-{part}-[0-9]*.jar")
    )


@pytest.fixture
def cells(readers, record_property):
    """cells(feature, uri, ...) reads a file with every client: a cell for each."""

    def check(feature, uri, **arguments):
        for name, reader in readers.items():
            check_cell(record_property, feature, name, reader, uri=uri, **arguments)

    return check
