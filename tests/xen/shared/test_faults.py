# SPDX-License-Identifier: GPL-2.0-or-later
"""Real Xen, and something dies, hangs or lies: nothing hangs, no byte is wrong, everything
comes back or says why it does not."""

import pytest

from tests.support.waiting import eventually
from tests.xen.tiers import slow
from tools.lab import deployment

pytestmark = pytest.mark.xen

# A reader that goes on until a read fails, and says how that was.
CAT = f"vread cat --timeout {deployment.READ_TIMEOUT_MS}"
READ = f"{CAT} --blocks-from {deployment.BLOCKS} >/dev/null"
READER = f"while {READ} 2>/tmp/err; do :; done; cat /tmp/err"
SOON = 120.0


@pytest.fixture(scope="module")
def client(make_client):
    """One that all faults leave connected, or that connects again."""
    return make_client("client")


@pytest.fixture
def mappings(backend):
    """mappings(): how many pieces of guests' memory vreadd has mapped."""
    maps = f"cat /proc/{backend.pid}/maps"
    return lambda: backend.host.text(maps).count("xen/gntdev")


def start_reader(backend, client):
    """A reader in the guest that is known to be in the middle of its reads."""
    before = backend.bytes_read(client)
    reader = client.popen(READER, timeout=300)
    eventually(lambda: backend.bytes_read(client) > before, what="bytes on their way")
    return reader


def test_backend_killed_and_restarted_under_a_reader(client, demo, backend):
    """Xen tells the guest's kernel of a dead backend by its event channel and its states."""
    reader = start_reader(backend, client)
    backend.kill()
    said = reader.wait(SOON).stdout.decode()
    assert "no backend" in said or "went away" in said, said
    assert client.run(READ, timeout=SOON).rc == 3
    backend.start()
    backend.wait_connected(client)
    assert deployment.file_digest(client) == demo.sha256


def test_backend_stopped_in_order_and_restarted(client, demo, backend):
    """Both ends go through xenbus' states, one of them in a kernel."""
    reader = start_reader(backend, client)
    assert backend.stop() == 0
    reader.wait(SOON)
    backend.wait_states(client, "6", "6")
    backend.start()
    backend.wait_connected(client)
    assert deployment.file_digest(client) == demo.sha256


def test_backend_that_hangs_costs_one_time_limit(client, demo, backend):
    """The guest's kernel keeps the time limit, and the late answer arrives in granted pages."""
    backend.signal("STOP")
    try:
        answer = client.run("vread cat --timeout 1000 --blocks-from /blocks.txt", timeout=SOON)
    finally:
        backend.signal("CONT")
    assert answer.rc != 0
    assert "time" in answer.stderr.decode()
    assert deployment.file_digest(client) == demo.sha256


def test_client_destroyed_under_its_reader(make_client, client, backend, mappings):
    """A domain dies with its pages mapped in dom0; natively a process only closes a socket."""
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


def test_reader_killed_in_mid_read(client, demo, backend):
    """The module must not reuse pages of a dead process that a backend still writes to."""
    for _ in range(5):
        reader = start_reader(backend, client)
        reader.kill()
        reader.wait(SOON)
    assert deployment.file_digest(client) == demo.sha256
    assert backend.device(client)["state"] == "Connected"


def test_module_in_use_cannot_be_unloaded(client, demo, backend):
    """The module's count of users and its unloading exist only in a guest's kernel."""
    holder = client.popen("exec 3</dev/vread; echo holding; exec cat", timeout=700)
    holder.wait_output("holding", SOON)
    refused = client.run("rmmod xen_vreadfront")
    assert refused.rc != 0
    assert (
        "in use" in refused.stderr.decode() or "temporarily unavailable" in refused.stderr.decode()
    )
    assert deployment.file_digest(client) == demo.sha256
    holder.kill()
    holder.wait(SOON)
    client.run("rmmod xen_vreadfront", timeout=60).check()
    backend.wait_states(client, "2", "6")  # closed, and offered anew
    assert client.run("test -e /dev/vread").rc != 0
    deployment.load_frontend(client)
    backend.wait_connected(client)
    assert deployment.file_digest(client) == demo.sha256


@pytest.mark.slow
def test_device_detached_under_a_reader(client, backend):
    """The device goes by xenbus under a reader. In `make test`: test_life.py."""
    reader = start_reader(backend, client)
    backend.host.run(["vread", "detach", str(client.domid), "--wait", "120"]).check()
    reader.wait(SOON)
    backend.wait_states(client, "", "")
    eventually(lambda: backend.device(client) is None, what="device gone from status")
    backend.attach(client)
    backend.wait_connected(client)


# Real grants and event channels refuse the first of each; the others tests/unit/test_port_xen.c and
# tests/protocol/test_hostile.py show as well.
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
    """What the backend did, and what it wrote down about it."""
    answer = guest.run(["/hostile_frontend", "0", name], timeout=400)
    assert answer.rc == 0, answer.output
    node = f"/local/domain/0/error/backend/vread/{guest.domid}/0/error"
    error = backend.host.run(["xenstore-read", node])
    return answer.stdout.decode().strip(), error.stdout.decode().strip()


def test_an_honest_frontend_in_user_space_connects(backend, hostile):
    """The hostile frontend reaches vreadd by real grants, so what it is refused for is its lie."""
    assert attack(backend, hostile, "none")[0] == "connected"


@pytest.mark.parametrize("name", REFUSED)
def test_absurd_xenstore_numbers_are_refused(backend, hostile, bystander, demo, name):
    """Xen itself fails the mapping of a foreign page or port, and another guest reads on."""
    outcome, error = attack(backend, hostile, name)
    assert outcome == "refused"
    assert error
    assert vread_one(bystander, demo) == 0


@pytest.mark.parametrize("name", CLOSED)
def test_a_broken_ring_closes_the_device(backend, hostile, bystander, demo, name):
    """The ring is a granted page that a real guest writes at any time."""
    outcome, error = attack(backend, hostile, name)
    assert outcome == "closed"
    assert error
    assert vread_one(bystander, demo) == 0


def test_an_event_storm_does_not_starve_others(backend, hostile, bystander, demo):
    """The events are those of a real event channel, which vreadd unmasks late."""
    storm = hostile.popen(["/hostile_frontend", "0", "event-storm"], timeout=500)
    assert vread_one(bystander, demo) == 0
    assert storm.wait().stdout.decode().strip() == "closed"


def vread_one(guest, demo):
    return guest.run(f"{CAT} {demo.blocks[0].spec()} >/dev/null").rc
