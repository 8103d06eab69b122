# SPDX-License-Identifier: GPL-2.0-or-later
"""A client with vRead asks the NameNode what a stock client asks it, and nothing else.

A stock client needs no NameNode for a file that it has opened.  So a NameNode that hangs or is dead
must not be noticed by readers through vRead either, nor by readers that go on over TCP.
"""

import contextlib
import os
import signal
import socket

import pytest

from tests.support.audit_log import AuditLog
from tests.support.hadoop_bed import (
    BLAME,
    SERVED,
    WITHOUT_TOKENS,
    await_owners,
    served,
    two_hosts,
)
from tests.support.waiting import eventually
from tools.hdfs.native_code import libhadoop_dir
from tools.vreadd import stop_process

pytestmark = [pytest.mark.hadoop, WITHOUT_TOKENS]

REPLICAS = {
    "one": ["dn1"],
    "two": ["dn1", "dn2"],
    "one-and-peer": ["dn1", "dn3"],
    "peer": ["dn3"],
}
SMALL = {"folder": "/many", "size": 4096}
BLOCK = 64 << 10
# The NameNode describes ten blocks of this file in one answer.
FIFTY_BLOCKS = {"block": BLOCK, "size": 50 * BLOCK, "prefetch": 10 * BLOCK}


# ---- a NameNode that hangs or is dead ------------------------------------------


@pytest.fixture(scope="module")
def host(bed, tmp_path_factory):
    """A vreadd with dn1 and dn2, and a peer with dn3; and a client of this vreadd."""
    folder = tmp_path_factory.mktemp("two-hosts")
    with (
        two_hosts(bed, folder) as vreadd,
        bed.another_client(folder, bed.properties(endpoint=vreadd.endpoint)) as client,
    ):
        yield vreadd, client


@contextlib.contextmanager
def no_namenode(hdfs, fate):
    if fate == "hangs":
        pid = hdfs.pids["namenode"]
        stop_process(pid)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)
    else:
        hdfs.namenode.kill()
        try:
            yield
        finally:
            hdfs.start_namenode()


@contextlib.contextmanager
def no_vreadd(bed, vreadd, client):
    vreadd.kill()
    try:
        yield
    finally:
        vreadd.start()
    await_owners(vreadd)
    bed.wait_until_served(client)


@pytest.mark.parametrize("backend", ["serves", "killed"])
@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize("fate", ["hangs", "dead"])
def test_open_files_are_read_without_the_namenode(bed, host, fate, replicas, backend):
    """Files are opened by both clients, and read to different points.  Then the NameNode goes away,
    and in some tests vreadd, too.  Both clients must read on, and a file that is opened meanwhile
    must have the same fate with both."""
    vreadd, client = host
    said = len(client.logged())
    name = f"/without-namenode-{fate}-{replicas}-{backend}"
    wanted = {"on": REPLICAS[replicas], "size": 700_001, "block": 256 << 10}
    begun = client.do("outage-begin", name=name, **wanted)
    assert "fallback.blocks" not in begun["stats"], begun
    with contextlib.ExitStack() as stack:
        if backend == "killed":
            stack.enter_context(no_vreadd(bed, vreadd, client))
        with no_namenode(bed.hdfs, fate):
            answer = client.do("outage-read", gone=fate == "dead")
        opening = client.do("outage-end")["opening"]
        log = client.logged()[said:]
    by_stock, by_vread = (_outcomes(answer, by) for by in ("stock", "vread"))
    assert all(each["calls"] == [] and each["dead"] == 0 for each in by_stock.values()), by_stock
    assert by_vread == by_stock
    if backend == "serves":
        read = sum(each["bytes"] for each in by_vread.values())
        served({"bytes": read, "stats": answer["stats"]})
    for outcome in (answer["opening"], opening):
        assert outcome["vread"]["calls"] == outcome["stock"]["calls"] != []
        assert outcome["vread"].get("bytes") == outcome["stock"].get("bytes")
    assert ("bytes" in opening["stock"]) == (fate == "hangs")
    assert not BLAME.search(log), log


def _outcomes(answer, by):
    return {
        key.removeprefix(f"{by} "): outcome
        for key, outcome in answer["outcomes"].items()
        if key.startswith(by)
    }


# ---- how often it is asked ------------------------------------------------------


@pytest.fixture(scope="module")
def many_files(bed):
    bed.client.do("write-many", count=1500, on=SERVED, **SMALL)


@pytest.fixture(scope="module", params=["tcp", "short-circuit"])
def counted(request, bed, tmp_path_factory):
    """(client, check): clients without and with short-circuit reads in their configuration, and
    what an answer of the client must pass."""
    folder = tmp_path_factory.mktemp("counted")
    if request.param == "tcp":
        with bed.another_client(folder) as client:
            yield client, served
        return
    # The plug-in then looks which blocks have a replica on this machine.  Nobody listens there.
    (folder / "socket").touch()
    properties = {
        "dfs.client.read.shortcircuit": "true",
        "dfs.domain.socket.path": folder / "socket",
    }
    with bed.another_client(
        folder,
        bed.properties() | properties,
        java_options=[f"-Djava.library.path={libhadoop_dir()}"],
    ) as client:
        yield client, lambda answer: None


def questions(bed, counted, path, scenario, **arguments):
    """How often each client calls getBlockLocations for files of that path."""
    client, check = counted
    found = {}
    for by in ("stock", "vread"):
        audit = AuditLog(bed.hdfs)
        answer = client.do(scenario, by=by, **arguments)
        found[by] = len(audit.locations(path))
    check(answer)
    return found


def test_calls_for_small_files(bed, many_files, counted):
    found = questions(bed, counted, "/many/", "read-many", count=600, **SMALL)
    assert found == {"stock": 600, "vread": 600}


def test_calls_by_a_file_context(bed, counted):
    few = {"folder": "/in-a-context", "count": 20}
    bed.client.do("write-many", on=SERVED, **few)
    found = questions(bed, counted, "/in-a-context/", "read-many-in-context", **few)
    assert found == {"stock": 20, "vread": 20}


def test_calls_for_open_files(bed, many_files, counted):
    """As many files are open as a RegionServer of HBase has."""
    found = questions(bed, counted, "/many/", "pread-many-held", count=1500, **SMALL)
    assert found == {"stock": 1500, "vread": 1500}


def test_calls_for_a_file_of_many_blocks(bed, counted):
    file = {"file": "/fifty-blocks", **FIFTY_BLOCKS}
    bed.client.do("write", on=SERVED, **file)
    found = questions(bed, counted, "/fifty-blocks", "read-blocks", **file)
    assert found["stock"] >= 5
    assert found["vread"] == found["stock"]


def test_calls_for_positioned_reads(bed, counted):
    file = {"file": "/thousand-reads", "size": 500_000}
    bed.client.do("write", on=SERVED, **file)
    found = questions(bed, counted, "/thousand-reads", "preads", count=1000, **file)
    assert found == {"stock": 1, "vread": 1}


# ---- which NameNode is asked ------------------------------------------------------


@pytest.fixture
def hanging():
    """A socket that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def _was_called(listening):
    try:
        listening.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.mark.parametrize("default", ["hdfs", "file"])
def test_default_file_system_is_another(bed, tmp_path, hanging, default):
    """A file is read by its whole URI, and the configured file system is a cluster that hangs, or
    no HDFS.  Nothing may be asked there."""
    port = hanging.getsockname()[1]
    uri = {"hdfs": f"hdfs://127.0.0.1:{port}", "file": "file:///"}[default]
    file = {"uri": f"{bed.hdfs.uri}/by-its-uri"}
    bed.client.do("write-at", replicas=3, **file)
    with bed.another_client(tmp_path) as client:
        client.send("read-at", default=uri, **file)
        called = eventually(lambda: _was_called(hanging) or (client.answered() and "no"))
        assert called == "no"
        served(client.receive("read-at"))
