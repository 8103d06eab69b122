# SPDX-License-Identifier: GPL-2.0-or-later
"""The stock client, with vRead in its configuration, must read the same bytes as without, in every
way of reading.  The plug-in's counters must say that the bytes came through vRead, or why not."""

import pytest

from tests.support.hadoop_bed import BLOCK_SIZE, ONE_COLUMN, SERVED, by_tcp, served
from tests.support.waiting import eventually
from tools.hdfs.plug_in import BUILDER_ALONE

pytestmark = pytest.mark.hadoop

WAYS = (
    "1m", "4k", "odd", "bytes", "fully", "heap-buffer", "direct-buffer", "pread", "pread-fully",
    "pread-heap-buffer", "pread-direct-buffer", "vectored", "vectored-direct", "pool", "seek",
    "skip", "unbuffer", "end",
)  # fmt: skip


def test_every_way_is_tried(bed):
    assert tuple(bed.client.do("ways")["ways"]) == WAYS


@pytest.mark.parametrize("way", WAYS)
def test_ways_of_reading(bed, way):
    answer = bed.client.do("read", way=way)
    served(answer)
    assert answer["stats"]["vread.bytes"] == answer["stats"]["hdfs.bytes"]


def test_mistakes_of_the_application(bed):
    """The application asks for a range outside its array, or for a read-only buffer.  The client
    must throw what the stock client throws, and the stream must read on through vRead, so no
    datanode was blamed."""
    stock = bed.client.do("mistakes", by="stock")
    vread = bed.client.do("mistakes", by="vread")
    assert vread["outcomes"] == stock["outcomes"]
    assert vread["outcomes"]["read 10 at -1"] == "java.lang.IndexOutOfBoundsException"
    served(vread)


@pytest.mark.parametrize(
    "scenario",
    ["threads-of-one-client", "threads-on-one-stream", "several-clients", "client-after-client"],
)
def test_many_at_a_time(bed, scenario):
    served(bed.client.do(scenario))


@pytest.mark.parametrize("threshold", [0, 60_000])
def test_hedged(bed, threshold):
    """Hedged reads: cancelling one of two equal reads must not harm any other read.  A second
    attempt that begins while vRead reads the block must be left to the stock client."""
    with bed.unharmed():
        answer = bed.client.do("hedged", threshold=threshold)
    stats = answer["stats"]
    refused = stats.get("fallback.blocks", 0)
    assert refused == stats.get("fallback.reasons.hedge", 0), answer
    assert (answer["hedges"] > 0) == (threshold == 0)
    if threshold:
        assert not refused and stats["vread.bytes"] >= answer["bytes"], answer


@pytest.mark.parametrize(
    "on", [["dn1"], ["dn2"], ["dn1", "dn3"], ["dn3", "dn2", "dn1"]], ids="-".join
)
def test_a_replica_here_is_enough(bed, on):
    name = f"/on-{'-'.join(on)}"
    bed.client.do("write", file=name, on=on)
    where = bed.client.do("blocks", file=name)["blocks"]
    wanted = {bed.hdfs.datanode(each).address for each in on}
    assert all(set(block["locations"]) == wanted for block in where)
    served(bed.client.do("read", file=name))
    served(bed.client.do("read", file=name, way="pread"))


def test_no_replica_here(bed):
    """All replicas are on a datanode that vreadd does not serve.  All bytes must come by TCP."""
    bed.client.do("write", file="/elsewhere", on=["dn3"])
    for way in ("1m", "pread", "4k"):
        by_tcp(bed.client.do("read", file="/elsewhere", way=way), "ENODEV", "ENOENT")


@ONE_COLUMN
def test_every_data_directory_is_read(bed):
    """Files are read whose blocks must lie in both data directories of both datanodes."""
    read = set()
    for number in range(4):
        for name in SERVED:
            file = f"/directories-{name}-{number}"
            bed.client.do("write", file=file, on=[name], size=3 << 20)
            served(bed.client.do("read", file=file))
            for block in bed.hdfs.blocks(file):
                read |= set(block.storage_ids)
    assert read == {storage for name in SERVED for storage in bed.hdfs.datanode(name).storage_ids()}


def test_statistics(bed):
    """HDFS must count bytes read through vRead as it counts short-circuit reads: local, not
    remote."""
    answer = bed.client.do("statistics")
    size = answer["bytes"]
    stock, vread = answer["stock"], answer["vread"]
    assert stock["total"] == vread["total"] == size
    assert vread["remote"] == 0
    assert vread["zero_copy"] == 0
    for counted in (stock, vread):
        assert counted["bytesRead"] == size
        assert counted["bytesReadLocalHost"] == size, "client and datanodes are on one host"
        assert counted["bytesReadDistanceOfOneOrTwo"] == 0
        assert counted["bytesReadDistanceOfThreeOrFour"] == 0
        assert counted["bytesReadDistanceOfFiveOrLarger"] == 0


def test_shell(bed):
    served(bed.client.do("shell-cat"))


@ONE_COLUMN
def test_dfsio(bed, tmp_path):
    answer = bed.client.do("dfsio", scratch=str(tmp_path), files=2, mib=4)
    # The runner reads its own small files just after it wrote them, so these may come by TCP.
    assert answer["stats"]["vread.bytes"] >= answer["bytes"]


def test_sizes(bed):
    served(bed.client.do("sizes"))


@pytest.mark.parametrize(
    ("kind", "chunk"),
    [("CRC32", 512), ("CRC32C", 4096), ("CRC32", 65536), ("CRC32C", 8), ("NULL", 512)],
)
def test_checksums(bed, kind, chunk):
    answer = bed.client.do("checksums", type=kind, chunk=chunk)
    if kind == "NULL" or chunk < 16:
        by_tcp(answer, "EOPNOTSUPP")
    else:
        served(answer)


def test_unverified(bed):
    """A client with checksums switched off must get the same bytes."""
    served(bed.client.do("unverified"))


@ONE_COLUMN
def test_encryption_zone(bed):
    served(bed.client.do("encryption-zone"))


def test_erasure_coded(bed):
    """vreadd serves two of the three internal blocks.  Those of dn3, unless they are parity, must
    come by TCP in the same read."""
    answer = bed.client.do("erasure-coded")
    assert answer["stats"]["vread.bytes"] > 0
    told = {name for name in answer["stats"] if name.startswith("fallback.reasons.")}
    assert told <= {"fallback.reasons.ENODEV", "fallback.reasons.ENOENT"}, answer
    assert "vread.failures" not in answer["stats"]


def test_file_context(bed):
    served(bed.client.do("file-context"))


def test_the_builder_alone(bed, tmp_path):
    """Without block tokens vRead reads a file once the NameNode was asked in another thread."""
    with bed.another_client(tmp_path, bed.properties() | BUILDER_ALONE) as client:
        bed.wait_until_served(client)
        for way in ("1m", "pread"):
            served(client.do("read", way=way))


def test_snapshot(bed):
    served(bed.client.do("snapshot"))


def test_fsck(bed):
    """fsck's report must be the same before and after a read through vRead."""
    bed.client.do("write", file="/fsck")
    before = bed.hdfs.fsck("/fsck")
    served(bed.client.do("read", file="/fsck"))
    after = bed.hdfs.fsck("/fsck")
    assert "is HEALTHY" in after
    assert _without_times(before) == _without_times(after)


def _without_times(report):
    return [line for line in report.splitlines() if "FSCK" not in line]


def _shares(bed, client):
    """[(pool pages, queues)] of the client's connections to vreadd."""
    return [
        (device["pool_pages"], device["num_queues"])
        for device in bed.vreadd.status()["devices"]
        if device.get("pid") == client.pid
    ]


@ONE_COLUMN
def test_a_process_takes_its_share_of_the_pool_by_need(bed, tmp_path):
    """Nothing before the first read, 128 KiB and one queue with it, the full share when the process
    has read a mebibyte."""
    with bed.another_client(tmp_path) as client:
        client.do("write", file="/by-need", size=200_000)
        assert _shares(bed, client) == []
        served(client.do("read", file="/by-need"))
        assert _shares(bed, client) == [(32, 1)]
        client.do("write", file="/by-need-more", size=3 * BLOCK_SIZE)
        served(client.do("read", file="/by-need-more"))
        eventually(lambda: _shares(bed, client)[0][0] == 1024, what="the full share")
