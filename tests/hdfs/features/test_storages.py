# SPDX-License-Identifier: GPL-2.0-or-later
"""Storages of several types in one datanode, blocks in its cache, and volumes that come and go
while the datanode runs."""

import json

import pytest

from tests.support.feature_table import needs_locked_memory
from tests.support.hadoop_bed import served
from tests.support.waiting import eventually

pytestmark = [pytest.mark.hadoop, pytest.mark.slow]


@pytest.mark.parametrize(
    ("policy", "type"), [("HOT", "DISK"), ("ALL_SSD", "SSD"), ("COLD", "ARCHIVE")]
)
def test_storage_policies(bed, cells, policy, type):
    uri = f"{bed.hdfs.uri}/policy-{policy}/file"
    bed.client.do("write-at", uri=uri, policy=policy)
    assert bed.client.do("where-at", uri=uri)["types"] == [type]
    cells(f"storage type {type}", uri)


def test_one_replica_on_ssd(bed, cells):
    uri = f"{bed.hdfs.uri}/policy-one-ssd/file"
    bed.client.do("write-at", uri=uri, policy="ONE_SSD")
    assert bed.client.do("where-at", uri=uri)["types"] == ["DISK", "SSD"]
    cells("replicas on storages of other types", uri)


def test_centralised_cache(bed, cells, record_property):
    needs_locked_memory(record_property, "cacheadmin", bed.mode.version)
    uri = f"{bed.hdfs.uri}/cached"
    bed.client.do("write-at", uri=uri)
    for words in (["-addPool", "pool"], ["-addDirective", "-path", "/cached", "-pool", "pool"]):
        bed.client.do("shell", program="cacheadmin", words=words)

    def is_cached():
        found = bed.client.do("where-at", uri=uri)
        return found["cached"] == len(found["blocks"])

    eventually(is_cached, what="all blocks cached")
    cells("cacheadmin", uri)
    bed.client.do("shell", program="cacheadmin", words=["-removePool", "pool"])


def _volumes(bed):
    """The data directories that dn1 uses."""
    found = bed.hdfs.jmx("dn1", "Hadoop:service=DataNode,name=DataNodeInfo")["VolumeInfo"]
    return len(json.loads(found))


def _reconfigure(bed, dirs, volumes):
    bed.hdfs.reconfigure_datanode("dn1", dirs)
    ipc = f"127.0.0.1:{bed.hdfs.datanode('dn1').ports[2]}"
    bed.client.do("shell", program="dfsadmin", words=["-reconfig", "datanode", ipc, "start"])
    eventually(lambda: _volumes(bed) == volumes, what=f"dn1 with {volumes} volumes")


def test_hot_swap(bed, cells):
    """dn1 loses a volume that has a replica of a file, and gets the volume back."""
    uri = f"{bed.hdfs.uri}/policy-swap/file"
    bed.client.do("write-at", uri=uri, policy="COLD")
    all_of_it = _volumes(bed)
    with bed.unharmed():
        cells("volume hot swap", uri)
        _reconfigure(bed, 2, all_of_it - 1)
        cells("volume hot swap", uri)
        _reconfigure(bed, 3, all_of_it)
        cells("volume hot swap", uri)
    bed.client.do("write-at", uri=f"{uri}-later", seed=2)
    served(bed.client.do("read-at", uri=f"{uri}-later", seed=2))
