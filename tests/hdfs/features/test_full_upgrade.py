# SPDX-License-Identifier: GPL-2.0-or-later
"""An upgrade for which all daemons are stopped.  Until its end, each data directory keeps its
previous state: the same blocks, as hard links.  The cluster can be rolled back to it."""

import pytest

from tests.support.feature_table import check_cell
from tests.support.hadoop_bed import VERSIONS, hadoop_bed
from tests.support.waiting import eventually

pytestmark = [pytest.mark.hadoop, pytest.mark.slow]

BLOCK = 1 << 20


@pytest.fixture(params=VERSIONS)
def bed(request, tmp_path):
    """vreadd keeps verified bytes: it reads the image with O_DIRECT."""
    with hadoop_bed(
        request.param,
        tmp_path,
        names=["dn1"],
        datanodes=1,
        data_dirs=1,
        replication=1,
        sections="image-mode = direct\n",
        # No client uses a connection to a NameNode that was started again.
        conf={"ipc.client.connection.maxidletime": "100"},
    ) as running:
        yield running


@pytest.fixture
def cell(bed, record_property):
    """cell(feature, ...) reads a file: a cell."""

    def check(feature, **file):
        check_cell(record_property, feature, bed.mode.version, bed.client, **file)

    return check


def _previous(bed):
    """Names of blocks in the previous state of the data directory."""
    (directory,) = bed.hdfs.datanode("dn1").data_dirs
    return {block.name for block in directory.glob("current/BP-*/previous/finalized/**/blk_*")}


def _block(bed, uri):
    (block,) = bed.client.do("where-at", uri=uri)["blocks"]
    return block


def test_upgrade(bed, cell):
    """Blocks are read that have a second name in the previous state, and blocks that were appended
    to since, for which the datanode makes a copy; also by a snapshot of the time of the upgrade."""
    feature = "upgrade, and snapshots meanwhile"
    kept, grown = ({"uri": f"/tree/{name}", "seed": 1} for name in ("kept", "grown"))
    for file in (kept, grown):
        bed.client.do("write-at", replicas=1, **file)
    bed.hdfs.upgrade()
    assert _block_names(bed, kept) <= _previous(bed)
    for program, words in (
        ("dfsadmin", ["-allowSnapshot", "/tree"]),
        ("dfs", ["-createSnapshot", "/tree", "s"]),
    ):
        bed.client.do("shell", program=program, words=words)
    longer = bed.client.do("append-at", more=200_000, **grown)
    snapshots = [
        file | {"uri": file["uri"].replace("/tree", "/tree/.snapshot/s")} for file in (kept, grown)
    ]
    grown["size"] = longer["bytes"]
    for file in (kept, grown, *snapshots):
        cell(feature, **file)
    bed.client.do("delete-at", uri=kept["uri"])
    cell(feature, **snapshots[0])
    # A NameNode tells a datanode that the upgrade has ended when the datanode reports its blocks.
    ipc = f"127.0.0.1:{bed.hdfs.datanode('dn1').ports[2]}"
    for words in (["-finalizeUpgrade"], ["-triggerBlockReport", ipc]):
        bed.client.do("shell", program="dfsadmin", words=words)
    eventually(lambda: not _previous(bed), what="no previous state")
    for file in (grown, *snapshots):
        cell(feature, **file)


def _block_names(bed, file):
    found = bed.client.do("where-at", uri=file["uri"])["blocks"]
    return {name.rpartition("_")[0] for name in found}


def test_rollback(bed, cell):
    """After a rollback the NameNode gives new blocks the names of blocks that the rollback has
    taken away: the same ids and generation stamps.  A reader must not get the bytes of those."""
    feature = "rollback of an upgrade"
    kept, taken, fresh = (
        {"uri": f"/{name}", "seed": seed, "size": BLOCK}
        for seed, name in enumerate(("kept", "taken", "fresh"))
    )
    bed.client.do("write-at", replicas=1, **kept)
    bed.hdfs.upgrade()
    bed.client.do("write-at", replicas=1, **taken)
    for _ in range(2):
        cell(feature, **taken)
    name = _block(bed, taken["uri"])
    assert bed.vreadd.status()["reading"]["cache"]["hits"] > 0
    bed.hdfs.roll_back()
    bed.client.do("write-at", replicas=1, **fresh)
    assert _block(bed, fresh["uri"]) == name
    for file in (fresh, kept):
        cell(feature, **file)
