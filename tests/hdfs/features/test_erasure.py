# SPDX-License-Identifier: GPL-2.0-or-later
"""Erasure-coded files of a wide policy, whole and with lost blocks."""

import pytest

from tests.support.feature_table import check_cell
from tests.support.hadoop_bed import VERSIONS, hadoop_bed

pytestmark = [pytest.mark.hadoop, pytest.mark.slow]

POLICY = "RS-6-3-1024k"
GROUP = 9
FILE = {"uri": "/ec/file", "size": 12 << 20}  # two whole groups of blocks of 1 MiB


@pytest.mark.parametrize("mode", VERSIONS)
def test_reed_solomon_with_lost_blocks(mode, tmp_path, record_property):
    """A file is read while all its blocks are there, and when as many datanodes are gone with their
    blocks as the policy can bear.  The client computes what is lost from the others' blocks."""
    names = [f"dn{number}" for number in range(1, GROUP + 1)]
    with hadoop_bed(
        mode,
        tmp_path,
        names=names,
        datanodes=GROUP,
        data_dirs=1,
        disk_mib=128,
        heap_mib=96,
    ) as bed:

        def cell(feature):
            check_cell(record_property, feature, mode.version, bed.client, **FILE)

        bed.client.do("shell", program="dfs", words=["-mkdir", "-p", "/ec"])
        for words in (
            ["-enablePolicy", "-policy", POLICY],
            ["-setPolicy", "-path", "/ec", "-policy", POLICY],
        ):
            bed.client.do("shell", program="ec", words=words)
        bed.client.do("write-at", replicas=GROUP, **FILE)
        cell("erasure coding RS-6-3")
        for name in names[:3]:
            datanode = bed.hdfs.datanode(name)
            datanode.stop()
            for directory in datanode.data_dirs:
                for block in directory.glob("current/BP-*/current/finalized/**/blk_-*"):
                    block.unlink()
            datanode.disk.sync()
        cell("erasure coding RS-6-3 with three blocks lost")
