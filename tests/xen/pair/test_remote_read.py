# SPDX-License-Identifier: GPL-2.0-or-later
"""A client domU on one host reads a datanode's image on the other, by RDMA and by TCP."""

import pytest

from tests.support.tiers import slow
from tests.xen.pair.reading import comes_back, counted, the_peer
from tools.lab import deployment

pytestmark = [pytest.mark.xen, pytest.mark.timeout(1800)]


@pytest.fixture
def client(request, asking, replicas):
    """(backend, client domU, transport) on the near host."""
    name = "client-" + request.param.replace(" ", "-")
    with (
        asking(transports=request.param, answer_timeout=60000) as backend,
        deployment.start_client(backend, name, replicas.listing) as guest,
    ):
        yield backend, guest, request.param


@pytest.mark.parametrize("client", ["rdma", "tcp"], indirect=True)
def test_a_file_on_the_other_host(client, replicas, far):
    """A guest reads all blocks of the other host.  By RDMA, all bytes must be written directly into
    pages that the guest granted; no native test has RDMA."""
    backend, guest, transport = client
    told = counted(backend, guest, replicas)
    assert told, f"{the_peer(backend)}\n{far.log()}"
    assert told["transport"] == {"tcp": "tls", "rdma": "rdma"}[transport]
    assert told["bytes"] >= replicas.length
    assert told["direct"] == (told["bytes"] if transport == "rdma" else 0)
    assert told["bounced"] == 0


@pytest.mark.parametrize("client", ["rdma tcp", *slow("rdma")], indirect=True)
def test_what_must_be_encrypted_never_goes_by_rdma(client, replicas):
    """The guest asks for encryption.  Where both transports may be used, all bytes must come by TLS
    although the queue pair is up; with RDMA alone the blocks must not be opened.  No native test
    has RDMA."""
    backend, guest, transport = client
    blocks = f"{deployment.BLOCKS} --encrypt"
    comes_back(backend, guest, replicas)
    told = counted(backend, guest, replicas, blocks)
    if transport == "rdma":
        assert told is None
    else:
        assert told["encrypted"] == told["bytes"] >= replicas.length
        assert told["direct"] == 0
