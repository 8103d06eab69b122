# SPDX-License-Identifier: GPL-2.0-or-later
"""What fails between two hosts while a guest reads by RDMA: every read ends, by bytes or by an
error, no byte is wrong, and afterwards bytes come by RDMA again."""

import contextlib

import pytest

from tests.xen.pair.reading import SOON, comes_back, read, reader, stood_still, the_peer, until
from tests.xen.tiers import slow
from tools.lab import CommandFailed, deployment

pytestmark = [pytest.mark.xen, pytest.mark.timeout(1800)]

# UDP carries all of soft-RoCE, and nothing else that is needed here.
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
    """(what the peer's status says, the guest), which has just read all by RDMA."""
    comes_back(backend, guest, replicas)
    return backend, guest


def failed_since(backend, failures):
    """What the peer's status says, once there was another failure."""
    told = the_peer(backend)
    return told if told["failures"] > failures else None


def begun(guest, replicas):
    """A reader that has read all once, or None: it failed before."""
    command = reader(guest)
    try:
        command.wait_output(replicas.digest, timeout=SOON)
    except CommandFailed:
        return None
    return command


def reads_by_tls(backend, guest, replicas):
    """What the peer's status says, if all was read by TLS while RDMA was tried in vain."""
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


@pytest.mark.parametrize("side", [*slow("near"), "far"])
def test_a_fabric_that_breaks_where_tls_passes(reading, near_host, far_host, replicas, side):
    """What is under way by RDMA fails; then the file comes by TLS, and by RDMA when it can.  It
    takes more than a minute: retries of queue pairs are over only then."""
    backend, guest = reading
    with without_udp({"near": near_host, "far": far_host}[side]):
        until(lambda: read(guest) == replicas.digest, lambda: the_peer(backend))
        before = the_peer(backend)["direct"]
        told = until(lambda: reads_by_tls(backend, guest, replicas), lambda: the_peer(backend))
        assert told["direct"] == before
    comes_back(backend, guest, replicas)
    now = the_peer(backend)
    assert now["transport"] == "rdma"
    # On the same connection, if that has not failed meanwhile.
    again = now["connects"] - told["connects"]
    assert again == now["failures"] - told["failures"]
    assert again == 0 or stood_still(now)


@pytest.mark.slow
def test_a_wire_that_is_cut_for_a_while(reading, losing, replicas):
    """By RDMA. In `make test`: the test above, and tests/protocol/test_peer_network.py by TCP."""
    backend, guest = reading
    with losing("100%"):
        until(lambda: read(guest) is None, lambda: the_peer(backend))
        until(lambda: the_peer(backend)["state"] != "up", lambda: the_peer(backend))
    comes_back(backend, guest, replicas)


@pytest.mark.slow
def test_a_peer_that_hangs(reading, far, replicas):
    """Its adapter goes on answering. In `make test`: tests/protocol/test_peer_faults.py by TCP."""
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
    """A queue pair whose other end is gone, under a guest that reads."""
    backend, guest = reading
    command = until(lambda: begun(guest, replicas), lambda: the_peer(backend))
    far.kill()
    said = command.wait(SOON).stdout.decode().split()
    assert set(said) == {replicas.digest, "-"}
    assert read(guest) is None
    far.start()
    comes_back(backend, guest, replicas)
