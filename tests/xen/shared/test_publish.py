# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode domU publishes events of its blocks through its own frontend.  Tests that guests of
KVM pass, too, are in tests/guest/publishing.py."""

import pytest

from tests.guest.publishing import *  # noqa: F403 - tests, in the order of that file
from tests.guest.publishing import publish
from tests.support.waiting import eventually

pytestmark = pytest.mark.xen

CHANGED = "its rights have changed"


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("pub-client")


@pytest.fixture(scope="module")
def make_publisher(backend, until_module_ends):
    """make_publisher(name, datanodes): a guest whose device has role datanode."""

    def make(name, datanodes):
        guest = until_module_ends(backend.host.create_guest(name))
        backend.attach(guest, datanodes, role="datanode")
        backend.connect(guest)
        return guest

    return make


def test_status_and_nodes(publisher, backend):
    """Status and xenstore must show a datanode's device as the schema says.  The nodes are those of
    the kernel's xenbus and of the real xenstored."""
    device = backend.device(publisher)
    assert (device["state"], device["role"]) == ("Connected", "datanode")
    node = f"{backend.frontend_path(publisher)}/role"
    assert backend.host.text(["xenstore-read", node]).strip() == "datanode"
    node = f"{backend.backend_path(publisher)}/feature-publish"
    assert backend.host.text(["xenstore-read", node]).strip() == "1"
    check = backend.host.run("xl-vread xenstore check")
    assert check.rc == 0, check.stdout
    assert "published: finalized" in backend.status_text()


def test_rights_change_under_the_guest(publisher, client, backend, demo):
    """The host takes away a right, by a node of the real xenstored, and gives it back.  The device
    must follow, and stay connected."""
    spec = demo.blocks[0].spec()
    node = f"{backend.backend_path(publisher)}/publish-datanodes"
    assert backend.host.text(["xenstore-read", node]).strip() == "dn1"
    before = backend.published("dn1")

    def set_right(datanodes):
        changes = backend.log().count(CHANGED)
        backend.host.text(["xenstore-write", node, datanodes])
        eventually(lambda: backend.log().count(CHANGED) > changes, what="its new rights")

    set_right("dn9")
    assert publish(publisher, "delete", spec).rc == 1
    set_right("dn1")
    publish(publisher, "finalized", spec).check()
    assert backend.published("dn1")["delete"] == before["delete"]
    assert backend.device(publisher)["state"] == "Connected"
