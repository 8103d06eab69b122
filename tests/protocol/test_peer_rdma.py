# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMA is configured at one host or at both, and this host has no RDMA.  tests/xen/pair tests hosts
that have RDMA."""

from pathlib import Path

import pytest

from tests.support.peers import at, read_all

pytestmark = pytest.mark.skipif(
    Path("/dev/infiniband/rdma_cm").exists(), reason="this host has RDMA"
)


@pytest.mark.parametrize("near", ["tcp", "rdma tcp"])
@pytest.mark.parametrize("far", ["tcp", "rdma tcp"])
def test_tcp_is_used_where_there_is_no_rdma(start_host, start_asker, image, near, far):
    host, address = start_host(keys={"transports": far})
    asker = start_asker(at(address), keys={"transports": near})
    block = image.blocks[0]
    assert read_all(asker, block) == image.contents[block.id]
    seen = asker.peer("b")
    assert (seen["transport"], seen["direct"], seen["bounced"]) == ("tls", 0, 0)
    assert ("this host has no RDMA: tcp is used" in host.log()) == (far == "rdma tcp")


def test_bytes_that_must_be_encrypted_are_counted(start_host, start_asker, image):
    _, address = start_host(keys={"transports": "rdma tcp"})
    asker = start_asker(at(address), keys={"transports": "rdma tcp"})
    block, other = image.blocks[:2]
    assert read_all(asker, block, verb="encrypted") == image.contents[block.id]
    assert read_all(asker, other) == image.contents[other.id]
    seen = asker.peer("b")
    assert seen["encrypted"] == len(image.contents[block.id])
    assert seen["bytes"] == seen["encrypted"] + len(image.contents[other.id])


def test_only_rdma_and_none_there(start_daemon, authority):
    section = authority.host("a", listen="127.0.0.1:1", transports="rdma")
    with pytest.raises(AssertionError, match="vreadd ended") as ended:
        start_daemon(extra=section)
    assert "transports: rdma: this host has no RDMA" in str(ended.value)
