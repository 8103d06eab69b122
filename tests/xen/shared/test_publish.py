# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode domU publishes events of its blocks through its own frontend."""

import pytest

from tests.support.waiting import eventually
from tools.lab import deployment

pytestmark = pytest.mark.xen

CHANGED = "its rights have changed"
PATIENCE = ("--timeout", str(deployment.READ_TIMEOUT_MS))


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


@pytest.fixture(scope="module")
def publisher(make_publisher):
    return make_publisher("pub-dn1", "dn1")


@pytest.fixture(scope="module")
def storage(demo):
    (storage,) = demo.blocks[0].storage_ids
    return storage


def publish(guest, event, spec):
    return guest.run(["vread", "publish", *PATIENCE, event, spec])


def published(backend):
    return backend.published("dn1")


def test_what_the_datanode_withdraws_the_client_cannot_read(client, publisher, backend, demo):
    """The datanode withdraws a block: the client must not find it until it is finalized again.
    Two domains, each with its module, are told apart by their roles in xenstore."""
    spec = demo.blocks[0].spec()
    before = published(backend)
    assert deployment.file_digest(client) == demo.sha256
    publish(publisher, "delete", spec).check()
    refused = client.run(["vread", "cat", *PATIENCE, spec])
    assert (refused.rc, refused.stdout) == (1, b"")
    assert b"no such block" in refused.stderr
    assert published(backend)["delete"] == before["delete"] + 1
    assert published(backend)["withdrawn"] == 1
    publish(publisher, "finalized", spec).check()
    assert published(backend)["withdrawn"] == 0
    assert deployment.file_digest(client) == demo.sha256


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


def test_a_client_may_not(client, demo):
    """A client publishes: it must be refused, and the block stay readable.  The guest's module
    makes no node for publishers, by the role that it read from xenstore."""
    done = publish(client, "delete", demo.blocks[0].spec())
    assert done.rc == 3
    assert b"/dev/vread-publish: no such device" in done.stderr
    assert deployment.file_digest(client) == demo.sha256


@pytest.mark.slow
def test_only_for_its_own_datanode(make_publisher, backend, demo):
    """A datanode publishes for another datanode and must be refused.  The policy is a node of
    xenstore.  `make test` instead runs tests/protocol/test_publish.py."""
    other = make_publisher("pub-dn9", "dn9")
    before = published(backend)
    done = publish(other, "delete", demo.blocks[0].spec())
    assert done.rc == 1
    assert b"this datanode's events are not taken from here" in done.stderr
    assert published(backend) == before


def test_rights_change_under_the_guest(publisher, client, backend, demo):
    """The host takes away a right, by a node of the real xenstored, and gives it back.  The device
    must follow, and stay connected."""
    spec = demo.blocks[0].spec()
    node = f"{backend.backend_path(publisher)}/publish-datanodes"
    assert backend.host.text(["xenstore-read", node]).strip() == "dn1"
    before = published(backend)

    def set_right(datanodes):
        changes = backend.log().count(CHANGED)
        backend.host.text(["xenstore-write", node, datanodes])
        eventually(lambda: backend.log().count(CHANGED) > changes, what="its new rights")

    set_right("dn9")
    assert publish(publisher, "delete", spec).rc == 1
    set_right("dn1")
    publish(publisher, "finalized", spec).check()
    assert published(backend)["delete"] == before["delete"]
    assert backend.device(publisher)["state"] == "Connected"


def test_ioctl_arguments(publisher, uapi_test, demo, storage):
    """vread_uapi_test must pass in a datanode.  The ioctls are those of the module in its
    kernel."""
    publisher.put(uapi_test, "/uapi_test")
    answer = publisher.run(["/uapi_test", demo.blocks[0].spec(), "datanode", storage], timeout=400)
    assert answer.rc == 0, answer.stdout.decode()
