# SPDX-License-Identifier: GPL-2.0-or-later
"""The read path on real Xen: a client domU reads a datanode's disk through /dev/vread and vreadd in
dom0.  Tests that a guest of KVM passes, too, are in tests/guest/reading.py."""

import pytest

from tests.guest.reading import *  # noqa: F403 - tests, in the order of that file

pytestmark = pytest.mark.xen


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("reader")


def test_states_and_nodes_are_as_the_schema_says(client, backend):
    """`xl-vread xenstore check` must find no problem, and status must show the device.  The nodes
    are those of the kernel's xenbus and of xenstored, which native tests imitate."""
    assert backend.states(client) == ("4", "4")
    check = backend.host.run("xl-vread xenstore check")
    assert check.rc == 0, check.stdout
    assert b", 0 problems" in check.stdout
    device = backend.device(client)
    assert (device["state"], device["role"]) == ("Connected", "client")


def test_the_guest_cannot_write_its_own_policy(client, backend):
    """The guest writes to its policy node and must fail.  Only the real xenstored refuses a guest's
    write."""
    node = f"{backend.backend_path(client)}/allow-datanodes"
    attempt = client.run(["xenstore-write", node, "everything"])
    assert attempt.rc != 0
    assert backend.host.text(["xenstore-read", node]).strip() == "*"
