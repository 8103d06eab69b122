# SPDX-License-Identifier: GPL-2.0-or-later
"""A rolling upgrade, from its preparation to its end, with a datanode that is started again."""

import pytest

from tests.support.hadoop_bed import served
from tests.support.waiting import eventually

pytestmark = [pytest.mark.hadoop, pytest.mark.slow]


def _upgrade(bed, step):
    bed.client.do("shell", program="dfsadmin", words=["-rollingUpgrade", step])


def _safe_mode(bed, step):
    bed.client.do("shell", program="dfsadmin", words=["-safemode", step])


def _trash(bed):
    """Blocks in the trash of dn1, of all data directories and block pools."""
    return [
        block
        for directory in bed.hdfs.datanode("dn1").data_dirs
        for block in directory.glob("current/BP-*/trash/**/blk_*")
    ]


def test_rolling_upgrade(bed, cells):
    """During a rolling upgrade a datanode moves the blocks of deleted files into its trash, on the
    image that vreadd reads, and keeps them there until the end."""
    kept, gone = (f"{bed.hdfs.uri}/rolling-{name}" for name in ("kept", "gone"))
    for uri in (kept, gone):
        bed.client.do("write-at", uri=uri)
    _safe_mode(bed, "enter")  # in which the NameNode can save its image
    _upgrade(bed, "prepare")
    _safe_mode(bed, "leave")
    try:
        bed.hdfs.datanode("dn1").stop()
        bed.hdfs.start_datanode("dn1")
        bed.client.do("delete-at", uri=gone)
        eventually(lambda: _trash(bed), what="blocks in the trash of dn1")
        cells("rolling upgrade", kept)
        later = f"{bed.hdfs.uri}/rolling-later"
        bed.client.do("write-at", uri=later, seed=3)
        served(bed.client.do("read-at", uri=later, seed=3))
    finally:
        _upgrade(bed, "finalize")
    eventually(lambda: not _trash(bed), what="an empty trash")
    cells("rolling upgrade", kept)
