# SPDX-License-Identifier: GPL-2.0-or-later
"""Replicas in the memory of a guest, which no host can read (storage policy LAZY_PERSIST).  Such a
datanode has no publisher: it refuses to work on a datanode with a storage of type RAM_DISK."""

import dataclasses
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.feature_table import check_cell, needs_locked_memory
from tests.support.hadoop_bed import MODES, hadoop_bed, locking, served

pytestmark = [pytest.mark.hadoop, pytest.mark.slow]


@pytest.fixture
def memory():
    folder = Path(tempfile.mkdtemp(prefix="vread-ram-disk-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("version", sorted({mode.version for mode in MODES}))
def test_lazy_persist(version, tmp_path, memory, record_property):
    """A file in memory is read by the stock client, and one on the same datanode's disk by vRead,
    also while the datanode saves the blocks in memory to its disk."""
    feature = "storage type RAM_DISK"
    needs_locked_memory(record_property, feature, version)

    def prepare(cluster):
        for datanode in cluster.datanodes:
            datanode.more_dirs = [f"[RAM_DISK]file://{memory / datanode.name}"]

    with hadoop_bed(
        dataclasses.replace(MODES[0], version=version),
        tmp_path,
        prepare=prepare,
        names=["dn1"],
        datanodes=1,
        replication=1,
        **locking(version),
    ) as bed:
        # Hadoop itself does not read what ends in the middle of a chunk of its checksums: the
        # last checksum of such a block in memory is not in its file.
        lazy = {"uri": "/lazy/file", "size": 5 << 19}
        bed.client.do("write-at", policy="LAZY_PERSIST", lazy=True, replicas=1, **lazy)
        assert bed.client.do("where-at", uri="/lazy/file")["types"] == ["RAM_DISK"]
        check_cell(record_property, feature, version, bed.client, **lazy)
        bed.client.do("write-at", uri="/usual", seed=2, replicas=1)
        served(bed.client.do("read-at", uri="/usual", seed=2))
        check_cell(record_property, feature, version, bed.client, **lazy)
