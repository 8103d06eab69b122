# SPDX-License-Identifier: GPL-2.0-or-later
"""Router-based federation: the clients know a router, and neither NameNode.  What the plug-in asks
of NameNodes, as the storages of a block without a block token, it must ask of the router."""

import pytest

from tools.hdfs.router import Router

pytestmark = [pytest.mark.hadoop, pytest.mark.slow]


@pytest.fixture(scope="module")
def readers(bed, spark_readers, tmp_path_factory):
    """{name: client} of the router"""
    folder = tmp_path_factory.mktemp("router")
    with (
        Router(bed.hdfs, folder) as router,
        bed.another_client(folder, conf_dir=router.conf_dir) as client,
        spark_readers(router.conf_dir) as found,
    ):
        yield {bed.mode.version: client} | found


def test_router(bed, readers, cells):
    """Files of one name in both namespaces, and one that was written by the router."""
    first, second = (f"{uri}/routed" for uri in bed.hdfs.uris)
    bed.client.do("write-at", uri=first, seed=31)
    bed.client.do("write-at", uri=second, seed=32)
    readers[bed.mode.version].do("write-at", uri="/ns2/by-router", seed=33)
    for uri, seed in (("/routed", 31), ("/ns2/routed", 32), ("/ns2/by-router", 33)):
        cells("router-based federation", uri, seed=seed)
