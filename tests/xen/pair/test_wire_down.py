# SPDX-License-Identifier: GPL-2.0-or-later
"""The adapter of the near host loses its link, and its RDMA device is made anew."""

import pytest

from tests.xen.pair.reading import comes_back, read, stood_still, the_peer, until
from tools.lab import deployment

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(1800)]

IP = "/usr/sbin/ip"


@pytest.fixture
def new_device(near_host):
    """new_device(): makes the near host's RDMA device anew.  No program may have the old one open.
    Also done at the end of the test."""

    def make():
        near_host.run("rdma link del rxe0").check()
        near_host.run("rdma link add rxe0 type rxe netdev eth0").check()

    yield make
    make()


def test_a_link_that_goes_down_and_up(asking, near_host, replicas, new_device):
    """An adapter loses its link; natively there is no adapter.  All bytes must come by TLS, and by
    RDMA again once the RDMA device is made anew and vreadd restarted.

    After soft-RoCE's connection manager failed to send while the link was down, it receives
    nothing more until the device is made anew.  For that, vreadd must have ended."""
    with asking(transports="rdma tcp") as backend:
        guest = deployment.start_client(backend, "wire-down", replicas.listing)
        comes_back(backend, guest, replicas)
        failures = the_peer(backend)["failures"]
        near_host.run(f"{IP} link set eth0 down").check()
        try:
            assert read(guest) is None
            until(lambda: the_peer(backend)["failures"] > failures, lambda: the_peer(backend))
        finally:
            near_host.run(f"{IP} link set eth0 up").check()
        until(lambda: read(guest) == replicas.digest, lambda: the_peer(backend))
    new_device()
    with guest, asking(transports="rdma tcp") as backend:
        backend.wait_connected(guest)
        comes_back(backend, guest, replicas)
        told = the_peer(backend)
        assert told["failures"] == 0 or stood_still(told)
