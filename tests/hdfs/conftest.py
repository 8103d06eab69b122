# SPDX-License-Identifier: GPL-2.0-or-later
"""One HDFS cluster for all tests of this folder; each test writes files of its own."""

import pytest

from tools.hdfs import HdfsCluster

BLOCK_SIZE = 1 << 20


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory):
    with HdfsCluster(tmp_path_factory.mktemp("hdfs"), block_size=BLOCK_SIZE) as cluster:
        yield cluster
