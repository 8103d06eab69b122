# SPDX-License-Identifier: GPL-2.0-or-later
"""Mistakes that users of other programs reported about the same parts of the stock client, tried
here: stock beside vRead.  Each test names the kind of mistake and a report of it."""

import pytest

from tests.support.audit_log import AuditLog
from tests.support.hadoop_bed import ONE_COLUMN, WITHOUT_TOKENS, served
from tests.support.tiers import slow
from tests.support.waiting import eventually

pytestmark = pytest.mark.hadoop

VIEW = "org.apache.hadoop.hdfs.ViewDistributedFileSystem"
VIEW_ALONE = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"


def both(bed, scenario, **arguments):
    return [bed.client.do(scenario, by=by, **arguments) for by in ("stock", "vread")]


def results(answer):
    return {name: answer[name] for name in answer if name != "stats"}


def test_configuration_that_wraps_another(bed):
    """A library that copies a Configuration loses the properties of a subclass that keeps them
    elsewhere (https://github.com/prestodb/presto/issues/17736, also 25404)."""
    stock, vread = both(bed, "wrapped-configuration", replication=1)
    assert stock["replication"] == 1
    assert results(vread) == results(stock)
    served(vread)


def test_configuration_that_wraps_another_of_a_file_context(bed):
    """A library that copies a Configuration loses the properties of a subclass that keeps them
    elsewhere: by FileContext."""
    stock, vread = both(bed, "wrapped-file-context")
    assert results(vread) == results(stock)
    served(vread)


def test_stream_that_outlives_its_file_system(bed, tmp_path):
    """A stream is closed after its file system, and keeps its block reader for ever
    (https://github.com/apache/hadoop/pull/8690, HDFS-17965).  What the application sees must be
    as with the stock client, and nothing may stay open at vreadd."""
    bed.client.do("write", file="/outlives", on=["dn1"])
    bed.client.do("write", file="/outlives-other", on=["dn1"], size=1000)
    with bed.another_client(tmp_path) as client:
        stock, vread = (
            client.do("closed-file-system", by=by, file="/outlives") for by in ("stock", "vread")
        )
        assert results(vread) == results(stock)
        assert not vread["left"]
        assert vread["stats"]["vread.bytes"] >= vread["bytes"]
        eventually(lambda: open_besides(bed, client) == 0, what="the block closed at vreadd")


def open_besides(bed, client):
    """How many blocks the client has open besides one that it reads all the time.  A client that
    reads nothing would give all of them back.  A connection that comes or goes has no counters."""
    served(client.do("read-kept-stream", file="/outlives-other", size=1000))
    open_blocks = [
        device["counters"]["open_handles"]
        for device in bed.vreadd.status()["devices"]
        if device.get("pid") == client.pid and "counters" in device
    ]
    return sum(open_blocks) - 1


def test_names_of_a_file(bed):
    """Locations are remembered by the name that a file was opened by, and it has many: inode paths,
    raw paths, path handles that follow a rename (HDFS-7878,
    https://github.com/cryptomator/cryptofs/issues/36)."""
    stock, vread = both(bed, "names")
    assert vread["names"] == stock["names"]
    assert vread["refused"] == stock["refused"]
    served(vread)


@pytest.mark.parametrize("view", [VIEW, VIEW_ALONE], ids=["distributed", "overload-scheme"])
def test_mount_table_over_hdfs(bed, view):
    """fs.hdfs.impl names Hadoop's mounting file system, which makes the file systems of its targets
    itself (https://github.com/apache/hadoop/pull/1988, HDFS-15289, HDFS-15533).  With vRead as
    the class of the targets, all is read through vRead."""
    stock, vread = both(bed, "mounted", file="/to-be-mounted/file", **{"class": view})
    assert results(vread) == results(stock)
    served(vread)


@ONE_COLUMN
@pytest.mark.parametrize("kind", ["FileSystem", *slow("FileContext")])
def test_clients_of_users_are_collected(bed, kind):
    """A file system for each user or job fills the memory if anything refers to it after its end
    (https://github.com/apache/uniffle/issues/772, SPARK-41599, HIVE-9234).  A FileContext has no
    end at all (https://github.com/Alluxio/alluxio/issues/18479, HADOOP-18476)."""
    bed.client.do("write", file="/for-guests", on=["dn1"], size=200_000)
    stock, vread = both(bed, "users-come-and-go", file="/for-guests", count=30, kind=kind)
    assert stock["left"] == 0
    assert results(vread) == results(stock)
    served(vread)


@WITHOUT_TOKENS
def test_locations_of_a_listing(bed):
    """From 3.5.1 on Hadoop opens a file with the locations in its status, so that the answer that
    vRead sees is the listing's (HDFS-17593, https://github.com/apache/hadoop/pull/8561,
    https://github.com/apache/accumulo/pull/6460).  A listing has no block tokens: where they are
    required, the stock client asks for them."""
    bed.client.do("write", file="/listed", on=["dn1"], size=200_000)
    calls = {}
    for by in ("stock", "vread"):
        audit = AuditLog(bed.hdfs)
        answer = bed.client.do("listed", by=by, file="/listed", size=200_000)
        calls[by] = len(audit.locations("/listed"))
    if not bed.mode.tokens:
        served(answer)
    assert calls["vread"] == calls["stock"]
