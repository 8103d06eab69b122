# SPDX-License-Identifier: GPL-2.0-or-later
"""Replicas in the memory of a guest, which no host can read (storage policy LAZY_PERSIST).  Such a
datanode has no publisher: it refuses to work on a datanode with a storage of type RAM_DISK."""

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.feature_table import check_cell
from tests.support.hadoop_bed import LOCKING, MODES, hadoop_bed, native_options, served

pytestmark = [pytest.mark.hadoop, pytest.mark.slow]


@pytest.fixture
def memory():
    folder = Path(tempfile.mkdtemp(prefix="vread-ram-disk-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def test_lazy_persist(tmp_path, memory, record_property):
    """A file in memory is read by the stock client, and one on the same datanode's disk by vRead,
    also while the datanode saves the blocks in memory to its disk."""

    def prepare(cluster):
        for datanode in cluster.datanodes:
            datanode.more_dirs = [f"[RAM_DISK]file://{memory / datanode.name}"]

    with hadoop_bed(
        MODES[0],
        tmp_path,
        prepare=prepare,
        conf=LOCKING,
        names=["dn1"],
        datanodes=1,
        replication=1,
        java_options=native_options(),
    ) as bed:
        # Hadoop 3.4.3 itself does not read what ends in the middle of a chunk of its checksums: the
        # last checksum of such a block in memory is not in its file.
        lazy = {"uri": "/lazy/file", "size": 5 << 19}
        bed.client.do("write-at", policy="LAZY_PERSIST", lazy=True, replicas=1, **lazy)
        assert bed.client.do("where-at", uri="/lazy/file")["types"] == ["RAM_DISK"]
        check_cell(record_property, "storage type RAM_DISK", "3.4.3", bed.client, **lazy)
        bed.client.do("write-at", uri="/usual", seed=2, replicas=1)
        served(bed.client.do("read-at", uri="/usual", seed=2))
        check_cell(record_property, "storage type RAM_DISK", "3.4.3", bed.client, **lazy)
