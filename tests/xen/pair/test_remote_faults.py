# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults between two hosts while a guest reads by RDMA.  Every read must end with the right bytes
or with an error, and afterwards bytes must come by RDMA again."""

import contextlib

import pytest

from tests.xen.pair.reading import SOON, comes_back, read, reader, stood_still, the_peer, until
from tools.lab import CommandFailed, deployment

pytestmark = [pytest.mark.xen, pytest.mark.timeout(1800)]

# soft-RoCE uses UDP.  Nothing else that these tests need does.
NO_UDP = (
    "tc qdisc add dev eth0 root handle 1: prio",
    "tc qdisc add dev eth0 parent 1:3 netem loss 100%",
    "tc filter add dev eth0 parent 1: protocol ip u32 match ip protocol 17 0xff flowid 1:3",
)


@pytest.fixture(scope="module")
def backend(asking):
    with asking(transports="rdma tcp") as backend:
        yield backend


@pytest.fixture(scope="module")
def guest(backend, replicas):
    with deployment.start_client(backend, "reads", replicas.listing) as guest:
        yield guest


@pytest.fixture
def reading(backend, guest, replicas):
    """(backend, guest), after the guest has read all blocks by RDMA."""
    comes_back(backend, guest, replicas)
    return backend, guest


def failed_since(backend, failures):
    """The peer's status, if there were more than `failures` failures, else None."""
    told = the_peer(backend)
    return told if told["failures"] > failures else None


def begun(guest, replicas):
    """Starts a reader and returns it when it has read all blocks once.  None: it failed before."""
    command = reader(guest)
    try:
        command.wait_output(replicas.digest, timeout=SOON)
    except CommandFailed:
        return None
    return command


def reads_by_tls(backend, guest, replicas):
    """Reads all blocks.  Returns the peer's status if the read succeeded over TLS after a dial by
    RDMA failed, else None."""
    digest, told = read(guest), the_peer(backend)
    assert digest in (None, replicas.digest)
    vain = "does not answer" in (told["last_error"] or "")
    up = (told["state"], told["transport"]) == ("up", "tls")
    return told if digest and vain and up else None


@contextlib.contextmanager
def without_udp(host):
    try:
        for command in NO_UDP:
            host.run(command).check()
        yield
    finally:
        host.run("tc qdisc del dev eth0 root").check()


@pytest.mark.slow
@pytest.mark.parametrize("side", ["near", "far"])
def test_a_fabric_that_breaks_where_tls_passes(reading, near_host, far_host, replicas, side):
    """UDP, and so RDMA, is blocked on one side; a native test has no RDMA.  READs under way may
    fail; then the bytes must come by TLS, and by RDMA again once UDP passes.  The test takes more
    than a minute: a queue pair fails only when all its retries are over."""
    backend, guest = reading
    with without_udp({"near": near_host, "far": far_host}[side]):
        until(lambda: read(guest) == replicas.digest, lambda: the_peer(backend))
        before = the_peer(backend)["direct"]
        told = until(lambda: reads_by_tls(backend, guest, replicas), lambda: the_peer(backend))
        assert told["direct"] == before
    comes_back(backend, guest, replicas)
    now = the_peer(backend)
    assert now["transport"] == "rdma"
    # RDMA must come back on the same connection, unless the connection failed meanwhile.
    again = now["connects"] - told["connects"]
    assert again == now["failures"] - told["failures"]
    assert again == 0 or stood_still(now)


@pytest.mark.slow
def test_a_wire_that_is_cut_for_a_while(reading, losing, replicas):
    """The wire is cut during reads by RDMA; a native test has no RDMA.  Reads must fail, and come
    by RDMA again afterwards.  `make test` instead runs the test above, and
    tests/protocol/test_peer_network.py by TCP."""
    backend, guest = reading
    with losing("100%"):
        until(lambda: read(guest) is None, lambda: the_peer(backend))
        until(lambda: the_peer(backend)["state"] != "up", lambda: the_peer(backend))
    comes_back(backend, guest, replicas)


@pytest.mark.slow
def test_a_peer_that_hangs(reading, far, replicas):
    """vreadd on the far host is stopped, and its adapter goes on answering; natively there is no
    adapter.  Reads must fail after answer-timeout.  `make test` instead runs
    tests/protocol/test_peer_faults.py by TCP."""
    backend, guest = reading
    failures = the_peer(backend)["failures"]
    far.signal("STOP")
    try:
        assert read(guest) is None
        told = until(lambda: failed_since(backend, failures), lambda: the_peer(backend))
        assert "no answer within" in told["last_error"]
    finally:
        far.signal("CONT")
    comes_back(backend, guest, replicas)


def test_a_peer_that_dies_and_is_started_again(reading, far, replicas):
    """vreadd on the far host is killed and started again while a guest reads.  Only RDMA has a
    queue pair whose other end is gone.  The reader must see right bytes only, then an error."""
    backend, guest = reading
    command = until(lambda: begun(guest, replicas), lambda: the_peer(backend))
    far.kill()
    said = command.wait(SOON).stdout.decode().split()
    assert set(said) == {replicas.digest, "-"}
    assert read(guest) is None
    far.start()
    comes_back(backend, guest, replicas)
