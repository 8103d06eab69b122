# SPDX-License-Identifier: GPL-2.0-or-later
"""The stock client reads blocks of a datanode on another host through the vreadd of its own host,
and files with blocks on both hosts.  Both hosts are simulated on this machine.

The tests run without and with block tokens.  A token names the storages of a block; without tokens
the plug-in must find them out.  With tokens, the other datanode gives its keys to the vreadd of its
host, which then requires a token for every block, also from clients of this host.
"""

import contextlib
import errno

import pytest

from tests.libvread import vreadlib
from tests.support.daemon import REPOSITORY
from tests.support.hadoop_bed import BLOCK_SIZE, PATIENCE, SOON, known, publishing_to, served
from tests.support.hadoop_client import JAR, HadoopClient, vread_properties
from tests.support.peers import free_address
from tests.support.slowing import NarrowLink
from tests.support.tiers import slow
from tests.support.waiting import eventually
from tools.hdfs import HdfsCluster
from tools.peers import Authority, peer
from tools.vreadd import Vreadd

pytestmark = pytest.mark.hadoop

HERE, THERE = "dn1", "dn2"
BLOCKS = 6
ANSWER_TIMEOUT_MS = 30_000  # between sanitized vreadds on a busy machine


@contextlib.contextmanager
def whole_hosts(folder, cluster, tokens):
    """Starts the cluster and both hosts' vreadds; yields the vreadds (here, there) and the link
    between them.  The other host's vreadd announces its storages by itself."""
    authority = Authority(folder)
    address = free_address()
    link = NarrowLink(free_address(), address)
    patient = {"answer_timeout": ANSWER_TIMEOUT_MS}
    there = Vreadd(
        cluster.served(THERE),
        "asan",
        publish=(THERE,) if tokens else (),
        sections=authority.host("there", listen=address, **patient)
        + peer("here", allow_datanodes=THERE),
    )
    here = Vreadd(
        cluster.served(HERE),
        "asan",
        sections=authority.host("here", **patient)
        + peer("there", address=link.address, datanodes=THERE),
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(link)
        if tokens:
            stack.enter_context(there)
            cluster.datanode(THERE).conf = publishing_to(there.endpoint)
        cluster.start()
        if tokens:
            eventually(lambda: known(tokens_there(there)), SOON)
        else:
            stack.enter_context(there)
        stack.enter_context(here)
        yield here, there, link


def tokens_there(there):
    (datanode,) = there.status()["datanodes"]
    return datanode["tokens"]


@pytest.fixture(scope="module", params=[*slow(False), True], ids=["plain", "tokens"])
def hosts(request, tmp_path_factory):
    """(cluster, vreadd here, vreadd there, a client here, the link between the vreadds)"""
    folder = tmp_path_factory.mktemp("remote")
    cluster = HdfsCluster(
        folder / "hdfs",
        version="3.4.3",
        block_size=BLOCK_SIZE,
        datanodes=2,
        live=True,
        disk_mib=512,
        class_path=[JAR] if request.param else [],
        java_options=["-XX:TieredStopAtLevel=1"],
        conf={"dfs.block.access.token.enable": str(request.param).lower()},
    )
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.stop)
        cluster.attach_disks()
        here, there, link = stack.enter_context(whole_hosts(folder, cluster, request.param))
        client = HadoopClient(
            cluster,
            vread_properties(here.endpoint, **PATIENCE),
            folder / "client.log",
            publishers=[THERE] if request.param else (),
        )
        stack.enter_context(client)
        eventually(lambda: there_in(here)["storages"] > 0, SOON)
        yield cluster, here, there, client, link


def there_in(here):
    (status,) = here.status()["peers"]["peers"]
    return status


def remote_bytes(vreadd):
    return vreadd.status()["totals"]["remote"]["bytes"]


@pytest.mark.parametrize("way", ["1m", "pread", "4k", "vectored"])
def test_a_file_of_another_host(hosts, way):
    _, here, _, client, _ = hosts
    file = f"/there-{way}"
    client.do("write", file=file, on=[THERE], size=BLOCKS * BLOCK_SIZE)
    before = remote_bytes(here)
    answer = client.do("read", file=file, way=way)
    served(answer)
    assert remote_bytes(here) - before >= answer["bytes"]
    assert there_in(here)["encrypted"] == 0, "the NameNode wants no encryption"


@pytest.mark.parametrize(
    "properties",
    [{"dfs.encrypt.data.transfer": "true"}, {"dfs.data.transfer.protection": "integrity"}],
)
def test_a_client_that_must_protect(hosts, tmp_path, properties):
    """The client is configured to encrypt, or to have MACs: all bytes of the other host must come
    by TLS, since the hosts have agreed to no frames with a MAC."""
    cluster, here, _, client, _ = hosts
    file = {"file": "/encrypt", "on": [THERE], "size": BLOCK_SIZE}
    client.do("write", **file)
    properties = vread_properties(here.endpoint, **PATIENCE) | properties
    before = there_in(here)
    with HadoopClient(cluster, properties, tmp_path / "client.log") as encrypting:
        served(encrypting.do("read", **file))
    after = there_in(here)
    grown = {key: after[key] - before[key] for key in ("bytes", "encrypted")}
    assert grown["encrypted"] == grown["bytes"] >= BLOCK_SIZE


def test_half_here_and_half_there(hosts):
    cluster, here, _, client, _ = hosts
    storages = {name: set(cluster.datanode(name).storage_ids()) for name in (HERE, THERE)}
    for attempt in range(8):  # the NameNode chooses
        file = f"/half-{attempt}"
        client.do("write", file=file, size=BLOCKS * BLOCK_SIZE)
        where = [set(block.storage_ids) for block in cluster.blocks(file)]
        there = sum(1 for ids in where if ids <= storages[THERE])
        if 0 < there < len(where):
            break
    assert 0 < there < len(where) == BLOCKS
    before = here.status()["totals"]
    served(client.do("read", file=file))
    after = here.status()["totals"]
    assert after["remote"]["bytes"] - before["remote"]["bytes"] >= there * BLOCK_SIZE
    assert after["bytes"] - before["bytes"] >= BLOCKS * BLOCK_SIZE


def test_tokens_are_checked_over_there(hosts):
    cluster, here, there, client, _ = hosts
    if not known(tokens_there(there)):
        pytest.skip("no tokens in this column")
    client.do("write", file="/tokens", on=[THERE], size=BLOCK_SIZE)
    before = tokens_there(there)
    served(client.do("read", file="/tokens"))
    after = tokens_there(there)
    assert after["valid"] > before["valid"]
    assert after["refused"] == before["refused"]
    (block,) = cluster.blocks("/tokens")
    lib = vreadlib.load(REPOSITORY / "build/release/libvread.so.1")
    with vreadlib.Connection(lib, here.endpoint) as connection:
        for token, reason in ((None, "missing"), (b"\x05", "malformed")):
            with pytest.raises(OSError) as raised:
                connection.open(
                    block.pool, block.block_id, block.genstamp, 0, block.storage_ids, token
                )
            assert raised.value.errno == errno.EPERM
            assert tokens_there(there)["refused"][reason] > before["refused"].get(reason, 0)


def test_the_other_host_goes_and_comes_back(hosts):
    """The other host's vreadd is killed and restarted.  Meanwhile reads must go on by TCP without
    blaming a datanode; afterwards they must go through vRead again."""
    _, here, there, client, _ = hosts
    client.do("write", file="/goes", on=[THERE], size=2 * BLOCK_SIZE)
    served(client.do("read", file="/goes"))
    health = client.do("health")
    there.kill()
    answer = client.do("read", file="/goes")
    assert answer["bytes"] == answer["stock_bytes"]
    assert answer["stats"].get("vread.bytes", 0) < answer["bytes"]
    assert {k: client.do("health")[k] for k in ("dead", "corrupt")} == {
        k: health[k] for k in ("dead", "corrupt")
    }
    there.start()
    eventually(
        lambda: (
            "fallback.blocks" not in (stats := client.do("read", file="/goes")["stats"])
            and stats.get("vread.bytes", 0) >= 2 * BLOCK_SIZE
        ),
        SOON,
    )


def test_a_congested_link(hosts, tmp_path):
    """The link between the hosts hardly lets bytes through, while the datanode answers at once:
    blocks of the other host must be left to the stock client, those of this host must not."""
    cluster, here, _, client, link = hosts
    there, near = ({"file": f"/congested-{name}", "on": [name]} for name in (THERE, HERE))
    for file in (there, near):
        client.do("write", size=2 * BLOCK_SIZE, **file)
    properties = vread_properties(here.endpoint, **PATIENCE, compete="true")
    with HadoopClient(cluster, properties, tmp_path / "client.log") as competing:

        def read(file):
            answer = competing.do("read", way="pread", **file)
            assert answer["bytes"] == answer["stock_bytes"]
            return answer["stats"]

        def is_left():
            return read(there).get("fallback.reasons.slower", 0) > 0

        link.rate = 1_000_000
        try:
            eventually(is_left, SOON, what="blocks of the other host left to the stock client")
        finally:
            link.rate = None
        assert "fallback.blocks" not in read(near)
