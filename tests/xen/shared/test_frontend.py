# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's kernel module against backends that break the protocol, hang, die or are missing,
and while its guest is saved or its device removed.  hostile_backend takes the place of vreadd.

linux-frontend/core/check.c judges the backend's numbers, offers and answers.
tests/unit/test_frontend_check.c tests all of that natively, so `make test` has one case of each
kind here.
"""

import contextlib

import pytest

from tests.support.tiers import slow
from tests.support.waiting import eventually
from tools.lab import deployment, product
from tools.lab.guest import SAVE_TIMEOUT

pytestmark = pytest.mark.xen

SPEC = "BP-1/blk_1_1"  # hostile_backend has every block
KEY_BYTES = 8192  # as in vread_holder.c
SOON = 120.0
STORM, STORM_MS = 400.0, "400000"
OFFER = {
    "versions": "1",
    "max-queues": "8",
    "max-ring-page-order": "4",
    "max-pool-pages": "32768",
    "role": "client",
    "feature-publish": "0",
    "feature-user": "0",
}
INIT_WAIT, CONNECTED, CLOSING, CLOSED = "2456"


HOLDER = "/usr/bin/vread_holder"


@pytest.fixture(scope="module")
def store(xen_host, hostile_backend):
    """A Backend that only gives access to the device's nodes.  No vreadd runs, but the log file
    exists, so that Backend's reports of failures can show it."""
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
    """Loads the module.  The backend directory is as `xl-vread attach` left it."""
    guest.run("dmesg -c >/dev/null")
    write(store, guest, "state", "1")
    for node, value in OFFER.items():
        write(store, guest, node, value)
    deployment.load_frontend(guest)
    yield
    guest.run(product.unload(), timeout=60).check()


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

    def signal(self, signal):
        self._host.run(f"kill -{signal} $(pidof hostile_backend)").check()

    def wait(self, text):
        """Waits until it prints the text."""
        self._command.wait_output(text, SOON)

    def kill(self, signal):
        """Sends the signal, waits for the end, and returns the last line of output."""
        self.signal(signal)
        return self.last_line()

    def lines(self):
        """Waits for the end, and returns the lines of output."""
        return self._command.wait(SOON).stdout.decode().splitlines()

    def last_line(self):
        return self.lines()[-1]


def holder(guest, *arguments):
    """Runs vread_holder to its end; returns its lines."""
    return guest.text(["vread_holder", *arguments], timeout=SOON).splitlines()


def free_bytes(guest):
    return int(holder(guest, "free")[0])


# ---- loading ---------------------------------------------------------------------------


def test_loading_does_not_wait_for_a_backend(guest, store):
    """The module must load at once without a backend, and an OPEN then gives ENOTCONN.  The
    kernel's xenbus would wait, which only a guest has."""
    guest.run("dmesg -c >/dev/null")
    deployment.load_frontend(guest)
    # xenbus would wait for at least 30 s, and log this after 5 s.
    assert "Waiting for devices to initialise" not in guest.dmesg()
    assert store.states(guest)[1] == "1"
    assert holder(guest, "read", SPEC, "100") == ["open ENOTCONN"]
    guest.run(product.unload()).check()


def test_parameters_out_of_range_are_refused(guest):
    """Loading with a parameter out of range must fail, and the log must name the range.  Only a
    kernel loads a module."""
    for parameter, range_ in (
        ("queues=9", "0 to 8"),
        ("ring_order=5", "0 to 4"),
        ("pool_mib=0", "1 to 128"),
    ):
        assert guest.run(product.load(parameter)).rc != 0
        assert f"parameter {parameter}: must be {range_}" in guest.dmesg()


def test_all_memory_comes_back(guest, store, module):
    """The module is used and unloaded four times; free memory must not shrink.  The memory is the
    kernel's, and its pages are granted."""

    def free_kib():
        return int(guest.text("grep MemFree /proc/meminfo").split()[1])

    rounds = []
    for _ in range(4):
        backend = Backend(store, guest, "none")
        assert holder(guest, "read", SPEC, "30000")[-1] == "read 65536"
        guest.run(product.unload(), timeout=60).check()
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
            ("feature-user", "2", "must be 0 to 1"),
        ),
    ],
)
def test_a_nonsensical_offer_is_refused_by_name(guest, store, module, node, value, words):
    """One node of the offer is wrong: the module must refuse, and log the node and its value.  The
    module reads the offer from xenstore, and goes back by xenbus' states."""
    if value is None:
        remove(store, guest, node)
    else:
        write(store, guest, node, value)
    refuses(store, guest)
    assert f'/{node} is "{value or ""}": {words}' in guest.dmesg()


def refuses(store, guest):
    """Offers once more.  The module must refuse."""
    write(store, guest, "state", INIT_WAIT)
    store.wait_states(guest, INIT_WAIT, CLOSING)
    write(store, guest, "state", CLOSED)
    store.wait_states(guest, CLOSED, CLOSED)


def test_it_gives_up_on_a_backend_that_offers_only_nonsense(guest, store, module):
    """After 8 failed connections the module must ignore further offers.  In a real kernel, each
    failed connection is one of xenbus."""
    write(store, guest, "versions", "2")
    for _ in range(8):
        refuses(store, guest)
    assert "8 failed connections; staying closed" in guest.dmesg()
    write(store, guest, "state", INIT_WAIT)
    # xenbus handles changes in order: when the second device exists, the offer was handled, too.
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
        "too-many-bytes",
        *slow("id-out-of-range", "backwards", "reserved-set", "positive-status"),
    ],
)
def test_a_backend_that_breaks_the_protocol_is_disconnected(guest, store, module, attack):
    """An answer breaks the protocol: the module must disconnect, log the reason, and serve the
    next backend.  The ring is in pages that another domain writes at any time."""
    backend = Backend(store, guest, attack)
    assert holder(guest, "read", SPEC, "30000")[-1].split()[1] == "ENOTCONN"
    assert backend.last_line() == "frontend closed"
    assert "backend broke the protocol on queue 0" in guest.dmesg()
    # The module connects again, and reads work with a correct backend.
    backend = Backend(store, guest, "none")
    assert holder(guest, "read", SPEC, "30000")[-1] == "read 65536"
    assert backend.kill("TERM") == "closing"


def test_an_error_of_the_kernels_own_never_reaches_a_caller(guest, store, module):
    """The backend answers with an errno private to kernels: the caller must get EIO.  The ioctl's
    caller would take the number for one of its own kernel.  tests/unit/test_frontend_check.c tests
    the check, and not that the module calls it."""
    backend = Backend(store, guest, "private-errno")
    assert holder(guest, "read", SPEC, "30000") == ["open EIO"]
    assert backend.running()
    assert backend.kill("TERM") == "closing"


@pytest.mark.parametrize(
    "attack,times,said",
    [("silent-opens", ["1000"], "open"), *slow(("silent-reads", ["30000", "1000"], "reap"))],
)
def test_an_answer_that_does_not_come(guest, store, module, attack, times, said):
    """The backend does not answer: the ioctl must end with ETIME.  The module keeps the time limit
    in the kernel."""
    backend = Backend(store, guest, attack)
    assert holder(guest, "read", SPEC, *times)[-1] == f"{said} ETIME"
    assert backend.kill("TERM") == "closing"


def test_a_death_without_an_event(guest, store, module):
    """The backend dies during an OPEN, and its event is lost.  The OPEN ends with its time limit;
    then the module must see the death and refuse calls at once.  The alive byte is in a page that
    the backend's domain has mapped."""
    backend = Backend(store, guest, "silent-death")
    assert holder(guest, "read", SPEC, "1000") == ["open ETIME"]
    eventually(lambda: "the backend went away" in guest.dmesg(), what="the module's word")
    assert holder(guest, "read", SPEC, "100") == ["open ENOTCONN"]
    assert backend.kill("TERM") == "closing"
    store.wait_states(guest, CLOSED, CLOSED)


def test_who_waits_for_ever_can_be_killed(guest, store, module):
    """A process waits for an OPEN without a time limit; SIGKILL must end it.  The process waits in
    the kernel, where the signal must reach it."""
    backend = Backend(store, guest, "silent")
    waiter = guest.popen("exec vread_holder open BP-1/blk_1_1")
    in_ioctl = "grep -q '^16 ' /proc/$(pidof vread_holder)/syscall"
    eventually(lambda: guest.run(in_ioctl).rc == 0, what="its OPEN")
    assert waiter.running
    waiter.kill()
    waiter.wait(SOON)
    assert backend.kill("TERM") == "closing"


def test_an_event_storm_leaves_the_guest_alive(guest, store, module):
    """The backend sends 100,000 events: the guest must go on running commands, and a read must
    succeed in the end.  The events are interrupts of a guest's kernel."""
    backend = Backend(store, guest, "event-storm")
    for _ in range(5):
        assert guest.run("true", timeout=SOON).rc == 0
    # The read is answered after the storm; its length depends on the emulated processor.
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
    """The backend offers no events: there must be no node for publishers.  The module reads the
    offer from xenstore."""
    offer_to_a_datanode(store, guest, feature)
    backend = Backend(store, guest, "silent")  # would not answer the event
    assert b"/dev/vread-publish: no such device" in publish(guest).stderr
    assert backend.kill("TERM") == "closing"


@pytest.mark.slow
def test_an_event_is_answered(guest, store, module):
    """Publishing must succeed when the backend answers.  The ioctl waits in the module.
    `make test` instead runs test_publish.py, with vreadd."""
    offer_to_a_datanode(store, guest)
    backend = Backend(store, guest, "none")
    assert publish(guest).rc == 0
    assert backend.kill("TERM") == "closing"


@pytest.mark.slow
def test_an_event_that_is_not_answered(guest, store, module):
    """The backend does not answer an event: publishing must fail in time.  The module keeps the
    time limit.  `make test` instead tests the limit of an OPEN, above."""
    offer_to_a_datanode(store, guest)
    backend = Backend(store, guest, "silent")
    done = publish(guest, 3000)
    assert (done.rc, b"no answer in time" in done.stderr) == (1, True), done.stderr
    assert backend.kill("TERM") == "closing"


def test_keys_are_wiped_after_the_answer(guest, store, module):
    """The backend keeps its mapping of the pages of a KEYS.  At the next OPEN, no byte of the keys
    may be left in these pages.  Only a backend sees the module's granted pages."""
    offer_to_a_datanode(store, guest)
    backend = Backend(store, guest, "keeps-keys")
    assert holder(guest, "keys", SPEC) == ["keys ok", "open ok"]
    assert backend.kill("TERM") == "closing"
    assert backend.lines()[1:3] == [f"{KEY_BYTES} bytes of keys", "0 bytes of keys"]


# ---- backends that die ----------------------------------------------------------------------


@pytest.mark.parametrize("signal", ["KILL", *slow("TERM")])
def test_pages_of_a_dead_process_wait_until_no_backend_can_write_there(
    guest, store, module, signal
):
    """A reader is killed with a READ under way; its pages must be given back only when the backend
    has ended.  The pages are granted, and the module may free them only once no other domain has
    them."""
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


def test_pages_that_outlive_a_backend_stay_in_quarantine(guest, store, module):
    """A backend dies, its ring goes, and a page of the pool stays mapped, as an adapter for RDMA
    keeps it.  No page that was given back may be used, and no connection made, before that mapping
    is gone.  The guest's grant table shows it."""
    backend = Backend(store, guest, "keeps-pages")
    before = free_bytes(guest)
    reader = guest.popen(["vread_holder", "in-flight", SPEC])
    reader.wait_output("submit ok", SOON)
    backend.signal("TERM")
    backend.wait("ring gone")
    reader.kill()
    reader.wait(SOON)
    eventually(lambda: "still in use" in guest.dmesg(), what="the grant table asked")
    assert free_bytes(guest) < before
    write(store, guest, "state", INIT_WAIT)
    waits = "an earlier backend still has the pool mapped"
    eventually(lambda: waits in guest.dmesg(), what="the module's word")
    assert store.states(guest) == (INIT_WAIT, CLOSED)
    assert free_bytes(guest) < before
    backend.kill("TERM")
    store.wait_states(guest, INIT_WAIT, "3")
    assert free_bytes(guest) == before
    again = Backend(store, guest, "none")
    assert holder(guest, "read", SPEC, "30000")[-1] == "read 65536"
    again.kill("TERM")


def test_a_handle_of_a_dead_backend_is_none_of_the_next(guest, store, module):
    """A backend dies, and another one connects: a handle of the first must give ENOTCONN, because
    its number may be that of another block now.  Only the module knows which backend a handle is
    of."""
    first = Backend(store, guest, "none")
    user = guest.popen(["vread_holder", "again", SPEC])
    user.wait_output("holding", SOON)
    first.kill("TERM")
    second = Backend(store, guest, "none")
    guest.run("touch /run/again").check()
    said = user.wait(SOON).stdout.decode().splitlines()
    assert said[-4:] == ["submit ENOTCONN", "stat ENOTCONN", "open ok", "open worked"]
    assert second.kill("TERM") == "closing"


def test_a_backend_dead_before_it_was_connected(guest, store, module):
    """The backend dies before both ends are connected: the module must log this and not connect.
    Only an event channel tells of such a death."""
    backend = Backend(store, guest, "dead-on-arrival", connected=False)
    eventually(lambda: "died before it was connected" in guest.dmesg(), what="the module's word")
    assert store.states(guest) == (CONNECTED, "3")
    assert holder(guest, "read", SPEC, "100") == ["open ENOTCONN"]
    assert backend.kill("TERM") == "closing"
    store.wait_states(guest, CLOSED, CLOSED)


# ---- devices that go -----------------------------------------------------------------------


def test_device_removed_under_an_open_file(guest, store, module):
    """The device is detached under an open file: calls must give ENODEV, the mapping must stay, and
    the node must come back after attach.  xenbus and the kernel's device model remove the node in
    /dev."""
    Backend(store, guest, "none")
    user = guest.popen(["vread_holder", "hold", SPEC])
    user.wait_output("holding", SOON)
    store.host.run(["xl-vread", "detach", str(guest.domid), "--wait", "120"]).check()
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
    device = ["--temporary", str(guest.domid), "id=1,datanodes=*"]
    store.host.run(["xl-vread", "attach", *device]).check()
    eventually(lambda: guest.run("test -c /dev/vread1").rc == 0, what="/dev/vread1")
    yield
    store.host.run(["xl-vread", "detach", str(guest.domid), "--id", "1", "--force"]).check()
    eventually(lambda: guest.run("test -e /dev/vread1").rc != 0, what="/dev/vread1 gone")


def test_a_second_device_has_a_node_of_its_own(guest, store, module):
    """A second device must get its own node, and the first node must stay.  The kernel makes the
    nodes in /dev."""
    with a_second_device(store, guest):
        assert guest.run("test -c /dev/vread").rc == 0
    assert guest.run("test -c /dev/vread").rc == 0


# A restored guest has no agent.  So the guest reports through its own xenstore node.
REPORTER = """
while :; do
  answer=$(vread_holder read BP-1/blk_1_1 5000 | tail -n 1)
  bugs=$(dmesg | grep -cE 'WARNING:|BUG:|Oops' )
  xenstore-write data/report "$answer, $bugs bugs"
done </dev/null >/dev/null 2>&1 &
"""


def next_report(host, guest):
    """Waits for the next report.  The first report may be about a read before this call."""
    node = f"/local/domain/{guest.domid}/data/report"
    host.run(["xenstore-rm", node])
    eventually(lambda: host.run(["xenstore-exists", node]).rc == 0, what="a report")
    return host.text(["xenstore-read", node]).strip()


@pytest.mark.slow
def test_saved_and_restored(store, vread_holder):
    """A guest with a handle and a mapped pool is saved and restored as another domain; its reads
    must work again, without a kernel bug.  `make test` instead runs test_life.py."""
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
        next_report(host, guest)  # may be about a read before the save
        eventually(
            lambda: next_report(host, guest) == "read 65536, 0 bugs",
            what="a read after the restore",
        )
    finally:
        host.run(["xl", "destroy", str(guest.domid)]).check()
