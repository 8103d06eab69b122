# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's kernel module against backends that lie, hang, die or were never there, and
through the events of a guest's life.  hostile_backend takes the place of vreadd.

What the module makes of numbers, offers and answers is in linux-frontend/check.c, which
tests/unit/test_frontend_check.c has natively, all of it: so here is one of each.
"""

import contextlib

import pytest

from tests.support.waiting import eventually
from tests.xen.tiers import slow
from tools.lab import deployment, product
from tools.lab.guest import SAVE_TIMEOUT

pytestmark = pytest.mark.xen

SPEC = "BP-1/blk_1_1"  # hostile_backend has every block
SOON = 120.0
STORM, STORM_MS = 400.0, "400000"
OFFER = {
    "versions": "1",
    "max-queues": "8",
    "max-ring-page-order": "4",
    "max-pool-pages": "32768",
    "role": "client",
    "feature-publish": "0",
}
INIT_WAIT, CONNECTED, CLOSING, CLOSED = "2456"


HOLDER = "/usr/bin/vread_holder"


@pytest.fixture(scope="module")
def store(xen_host, hostile_backend):
    """A device's nodes; no vreadd runs meanwhile, but what shows its log shall work."""
    xen_host.put(hostile_backend, "/usr/bin/hostile_backend")
    xen_host.run(["touch", deployment.LOG]).check()
    return deployment.Backend(xen_host, {})


@pytest.fixture(scope="module")
def guest(store, vread_holder, until_module_ends):
    made = until_module_ends(store.host.create_guest("front", files={HOLDER: vread_holder}))
    store.attach(made)
    return made


@pytest.fixture
def module(guest, store):
    """The module, freshly loaded; the backend directory is as `vread attach` left it."""
    guest.run("dmesg -c >/dev/null")
    write(store, guest, "state", "1")
    for node, value in OFFER.items():
        write(store, guest, node, value)
    deployment.load_frontend(guest)
    yield
    guest.run("rmmod xen_vreadfront", timeout=60).check()


def write(store, guest, node, value):
    path = f"{store.backend_path(guest)}/{node}"
    store.host.run(["xenstore-write", "--", path, value]).check()


def remove(store, guest, node):
    store.host.run(["xenstore-rm", f"{store.backend_path(guest)}/{node}"]).check()


class Backend:
    """hostile_backend, connected to the guest."""

    def __init__(self, store, guest, attack, connected=True):
        self._host = store.host
        self._command = self._host.popen(["hostile_backend", str(guest.domid), "0", attack])
        self._command.wait_output("connected", SOON)
        if connected:
            store.wait_states(guest, CONNECTED, CONNECTED)

    def running(self):
        return self._command.running

    def kill(self, signal):
        """Signals it and returns its last line."""
        self._host.run(f"kill -{signal} $(pidof hostile_backend)").check()
        return self.last_line()

    def last_line(self):
        return self._command.wait(SOON).stdout.decode().splitlines()[-1]


def holder(guest, *arguments):
    """Lines of a vread_holder that ends by itself."""
    return guest.text(["vread_holder", *arguments], timeout=SOON).splitlines()


def free_bytes(guest):
    return int(holder(guest, "free")[0])


# ---- loading ---------------------------------------------------------------------------


def test_loading_does_not_wait_for_a_backend(guest, store):
    """It is the kernel's xenbus that would wait."""
    guest.run("dmesg -c >/dev/null")
    deployment.load_frontend(guest)
    # xenbus would wait for thirty seconds at least, and say so after five.
    assert "Waiting for devices to initialise" not in guest.dmesg()
    assert store.states(guest)[1] == "1"
    assert holder(guest, "read", SPEC, "100") == ["open ENOTCONN"]
    guest.run("rmmod xen_vreadfront").check()


def test_parameters_out_of_range_are_refused(guest):
    """Only a kernel loads a module."""
    for parameter, range_ in (
        ("queues=9", "0 to 8"),
        ("ring_order=5", "0 to 4"),
        ("pool_mib=0", "1 to 128"),
    ):
        assert guest.run(f"insmod {product.MODULE} {parameter}").rc != 0
        assert f"parameter {parameter}: must be {range_}" in guest.dmesg()


def test_all_memory_comes_back(guest, store, module):
    """The memory is the kernel's, and its pages are granted."""

    def free_kib():
        return int(guest.text("grep MemFree /proc/meminfo").split()[1])

    rounds = []
    for _ in range(4):
        backend = Backend(store, guest, "none")
        assert holder(guest, "read", SPEC, "30000")[-1] == "read 65536"
        guest.run("rmmod xen_vreadfront", timeout=60).check()
        assert backend.last_line() == "frontend closed"
        deployment.load_frontend(guest)
        rounds.append(free_kib())
    assert rounds[1] - rounds[-1] < 4096, rounds  # the pool is 16 MiB


# ---- what a backend offers -----------------------------------------------------------------


@pytest.mark.parametrize(
    "node,value,words",
    [
        ("max-queues", None, "must be 1 to 8"),
        *slow(
            ("versions", "2", "version 1 is needed"),
            ("versions", "1x", "version 1 is needed"),
            ("max-queues", "0", "must be 1 to 8"),
            ("max-queues", "-1", "must be 1 to 8"),
            ("max-ring-page-order", "5", "must be 0 to 4"),
            ("max-pool-pages", "15", "must be 16 to 32768"),
            ("max-pool-pages", "99999999999999999999", "must be 16 to 32768"),
            ("max-pool-pages", " 4096", "must be 16 to 32768"),
            ("role", "admin", "must be client or datanode"),
            ("feature-publish", "2", "must be 0 to 1"),
            ("feature-publish", "", "must be 0 to 1"),
        ),
    ],
)
def test_a_nonsensical_offer_is_refused_by_name(guest, store, module, node, value, words):
    """The module reads the offer from xenstore, and goes back by xenbus' states."""
    if value is None:
        remove(store, guest, node)
    else:
        write(store, guest, node, value)
    refuses(store, guest)
    assert f'/{node} is "{value or ""}": {words}' in guest.dmesg()


def refuses(store, guest):
    """Offered once more, and refused."""
    write(store, guest, "state", INIT_WAIT)
    store.wait_states(guest, INIT_WAIT, CLOSING)
    write(store, guest, "state", CLOSED)
    store.wait_states(guest, CLOSED, CLOSED)


def test_it_gives_up_on_a_backend_that_offers_only_nonsense(guest, store, module):
    """Each failed connection is one more of xenbus' in a real kernel."""
    write(store, guest, "versions", "2")
    for _ in range(8):
        refuses(store, guest)
    assert "8 failed connections; staying closed" in guest.dmesg()
    write(store, guest, "state", INIT_WAIT)
    # xenbus takes changes one after the other, so once this device is there that one was seen.
    with a_second_device(store, guest):
        assert store.states(guest) == (INIT_WAIT, CLOSED)
    write(store, guest, "state", CLOSED)


# ---- what a backend answers ---------------------------------------------------------------


@pytest.mark.parametrize(
    "attack",
    [
        "answer-twice",
        "wrong-operation",
        "overflow",
        "id-not-in-flight",
        *slow("id-out-of-range", "backwards"),
        *slow("reserved-set", "positive-status", "too-many-bytes"),
    ],
)
def test_a_backend_that_breaks_the_protocol_is_disconnected(guest, store, module, attack):
    """The module judges a ring in pages that another domain writes at any time."""
    backend = Backend(store, guest, attack)
    assert holder(guest, "read", SPEC, "30000")[-1].split()[1] == "ENOTCONN"
    assert backend.last_line() == "frontend closed"
    assert "backend broke the protocol on queue 0" in guest.dmesg()
    # It is given another chance, and one that behaves is served.
    backend = Backend(store, guest, "none")
    assert holder(guest, "read", SPEC, "30000")[-1] == "read 65536"
    assert backend.kill("TERM") == "closing"


@pytest.mark.slow
def test_an_error_of_the_kernels_own_never_reaches_a_caller(guest, store, module):
    """An ioctl would take it for its own. In `make test`: tests/unit/test_frontend_check.c."""
    backend = Backend(store, guest, "private-errno")
    assert holder(guest, "read", SPEC, "30000") == ["open EIO"]
    assert backend.running()
    assert backend.kill("TERM") == "closing"


@pytest.mark.parametrize(
    "attack,times,said",
    [("silent-opens", ["1000"], "open"), *slow(("silent-reads", ["30000", "1000"], "reap"))],
)
def test_an_answer_that_does_not_come(guest, store, module, attack, times, said):
    """The module keeps the time limit, in the kernel."""
    backend = Backend(store, guest, attack)
    assert holder(guest, "read", SPEC, *times)[-1] == f"{said} ETIME"
    assert backend.kill("TERM") == "closing"


def test_who_waits_for_ever_can_be_killed(guest, store, module):
    """The process waits in the kernel, where a signal must reach it."""
    backend = Backend(store, guest, "silent")
    waiter = guest.popen("exec vread_holder open BP-1/blk_1_1")
    in_ioctl = "grep -q '^16 ' /proc/$(pidof vread_holder)/syscall"
    eventually(lambda: guest.run(in_ioctl).rc == 0, what="its OPEN")
    assert waiter.running
    waiter.kill()
    waiter.wait(SOON)
    assert backend.kill("TERM") == "closing"


def test_an_event_storm_leaves_the_guest_alive(guest, store, module):
    """The events are interrupts of a guest's kernel."""
    backend = Backend(store, guest, "event-storm")
    for _ in range(5):
        assert guest.run("true", timeout=SOON).rc == 0
    # It is answered when the storm is over, which is a matter of the emulated processor.
    read = guest.text(["vread_holder", "read", SPEC, STORM_MS], timeout=STORM)
    assert read.splitlines()[-1] == "read 65536"
    assert backend.kill("TERM") == "closing"


# ---- events ---------------------------------------------------------------------------------


def publish(guest, milliseconds=30000):
    command = ["vread", "publish", "delete", f"{SPEC}@DS-1", "--timeout", str(milliseconds)]
    return guest.run(command)


def offer_to_a_datanode(store, guest, feature="1"):
    write(store, guest, "role", "datanode")
    if feature:
        write(store, guest, "feature-publish", feature)
    else:
        remove(store, guest, "feature-publish")


@pytest.mark.parametrize("feature", ["0", *slow(None)])
def test_a_backend_that_takes_no_events_is_sent_none(guest, store, module, feature):
    """The module reads what is offered from xenstore."""
    offer_to_a_datanode(store, guest, feature)
    backend = Backend(store, guest, "silent")  # would leave it unanswered
    assert b"this device takes no events" in publish(guest).stderr
    assert backend.kill("TERM") == "closing"


@pytest.mark.slow
def test_an_event_is_answered(guest, store, module):
    """The ioctl waits in the module. In `make test`: test_publish.py, with vreadd."""
    offer_to_a_datanode(store, guest)
    backend = Backend(store, guest, "none")
    assert publish(guest).rc == 0
    assert backend.kill("TERM") == "closing"


@pytest.mark.slow
def test_an_event_that_is_not_answered(guest, store, module):
    """The module keeps the time limit. In `make test`: of an OPEN, above."""
    offer_to_a_datanode(store, guest)
    backend = Backend(store, guest, "silent")
    done = publish(guest, 3000)
    assert (done.rc, b"no answer in time" in done.stderr) == (1, True), done.stderr
    assert backend.kill("TERM") == "closing"


# ---- backends that die ----------------------------------------------------------------------


@pytest.mark.parametrize("signal", ["KILL", *slow("TERM")])
def test_pages_of_a_dead_process_wait_until_no_backend_can_write_there(
    guest, store, module, signal
):
    """The pages are granted, and the module may free them only once no other domain has them."""
    backend = Backend(store, guest, "silent-reads")
    before = free_bytes(guest)
    reader = guest.popen(["vread_holder", "in-flight", SPEC])
    reader.wait_output("submit ok", SOON)
    reader.kill()
    reader.wait(SOON)
    assert free_bytes(guest) < before
    backend.kill(signal)
    eventually(lambda: free_bytes(guest) == before, what="pages given back")
    again = Backend(store, guest, "none")
    assert holder(guest, "read", SPEC, "30000")[-1] == "read 65536"
    again.kill("TERM")


def test_a_backend_dead_before_it_was_connected(guest, store, module):
    """Only an event channel tells of a backend that died before both ends were connected."""
    backend = Backend(store, guest, "dead-on-arrival", connected=False)
    eventually(lambda: "died before it was connected" in guest.dmesg(), what="the module's word")
    assert store.states(guest) == (CONNECTED, "3")
    assert holder(guest, "read", SPEC, "100") == ["open ENOTCONN"]
    assert backend.kill("TERM") == "closing"
    store.wait_states(guest, CLOSED, CLOSED)


# ---- devices that go -----------------------------------------------------------------------


def test_device_removed_under_an_open_file(guest, store, module):
    """The node in /dev goes under an open file, by xenbus and the kernel's device model."""
    Backend(store, guest, "none")
    user = guest.popen(["vread_holder", "hold", SPEC])
    user.wait_output("holding", SOON)
    store.host.run(["vread", "detach", str(guest.domid), "--wait", "120"]).check()
    said = user.wait(SOON).stdout.decode().splitlines()
    assert said[-5:] == [
        "hangup",
        "info ENODEV",
        "open ENODEV",
        "open failed",
        "mapping intact",
    ]
    assert guest.run("test -e /dev/vread").rc != 0
    store.attach(guest)
    eventually(lambda: guest.run("test -e /dev/vread").rc == 0, what="device node back")


@contextlib.contextmanager
def a_second_device(store, guest):
    store.host.run(["vread", "attach", str(guest.domid), "--id", "1"]).check()
    eventually(lambda: guest.run("test -c /dev/vread1").rc == 0, what="/dev/vread1")
    yield
    store.host.run(["vread", "detach", str(guest.domid), "--id", "1", "--force"]).check()
    eventually(lambda: guest.run("test -e /dev/vread1").rc != 0, what="/dev/vread1 gone")


def test_a_second_device_has_a_node_of_its_own(guest, store, module):
    """The nodes in /dev are made by the kernel."""
    with a_second_device(store, guest):
        assert guest.run("test -c /dev/vread").rc == 0
    assert guest.run("test -c /dev/vread").rc == 0


# A guest that is restored has lost its agent: it reports through its own xenstore node.
REPORTER = """
while :; do
  answer=$(vread_holder read BP-1/blk_1_1 5000 | tail -n 1)
  bugs=$(dmesg | grep -cE 'WARNING:|BUG:|Oops' )
  xenstore-write data/report "$answer, $bugs bugs"
done </dev/null >/dev/null 2>&1 &
"""


def next_report(host, guest):
    """What the reporter says from now on; its first word may be of what it did before."""
    node = f"/local/domain/{guest.domid}/data/report"
    host.run(["xenstore-rm", node])
    eventually(lambda: host.run(["xenstore-exists", node]).rc == 0, what="a report")
    return host.text(["xenstore-read", node]).strip()


@pytest.mark.slow
def test_saved_and_restored(store, vread_holder):
    """A handle and a mapped pool outlive their domain. In `make test`: test_life.py."""
    host = store.host
    guest = host.create_guest("traveller", files={HOLDER: vread_holder})
    store.attach(guest)
    deployment.load_frontend(guest)
    Backend(store, guest, "none")
    guest.popen(["vread_holder", "hold", SPEC]).wait_output("holding", SOON)
    guest.run(REPORTER).check()
    host.run("xl save traveller /run/saved", timeout=SAVE_TIMEOUT).check()
    host.run("xl restore -p /run/saved && rm /run/saved", timeout=SAVE_TIMEOUT).check()
    guest.domid = int(host.text("xl domid traveller"))
    store.attach(guest)
    host.run("xl unpause traveller").check()
    try:
        Backend(store, guest, "none")
        next_report(host, guest)  # may still tell of a read before the save
        eventually(
            lambda: next_report(host, guest) == "read 65536, 0 bugs",
            what="a read after the restore",
        )
    finally:
        host.run(["xl", "destroy", str(guest.domid)]).check()
