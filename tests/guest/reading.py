# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the read path that pass in guests of every hypervisor.  tests/xen/shared/test_read.py
and tests/kvm/test_read.py import them.

A module that does so has these fixtures: client (a guest that reads dn1 by vRead), make_client,
backend (vreadd, with audit on), demo (the file whose blocks dn1 has), uapi_test.
"""

import pytest

from tools.lab import deployment


def test_every_block_of_the_file(client, demo, backend):
    """The client reads the whole file; all bytes must be right and come by vRead.  Natively the
    pool is a file in memory; here it is a guest's."""
    before = backend.bytes_read(client)
    assert deployment.file_digest(client) == demo.sha256
    assert backend.bytes_read(client) - before >= demo.size


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


def test_a_guest_reads_only_what_it_was_allowed(make_client, demo):
    """A guest reads a datanode that its policy does not allow; it must get the reason and no byte.
    The policy is the host's, and the reason passes the module."""
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
