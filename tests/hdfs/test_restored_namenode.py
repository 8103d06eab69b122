# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode with old blocks under new names: the NameNode was restored from a backup.

dn2 is off when the NameNode is restored, and its image is still served.  The NameNode gives out
again the ids and generation stamps of blocks on dn2: for a file on dn1, which is served, too, and
for one on dn3, which nobody serves.
"""

import contextlib

import pytest

from tests.support.equal_names import (
    BEFORE,
    VARIANTS,
    block_names,
    by_stock,
    serving,
    small_cluster,
    wait_until_served,
)
from tests.support.hadoop_bed import BLOCK_SIZE, served

pytestmark = pytest.mark.hadoop

ON, OFF = SERVED = ("dn1", "dn2")
PLACES = (ON, "dn3")  # of the new files
SIZE = 2 * BLOCK_SIZE + 12345


@pytest.fixture(scope="module", params=VARIANTS)
def client(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("restored")
    cluster = small_cluster(folder / "hdfs", datanodes=3)
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.stop)
        cluster.attach_disks()
        hosts = stack.enter_context(serving(folder, cluster.served(*SERVED), request.param))
        hosts.publish_from(cluster, *SERVED)
        cluster.start()
        with hosts.client(cluster, folder / "before.log", *SERVED) as before:
            before.do("write", **BEFORE)
            backup = cluster.back_up_names()
            old = [write(cluster, before, f"/old-{place}", OFF, 1) for place in PLACES]
        cluster.datanode(OFF).stop()
        cluster.restore_names(backup)
        client = stack.enter_context(hosts.client(cluster, folder / "client.log", ON))
        new = [write(cluster, client, f"/new-{place}", place, 2) for place in PLACES]
        assert new == old
        wait_until_served(client)
        yield client


def write(cluster, client, file, place, seed):
    """Writes a file.  Returns the names of its blocks."""
    client.do("write", file=file, on=[place], size=SIZE, seed=seed)
    return block_names(cluster, file)


@pytest.mark.parametrize("way", ["1m", "pread"])
@pytest.mark.parametrize("place", PLACES)
def test_the_new_bytes(client, place, way):
    """The client compares the bytes."""
    answer = client.do("read", file=f"/new-{place}", way=way)
    if place in SERVED:
        served(answer)
    else:
        by_stock(answer)
