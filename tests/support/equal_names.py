# SPDX-License-Identifier: GPL-2.0-or-later
"""Live clusters whose blocks have names that other blocks have, too, and the vreadd that serves
their images; for the tests of such blocks in tests/hdfs.

    cluster = small_cluster(folder / "hdfs", datanodes=2)
    cluster.attach_disks()
    with serving(folder, cluster.served("dn1"), variant) as hosts:
        hosts.publish_from(cluster, "dn1")
        cluster.start()
        with hosts.client(cluster, folder / "log", "dn1") as client:
            wait_until_served(client)
"""

import contextlib
from dataclasses import dataclass

import pytest

from tests.support.hadoop_bed import BLOCK_SIZE, PATIENCE, publishing_to
from tests.support.hadoop_client import JAR, HadoopClient, vread_properties
from tests.support.peers import free_address
from tests.support.waiting import eventually
from tools.hdfs import HdfsCluster
from tools.peers import Authority, peer
from tools.vreadd import Vreadd

BEFORE = {"file": "/before", "on": ["dn1"], "size": BLOCK_SIZE}
ANSWER_TIMEOUT_MS = 30_000  # of the other host, on a busy machine


@dataclass(frozen=True)
class Variant:
    """far: another host serves the images.  publisher: the served datanodes have one."""

    far: bool = False
    publisher: bool = False


VARIANTS = [
    pytest.param(Variant(), id="here"),
    pytest.param(Variant(publisher=True), id="here-publisher", marks=pytest.mark.slow),
    pytest.param(Variant(far=True), id="far", marks=pytest.mark.slow),
    pytest.param(Variant(far=True, publisher=True), id="far-publisher"),
]


@dataclass(frozen=True)
class Hosts:
    """near: the vreadd of the client's host.  owner: the one that serves the images, perhaps the
    same."""

    near: Vreadd
    owner: Vreadd
    variant: Variant

    def publish_from(self, cluster, *names):
        """Before the start: makes these datanodes publish, in the variants with a publisher."""
        for name in names if self.variant.publisher else ():
            cluster.datanode(name).conf = publishing_to(self.owner.endpoint)

    def client(self, cluster, log, *publishing):
        """publishing: the datanodes of publish_from() that run."""
        return HadoopClient(
            cluster,
            vread_properties(self.near.endpoint, **PATIENCE),
            log,
            publishers=publishing if self.variant.publisher else (),
        )


def small_cluster(folder, datanodes):
    return HdfsCluster(
        folder,
        block_size=BLOCK_SIZE,
        datanodes=datanodes,
        live=True,
        disk_mib=256,
        class_path=[JAR],
        java_options=["-XX:TieredStopAtLevel=1"],
    )


@contextlib.contextmanager
def serving(folder, datanodes, variant):
    """Serves the datanodes, which are as a Vreadd takes them.  Yields the Hosts."""
    publish = list(datanodes) if variant.publisher else ()
    with contextlib.ExitStack() as stack:
        if not variant.far:
            near = stack.enter_context(Vreadd(datanodes, publish=publish))
            yield Hosts(near, near, variant)
            return
        authority = Authority(folder)
        address = free_address()
        patient = {"answer_timeout": ANSWER_TIMEOUT_MS}
        sections = authority.host("there", listen=address, **patient)
        sections += peer("here", allow_datanodes="*")
        owner = stack.enter_context(Vreadd(datanodes, publish=publish, sections=sections))
        sections = authority.host("here", **patient)
        sections += peer("there", address=address, datanodes="*")
        yield Hosts(stack.enter_context(Vreadd({}, sections=sections)), owner, variant)


def wait_until_served(client):
    """Waits until all of the file BEFORE, which the cluster has, is read through vRead."""
    eventually(
        lambda: "fallback.blocks" not in client.do("read", **BEFORE)["stats"],
        what="a block through vRead",
    )


def block_names(cluster, file):
    """What names the blocks of a file: pools, block ids and generation stamps."""
    return [(each.pool, each.block_id, each.genstamp) for each in cluster.blocks(file)]


def by_stock(answer):
    """Asserts that no byte came through vRead, for whatever reason."""
    assert answer["bytes"] > 0
    assert "vread.bytes" not in answer["stats"], answer
