# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults on real Xen: backends, readers or domains that die, hang or break the protocol.  Nothing
else may hang, no byte may be wrong, and everything must recover or report why it does not.  Tests
that guests of KVM pass, too, are in tests/guest/faults.py."""

import pytest

from tests.guest.faults import *  # noqa: F403 - tests, in the order of that file
from tests.guest.faults import CAT, SOON, start_reader
from tests.support.tiers import slow
from tests.support.waiting import eventually
from tools.lab import deployment

pytestmark = pytest.mark.xen


@pytest.fixture(scope="module")
def client(make_client):
    """A client that is connected at the start and at the end of each test."""
    return make_client("client")


@pytest.fixture
def mappings(backend):
    """mappings(): the number of mappings of guest memory that vreadd has."""
    maps = f"cat /proc/{backend.pid}/maps"
    return lambda: backend.host.text(maps).count("xen/gntdev")


def test_backend_stopped_in_order_and_restarted(client, demo, backend):
    """vreadd ends cleanly: both states must become Closed, and the client must read again after
    the restart.  Both ends go through xenbus' states, one of them in a kernel."""
    reader = start_reader(backend, client)
    assert backend.stop() == 0
    reader.wait(SOON)
    backend.wait_states(client, "6", "6")
    backend.start()
    backend.wait_connected(client)
    assert deployment.file_digest(client) == demo.sha256


def test_client_destroyed_under_its_reader(make_client, client, backend, mappings):
    """A domain is destroyed while it reads: vreadd must remove the device and unmap all pages.
    The domain's pages are mapped in dom0; natively a process only closes a socket."""
    before = mappings()
    victim = make_client("victim")
    assert mappings() > before
    start_reader(backend, victim)
    name = backend.device(victim)["name"]
    victim.destroy()
    eventually(lambda: backend.device(victim) is None, what="device gone from status")
    backend.wait_states(victim, "", "")
    eventually(lambda: name in backend.log(), what="log names the device")
    eventually(lambda: mappings() == before, what="its memory unmapped")


@pytest.mark.slow
def test_device_detached_under_a_reader(client, backend):
    """The device is detached through xenbus while a reader reads; the reader must end.
    `make test` instead runs test_life.py."""
    reader = start_reader(backend, client)
    backend.host.run(["xl-vread", "detach", str(client.domid), "--wait", "120"]).check()
    reader.wait(SOON)
    backend.wait_states(client, "", "")
    eventually(lambda: backend.device(client) is None, what="device gone from status")
    backend.attach(client)
    backend.wait_connected(client)


# The first attacks of each list fail at real grants and event channels.  The slow ones are also in
# tests/unit/test_port_xen.c and tests/protocol/test_hostile.py.
REFUSED = [
    "one-bad-pool-page",
    "foreign-port",
    *slow("foreign-ring", "absurd-pool", "absurd-queues", "absurd-order"),
    *slow("endless-directory", "short-directory"),
]
CLOSED = ["overflow", *slow("id-out-of-range", "id-twice")]


@pytest.fixture(scope="module")
def hostile(make_client, hostile_frontend):
    guest = make_client("hostile", frontend=False)
    guest.put(hostile_frontend, "/hostile_frontend")
    return guest


@pytest.fixture(scope="module")
def bystander(make_client):
    return make_client("bystander")


def attack(backend, guest, name):
    """Runs one attack.  Returns what the backend did (hostile_frontend.c), and the error that it
    wrote to xenstore."""
    answer = guest.run(["/hostile_frontend", "0", name], timeout=400)
    assert answer.rc == 0, answer.output
    node = f"/local/domain/0/error/backend/vread/{guest.domid}/0/error"
    error = backend.host.run(["xenstore-read", node])
    return answer.stdout.decode().strip(), error.stdout.decode().strip()


def test_an_honest_frontend_in_user_space_connects(backend, hostile):
    """Without an attack, hostile_frontend must connect, by real grants.  So when it is refused, the
    attack is the reason."""
    assert attack(backend, hostile, "none")[0] == "connected"


@pytest.mark.parametrize("name", REFUSED)
def test_absurd_xenstore_numbers_are_refused(backend, hostile, bystander, demo, name):
    """The backend must refuse and report why, and another guest must read on.  Xen itself fails
    the mapping of a foreign page or port."""
    outcome, error = attack(backend, hostile, name)
    assert outcome == "refused"
    assert error
    assert vread_one(bystander, demo) == 0


@pytest.mark.parametrize("name", CLOSED)
def test_a_broken_ring_closes_the_device(backend, hostile, bystander, demo, name):
    """The backend must close the device and report why, and another guest must read on.  The ring
    is a granted page that a real guest writes at any time."""
    outcome, error = attack(backend, hostile, name)
    assert outcome == "closed"
    assert error
    assert vread_one(bystander, demo) == 0


def test_an_event_storm_does_not_starve_others(backend, hostile, bystander, demo):
    """A guest sends 100,000 events; another guest must be able to read meanwhile.  The events are
    those of a real event channel, which vreadd unmasks late."""
    storm = hostile.popen(["/hostile_frontend", "0", "event-storm"], timeout=500)
    assert vread_one(bystander, demo) == 0
    assert storm.wait().stdout.decode().strip() == "closed"


def vread_one(guest, demo):
    return guest.run(f"{CAT} {demo.blocks[0].spec()} >/dev/null").rc
