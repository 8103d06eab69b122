# SPDX-License-Identifier: GPL-2.0-or-later
"""A NameNode failover under readers and publishers.  Neither vreadd nor its clients are told."""

import pytest

from tests.support.hadoop_bed import VERSIONS, hadoop_bed, served
from tools.hdfs import HaCluster

READERS = 8


@pytest.mark.hadoop
@pytest.mark.parametrize("mode", VERSIONS)
def test_namenode_failover(mode, tmp_path):
    """First the NameNodes change roles, then the active NameNode is killed.  No read may fail.
    Block tokens of both, if in use, must be accepted, and later writes must be published."""
    with hadoop_bed(mode, tmp_path, HaCluster) as bed, bed.unharmed():
        bed.client.do("readers-start", readers=READERS)
        for number, kill in enumerate((False, True)):
            bed.client.do("readers-progress")
            bed.hdfs.fail_over(kill=kill)
            after = bed.client.do("readers-progress", rounds=2 * READERS)
            assert after["stats"]["vread.bytes"] > 0
            bed.client.do("write", file=f"/after-{number}")
            answer = bed.client.do("read-by", by="vread", file=f"/after-{number}")
            assert answer["bytes"] > 0
        result = bed.client.do("readers-stop")
        assert result["errors"] == []
        served(bed.client.do("read"))
        served(bed.client.do("append-then-read"))
