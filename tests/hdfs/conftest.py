# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the tests with HDFS: `hdfs`, a cluster that all tests share, in which each test
writes its own files; and `bed`, one cluster with vRead for each column of the matrix."""

import pytest

from tests.support.hadoop_bed import MODES, hadoop_bed
from tools.hdfs import HdfsCluster

BLOCK_SIZE = 1 << 20


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory):
    with HdfsCluster(tmp_path_factory.mktemp("hdfs"), block_size=BLOCK_SIZE) as cluster:
        yield cluster


@pytest.fixture(scope="session", params=MODES, ids=str)
def bed(request, tmp_path_factory):
    with hadoop_bed(request.param, tmp_path_factory.mktemp("bed")) as running:
        yield running
