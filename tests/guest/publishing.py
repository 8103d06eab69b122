# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of a datanode that publishes events of its blocks through its own frontend, which pass in
guests of every hypervisor.  tests/xen/shared/test_publish.py and tests/kvm/test_publish.py import
them.

A module that does so has these fixtures: client (a guest that reads dn1 by vRead),
make_publisher(name, datanodes), which makes a guest of role datanode, backend, demo, uapi_test.
"""

import pytest

from tools.lab import deployment

PATIENCE = ("--timeout", str(deployment.READ_TIMEOUT_MS))


@pytest.fixture(scope="module")
def publisher(make_publisher):
    return make_publisher("pub-dn1", "dn1")


@pytest.fixture(scope="module")
def storage(demo):
    (storage,) = demo.blocks[0].storage_ids
    return storage


def publish(guest, event, spec):
    return guest.run(["vread", "publish", *PATIENCE, event, spec])


def test_what_the_datanode_withdraws_the_client_cannot_read(client, publisher, backend, demo):
    """The datanode withdraws a block: the client must not find it until it is finalized again.
    Two guests, each with its module, are told apart by their roles."""
    spec = demo.blocks[0].spec()
    before = backend.published("dn1")
    assert deployment.file_digest(client) == demo.sha256
    publish(publisher, "delete", spec).check()
    refused = client.run(["vread", "cat", *PATIENCE, spec])
    assert (refused.rc, refused.stdout) == (1, b"")
    assert b"no such block" in refused.stderr
    now = backend.published("dn1")
    assert (now["delete"], now["withdrawn"]) == (before["delete"] + 1, 1)
    publish(publisher, "finalized", spec).check()
    assert backend.published("dn1")["withdrawn"] == 0
    assert deployment.file_digest(client) == demo.sha256


def test_a_client_may_not(client, demo):
    """A client publishes: it must be refused, and the block stay readable.  The guest's module
    makes no node for publishers, by the role that the host offered."""
    done = publish(client, "delete", demo.blocks[0].spec())
    assert done.rc == 3
    assert b"/dev/vread-publish: no such device" in done.stderr
    assert deployment.file_digest(client) == demo.sha256


@pytest.mark.slow
def test_only_for_its_own_datanode(make_publisher, backend, demo):
    """A datanode publishes for another datanode and must be refused.  The policy is the host's.
    `make test` instead runs tests/protocol/test_publish.py."""
    other = make_publisher("pub-dn9", "dn9")
    before = backend.published("dn1")
    done = publish(other, "delete", demo.blocks[0].spec())
    assert done.rc == 1
    assert b"this datanode's events are not taken from here" in done.stderr
    assert backend.published("dn1") == before


def test_ioctl_arguments(publisher, uapi_test, demo, storage):
    """vread_uapi_test must pass in a datanode.  The ioctls are those of the module in its kernel.
    The last test: from now on reads need block tokens."""
    publisher.put(uapi_test, "/uapi_test")
    answer = publisher.run(["/uapi_test", demo.blocks[0].spec(), "datanode", storage], timeout=400)
    assert answer.rc == 0, answer.stdout.decode()
