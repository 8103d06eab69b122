# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixture of the tests with HDFS: `hdfs`, a cluster that all tests share, in which each test
writes its own files."""

import pytest

from tools.hdfs import HdfsCluster

BLOCK_SIZE = 1 << 20


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory):
    with HdfsCluster(tmp_path_factory.mktemp("hdfs"), block_size=BLOCK_SIZE) as cluster:
        yield cluster
