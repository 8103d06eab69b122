# SPDX-License-Identifier: GPL-2.0-or-later
"""The read path on real Xen: a client domU reads a datanode's disk through /dev/vread and vreadd in
dom0."""

import pytest

from tools.lab import deployment

pytestmark = pytest.mark.xen


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("reader")


def test_every_block_of_the_file(client, demo, backend):
    """The client reads the whole file; all bytes must be right and come by vRead.  Natively the
    pool is shared memory; here dom0 writes into pages that a guest granted."""
    before = backend.bytes_read(client)
    assert deployment.file_digest(client) == demo.sha256
    assert backend.bytes_read(client) - before >= demo.size


def test_states_and_nodes_are_as_the_schema_says(client, backend):
    """`xl-vread xenstore check` must find no problem, and status must show the device.  The nodes
    are those of the kernel's xenbus and of xenstored, which native tests imitate."""
    assert backend.states(client) == ("4", "4")
    check = backend.host.run("xl-vread xenstore check")
    assert check.rc == 0, check.stdout
    assert b", 0 problems" in check.stdout
    device = backend.device(client)
    assert (device["state"], device["role"]) == ("Connected", "client")


@pytest.mark.parametrize("user", [0, 1234, 2**32 - 2])
def test_who_opened_a_block(client, uapi_test, demo, backend, user):
    """The log has to name the user who opens a block.  The module takes the user from the guest's
    kernel."""
    block = demo.blocks[0]
    client.put(uapi_test, "/uapi_test")
    client.run(["/uapi_test", block.spec(), "user", str(user)]).check()
    device = backend.device(client)["name"]
    pool, name = block.spec().split("/")
    number = name.split("_")[1]
    said = f"{device}: audit: user {user}, block {number} of pool {pool}: opened"
    assert said in backend.log()


def test_the_guest_cannot_write_its_own_policy(client, backend):
    """The guest writes to its policy node and must fail.  Only the real xenstored refuses a guest's
    write."""
    node = f"{backend.backend_path(client)}/allow-datanodes"
    attempt = client.run(["xenstore-write", node, "everything"])
    assert attempt.rc != 0
    assert backend.host.text(["xenstore-read", node]).strip() == "*"


def test_a_guest_reads_only_what_it_was_allowed(make_client, demo):
    """A guest reads a datanode that its policy does not allow; it must get the reason and no byte.
    The policy is a node of the real xenstore, and the reason passes the module."""
    stranger = make_client("stranger", allow="dn9")
    patience = ["--timeout", str(deployment.READ_TIMEOUT_MS)]
    answer = stranger.run(["vread", "cat", *patience, demo.blocks[0].spec()])
    assert answer.rc == 1
    assert answer.stdout == b""
    assert "may not read" in answer.stderr.decode() or "denied" in answer.stderr.decode()


def test_ioctls_reject_every_bad_argument(client, uapi_test, demo):
    """vread_uapi_test must pass.  The ioctls are those of the module in a real guest's kernel."""
    client.put(uapi_test, "/uapi_test")
    answer = client.run(["/uapi_test", demo.blocks[0].spec()], timeout=400)
    assert answer.rc == 0, answer.stdout.decode()
