# SPDX-License-Identifier: GPL-2.0-or-later
"""Two clusters with the same block names: the virtual machines of one were cloned.

The clone has the pool, cluster and namespace ids of the original.  Its datanodes and storages got
ids of their own, as operators do when two datanodes of one uuid are in use.  Both clusters go on
writing, and give out the same block ids and generation stamps.

One vreadd serves dn1 of both clusters.  Nobody serves dn2, so blocks on dn2 must come over TCP.
"""

import contextlib
from dataclasses import dataclass

import pytest

from tests.support.equal_names import (
    BEFORE,
    VARIANTS,
    Variant,
    block_names,
    by_stock,
    serving,
    small_cluster,
    wait_until_served,
)
from tests.support.hadoop_bed import BLOCK_SIZE, served
from tests.support.hadoop_client import HadoopClient

pytestmark = pytest.mark.hadoop

SERVED = "dn1"
NAMES = ("original", "clone")
SIZE = 2 * BLOCK_SIZE + 12345
# Where each cluster writes a file, the original first.
PLACES = [("dn1", "dn2"), ("dn2", "dn1"), ("dn1", "dn1"), ("dn2", "dn2")]


@contextlib.contextmanager
def original_and_clone(folder, new_ids=True):
    """Both clusters by name, not started, with the file BEFORE and with mounted disks."""
    original, clone = (small_cluster(folder / name, datanodes=2) for name in NAMES)
    with contextlib.ExitStack() as stack:
        for cluster in (original, clone):
            stack.callback(cluster.stop)
        with original, HadoopClient(original, {}, folder / "before.log") as client:
            client.do("write", **BEFORE)
        clone.clone(original, new_ids)
        original.attach_disks()
        yield {"original": original, "clone": clone}


def both_dn1(clusters):
    """The datanodes that vreadd serves."""
    return {f"{name}-dn1": cluster.datanode(SERVED).served for name, cluster in clusters.items()}


def file_at(places):
    return f"/{'-'.join(places)}"


def seed_of(name):
    """Files of one path have other bytes in each cluster."""
    return NAMES.index(name) + 1


@dataclass
class Clones:
    clusters: dict
    clients: dict

    def write_everywhere(self):
        """Writes a file for each of PLACES.  Its blocks must have the same names in both."""
        for places in PLACES:
            file = file_at(places)
            for place, name in zip(places, NAMES, strict=True):
                arguments = {"file": file, "on": [place], "size": SIZE, "seed": seed_of(name)}
                self.clients[name].do("write", **arguments)
            one, other = (block_names(cluster, file) for cluster in self.clusters.values())
            assert one == other


@pytest.fixture(scope="module", params=VARIANTS)
def clones(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clones")
    with contextlib.ExitStack() as stack:
        clusters = stack.enter_context(original_and_clone(folder))
        hosts = stack.enter_context(serving(folder, both_dn1(clusters), request.param))
        clients = {}
        for name, cluster in clusters.items():
            hosts.publish_from(cluster, SERVED)
            cluster.start()
            client = hosts.client(cluster, folder / f"{name}.log", SERVED)
            clients[name] = stack.enter_context(client)
            wait_until_served(client)
        found = Clones(clusters, clients)
        found.write_everywhere()
        yield found


@pytest.mark.parametrize("way", ["1m", "pread"])
@pytest.mark.parametrize("places", PLACES, ids="-".join)
@pytest.mark.parametrize("name", NAMES)
def test_each_reads_its_own_bytes(clones, name, places, way):
    """The client compares the bytes.  A replica of the other cluster must not be read, even if it
    is the only one that vreadd serves."""
    answer = clones.clients[name].do("read", file=file_at(places), way=way)
    if places[NAMES.index(name)] == SERVED:
        served(answer)
    else:
        by_stock(answer)


@pytest.mark.parametrize("places", PLACES, ids="-".join)
@pytest.mark.parametrize("reader", NAMES)
def test_one_program_reads_both(clones, reader, places):
    """A program that copies between the clusters reads the same path of both in turn.  That one
    block is not served must not keep the other of its name from being read through vRead."""
    answer = clones.clients[reader].do(
        "read-in-turn",
        uris=[f"{clones.clusters[name].uri}{file_at(places)}" for name in NAMES],
        seeds=[seed_of(name) for name in NAMES],
        size=SIZE,
    )
    each = answer["bytes"] // len(NAMES)
    assert answer["stats"].get("vread.bytes", 0) >= each * places.count(SERVED)
    if SERVED not in places:
        by_stock(answer)


@pytest.mark.slow
def test_equal_storage_ids_are_refused(tmp_path):
    """Without new ids nobody can tell whose a storage is.  vreadd serves neither and says so."""
    with contextlib.ExitStack() as stack:
        clusters = stack.enter_context(original_and_clone(tmp_path, new_ids=False))
        shown = both_dn1(clusters)
        hosts = stack.enter_context(serving(tmp_path, shown, Variant()))
        original = stack.enter_context(clusters["original"])
        client = stack.enter_context(hosts.client(original, tmp_path / "client.log"))
        by_stock(client.do("read", **BEFORE))
        refused = {
            datanode["datanode"]: [each["because"] for each in datanode["refused-storages"]]
            for datanode in hosts.near.status()["datanodes"]
        }
        assert refused == {name: ["contested"] for name in shown}
