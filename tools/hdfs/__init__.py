# SPDX-License-Identifier: GPL-2.0-or-later
"""A real HDFS (a NameNode and DataNodes) out of Maven artifacts, for tests, demo and benches.

    with HdfsCluster(directory, block_size=32 << 20) as hdfs:
        hdfs.put(local, "/file")
        for block in hdfs.blocks("/file"):
            print(block.spec())

By hand: `python -m tools.hdfs up --vread`, and docs/testing.md.
"""

from tools.hdfs.artifacts import (
    DEFAULT_VERSION,
    hadoop_class_path,
    mapreduce_class_path,
    shaded_class_path,
    upstream_class_path,
)
from tools.hdfs.block import Block
from tools.hdfs.cluster import HdfsCluster
from tools.hdfs.errors import HdfsError
from tools.hdfs.federation import FederatedCluster
from tools.hdfs.ha import HaCluster

__all__ = [
    "DEFAULT_VERSION",
    "Block",
    "FederatedCluster",
    "HaCluster",
    "HdfsCluster",
    "HdfsError",
    "hadoop_class_path",
    "mapreduce_class_path",
    "shaded_class_path",
    "upstream_class_path",
]
