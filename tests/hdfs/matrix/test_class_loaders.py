# SPDX-License-Identifier: GPL-2.0-or-later
"""An application that loads the plug-in's jar in a class loader of each job, as Flink and Spark do
with jars of their users.  A class loader that was dropped must take everything of vRead with it."""

import pytest

from tests.support.hadoop_bed import ONE_COLUMN
from tests.support.hadoop_client import JAR
from tests.support.waiting import eventually
from tools.hdfs.plug_in import BUILDER_ALONE

pytestmark = [pytest.mark.hadoop, ONE_COLUMN]

LOADERS = 35
SIZE = 100_000


def test_class_loaders_are_collected(bed, tmp_path):
    """Together, more class loaders than the endpoint has room for connections.  The file systems in
    them are stock ones (docs/hadoop.md), so that the plug-in's builder must be named.  Only a block
    token tells it at once where a block is."""
    file = {"file": "/by-class-loaders", "size": SIZE}
    bed.client.do("write", on=["dn1"], **file)
    bed.client.do("read", **file)
    assert _connections(bed, bed.client), "status tells whose connections these are"
    properties = [f"{name}={value}" for name, value in (bed.properties() | BUILDER_ALONE).items()]
    with bed.another_client(tmp_path, properties={}, jar=tmp_path / "none.jar") as client:
        for _ in range(2):
            before = _bytes(bed)
            answer = client.do(
                "class-loaders", jar=str(JAR), count=LOADERS, properties=properties, **file
            )
            assert answer["bytes"] == LOADERS * SIZE
            if bed.mode.tokens:
                assert _bytes(bed) - before == answer["bytes"], "all read through vRead"
            assert (answer["left"], answer["threads"]) == (0, [])
            eventually(lambda: not _connections(bed, client), what="connections closed")


def _connections(bed, client):
    """Those of this client.  Others that the bed has end on their own when they are idle."""
    return [d["name"] for d in bed.vreadd.status()["devices"] if d.get("pid") == client.pid]


def _bytes(bed):
    return bed.vreadd.status()["totals"]["bytes"]
