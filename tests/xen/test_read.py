# SPDX-License-Identifier: GPL-2.0-or-later
"""The read path on real Xen: a client domU, /dev/vread, vreadd in dom0, a datanode's disk."""

import json

import pytest

from tools.lab import deployment

pytestmark = pytest.mark.xen

NO_SUCH_BLOCK = "blk_1999999999_1001"


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("reader")


def vread(client, command, *arguments):
    patience = ["--timeout", str(deployment.READ_TIMEOUT_MS)]
    return client.run(["vread", command, *patience, *arguments])


def test_every_block_of_the_file(client, demo, backend):
    before = backend.bytes_read(client)
    assert deployment.file_digest(client) == demo.sha256
    assert backend.bytes_read(client) - before >= demo.size


def test_states_and_nodes_are_as_the_schema_says(client, backend):
    assert backend.states(client) == ("4", "4")
    check = backend.host.run("vread xenstore check")
    assert check.rc == 0, check.stdout
    assert b", 0 problems" in check.stdout


def test_a_wrong_node_is_named(client, backend):
    node = f"{backend.backend_path(client)}/max-queues"
    value = backend.host.text(["xenstore-read", node]).strip()
    backend.host.run(["xenstore-write", node, "99"]).check()
    try:
        check = backend.host.run(["vread", "xenstore", "check", str(client.domid)])
    finally:
        backend.host.run(["xenstore-write", node, value]).check()
    assert check.rc == 1
    assert f'{node}: is "99", expected a number from 1 to 8' in check.stdout.decode()


def test_the_guest_cannot_write_its_own_policy(client, backend):
    node = f"{backend.backend_path(client)}/allow-datanodes"
    attempt = client.run(["xenstore-write", node, "everything"])
    assert attempt.rc != 0
    assert backend.host.text(["xenstore-read", node]).strip() == "*"


def test_status_shows_the_device(client, backend):
    device = backend.device(client)
    assert device["state"] == "Connected"
    assert device["role"] == "client"
    table = backend.status_text()
    assert device["name"] in table
    assert max(map(len, table.splitlines())) <= 80


def test_stat_of_blocks(client, demo):
    answer = vread(client, "stat", "--json", "--blocks-from", "/blocks.txt").check()
    found = json.loads(answer.stdout)
    assert [b["length"] for b in found] == [b.length for b in demo.blocks]
    assert all(b["finalized"] for b in found)


@pytest.mark.parametrize(
    "spec,words",
    [
        (lambda b: f"{b.pool}/{NO_SUCH_BLOCK}", "no such block"),
        (lambda b: f"{b.pool}/blk_{b.block_id}_{b.genstamp + 1}", "generation stamp"),
        (lambda b: f"BP-1-192.0.2.1-1/blk_{b.block_id}_{b.genstamp}", "pool"),
        (lambda b: f"{b.pool}/blk_{b.block_id}_{b.genstamp}:{b.length + 1}", "shorter"),
    ],
    ids=["unknown block", "wrong generation stamp", "wrong pool", "too short"],
)
def test_what_cannot_be_read_is_named(client, demo, spec, words):
    answer = vread(client, "cat", spec(demo.blocks[0]))
    assert answer.rc == 1
    assert answer.stdout == b""
    assert words in answer.stderr.decode()


def test_a_guest_reads_only_what_it_was_allowed(make_client, demo):
    stranger = make_client("stranger", allow="dn9")
    answer = vread(stranger, "cat", demo.blocks[0].spec())
    assert answer.rc == 1
    assert answer.stdout == b""
    assert "may not read" in answer.stderr.decode() or "denied" in answer.stderr.decode()


def test_ioctls_reject_every_bad_argument(client, uapi_test, demo):
    client.put(uapi_test, "/uapi_test")
    answer = client.run(["/uapi_test", demo.blocks[0].spec()], timeout=400)
    assert answer.rc == 0, answer.stdout.decode()
