# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about devices of Xen (tests/field/README.md), with domains that the test plays."""

import errno
from pathlib import Path

import pytest

from tests.cli.xenstored import IS_DOMAIN_INTRODUCED, TRANSACTION_START, WATCH, WRITE
from tests.protocol.conftest import clock, image, start_daemon  # noqa: F401
from tests.support.daemon import open_block
from tests.support.localfront import STAT, Gone, request
from tests.support.waiting import eventually
from tests.support.xenfront import (
    CLOSED,
    CLOSING,
    CONNECTED,
    INIT_WAIT,
    INITIALISED,
    INITIALISING,
    XenHost,
)

SOON = 6  # s, however busy the machine is


@pytest.fixture
def xen(tmp_path):
    with XenHost(tmp_path) as host:
        yield host


@pytest.fixture
def daemon(xen, start_daemon):  # noqa: F811
    return start_daemon(xen="yes", wrapper=xen.wrapper)


def read_first(front, image):  # noqa: F811
    block = image.blocks[0]
    handle = open_block(front, block)
    assert front.read(handle, 0, 65536) == image.contents[block.id][:65536]


# ---- shortages of the host -----------------------------------------------------------


def refuse(xen, kind, error="ENOSPC"):
    """xenstored refuses all requests of a kind."""
    xen.store.refuses = lambda asked, _: error if asked == kind else None


@pytest.mark.parametrize("lacking", ["gntdev", "grants-7", "event-7-20"])
def test_a_shortage_of_the_host_passes(xen, daemon, clock, image, lacking):  # noqa: F811
    """The host cannot map, or has no channel."""
    domain, path = xen.domain(7), xen.folder / lacking
    with domain.front() as front:
        hidden = path.rename(path.with_name("hidden"))
        with pytest.raises(Gone):
            front.connect()
        domain.wait_for(CLOSED)
        assert "cannot" in domain.error
        front.say(CLOSED)
        hidden.rename(path)
        read_first(front.connect_in_time(clock), image)


def test_a_shortage_that_lasts(xen, daemon, clock):  # noqa: F811
    """It is told once, and tried ever more rarely."""
    domain = xen.domain(7)
    xen.gntdev.unlink()
    waited = []
    with domain.front() as front:
        for _ in range(8):
            domain.wait_for(INIT_WAIT)
            with pytest.raises(Gone):
                front.connect()
            domain.wait_for(CLOSED)
            front.say(CLOSED)
            before = clock.ms
            clock.until(lambda: domain.state == INIT_WAIT, step=0.5, seconds=SOON)
            waited.append(clock.ms - before)
    assert max(waited) >= 16_000
    assert daemon.log().count("warning: xen:7/0: refused: cannot open the grant device") == 1


@pytest.mark.parametrize("kind", [TRANSACTION_START, WATCH])
def test_xenstored_has_no_room_for_a_while(xen, daemon, clock, image, kind):  # noqa: F811
    """A driver domain has quotas of transactions and watches."""
    refuse(xen, kind)
    domain = xen.domain(7)
    eventually(lambda: "No space left on device" in daemon.log(), SOON)
    assert domain.state == INITIALISING
    xen.store.refuses = None
    with domain.front() as front:
        read_first(front.connect_in_time(clock), image)


@pytest.mark.parametrize("state", [CONNECTED, CLOSING, CLOSED])
def test_a_state_that_cannot_be_written(xen, daemon, clock, state):  # noqa: F811
    """The frontend waits for a state that xenstored did not take."""
    domain = xen.domain(7)

    def is_that_state(kind, words):
        return "ENOSPC" if kind == WRITE and words[:2] == [f"{domain.backend}/state", state] else ""

    with domain.front() as front:
        domain.wait_for(INIT_WAIT)
        front.offer()
        xen.store.refuses = is_that_state
        front.say(INITIALISED)
        if state != CONNECTED:
            domain.wait_for(CONNECTED)
            front.say(CLOSING)
        daemon.wait_until(lambda: "cannot write state" in daemon.log())
        assert domain.state != state
        xen.store.refuses = None
        last = CONNECTED if state == CONNECTED else CLOSED
        clock.until(lambda: domain.state == last, step=0.5, seconds=SOON)


# ---- rights --------------------------------------------------------------------------


def test_mistaken_rights_put_right(xen, daemon, clock, image):  # noqa: F811
    """A toolstack writes a list that is none into a device that is connected, and then a right
    one. The driver in the guest has answered Closed by Closed meanwhile."""
    domain = xen.domain(7)
    allowed = f"{domain.backend}/allow-datanodes"
    with domain.front() as front:
        front.connect()
        xen.store.put(allowed, "dn1  dn2")
        domain.wait_for(CLOSED)
        front.say(CLOSED)
        xen.store.put(allowed, "dn1 dn2")
        read_first(front.connect_in_time(clock), image)


# ---- what xenstored tells ------------------------------------------------------------


def test_xenstored_does_not_tell_which_domains_there_are(xen, daemon, image):  # noqa: F811
    """Some xenstoreds tell only dom0.  A device of a guest that runs is not taken away."""
    refuse(xen, IS_DOMAIN_INTRODUCED, "EACCES")
    domain = xen.domain(7)
    with domain.front() as front:
        read_first(front.connect(), image)
        for _ in range(3):
            xen.store.put(f"{domain.backend}/online", "1")
        read_first(front, image)
        assert domain.state == CONNECTED


def test_an_offer_before_the_backend_is_ready(xen, start_daemon, image):  # noqa: F811
    """The driver is quicker than vreadd, which starts when the frontend is Initialised."""
    domain = xen.domain(7)
    with domain.front() as front:
        front.offer()
        front.say(INITIALISED)
        start_daemon(xen="yes", wrapper=xen.wrapper)
        domain.wait_for(CONNECTED)
        read_first(front, image)


def test_another_driver_finds_the_device_connected(xen, daemon, image):  # noqa: F811
    """A boot loader or a kernel before kexec used the device, and did not close it."""
    domain = xen.domain(7)
    with domain.front() as front:
        read_first(front.connect(), image)
        front.say(INITIALISING)
        read_first(front.connect(), image)
    assert daemon.log().count("xen:7/0: connected") == 2


def test_a_request_before_the_backend_listens(xen, daemon, image):  # noqa: F811
    """The event of the request went to nobody."""
    domain = xen.domain(7)
    with domain.front() as front:
        domain.wait_for(INIT_WAIT)
        front.offer()
        front.queues[0].put(request(STAT, 3, handle=9))
        front.queues[0].set_producer(1)
        front.say(INITIALISED)
        (response,) = front.responses(1)
        assert (response.id, response.status) == (3, -errno.EBADF)
        read_first(front, image)


@pytest.mark.parametrize("supervised", [True, False])
def test_xenstored_begins_after_vreadd(xen, start_daemon, clock, image, supervised):  # noqa: F811
    """A vreadd that a service manager has started ends, to be started again.  Another one says that
    it has to be."""
    late = xen.folder / "late"
    service = [f"NOTIFY_SOCKET={xen.folder}/notify"] if supervised else ["-u", "NOTIFY_SOCKET"]
    wrapper = ["env", *service, *xen.wrapper, f"XENSTORED_PATH={late}"]
    domain = xen.domain(7)
    daemon = start_daemon(xen="auto", wrapper=wrapper)
    assert daemon.status()["ports"]["xen"]["state"] == "unavailable"
    clock.advance(600)
    with daemon.front(pool_pages=64) as local:
        read_first(local, image)
    late.symlink_to(xen.store.path)
    said = "there is a xenstore now"
    clock.until(lambda: said in daemon.log(), step=1, seconds=SOON)
    if supervised:
        daemon.killed = True  # its exit status is that of an error
        assert daemon.process.wait(SOON) == 1
        start_daemon(xen="auto", wrapper=wrapper)
        with domain.front() as front:
            read_first(front.connect(), image)
    else:
        clock.advance(600)
        with daemon.front(pool_pages=64) as local:
            read_first(local, image)
        assert daemon.log().count(said) == 1


@pytest.mark.parametrize("connected", [False, True])
def test_xenstored_ends(xen, daemon, image, connected):  # noqa: F811
    """vreadd ends, too, so that its service is started again, and does not seem to serve."""
    with xen.domain(7).front() as front:
        if connected:
            read_first(front.connect(), image)
        daemon.killed = True  # its exit status is that of an error
        xen.store.hang_up()
        assert daemon.process.wait(SOON) == 1
    assert daemon.log().count("xenstored does not answer any more") == 1


# ---- domains that go and come --------------------------------------------------------


def mapped(daemon, domain):
    """How many mappings vreadd has of the domain's memory."""
    maps = Path(f"/proc/{daemon.process.pid}/maps").read_text()
    return maps.count(f"/grants-{domain.domid}")


def destroy(xen, domain):
    """As xl destroy: the frontend's nodes go, and nobody removes the backend's."""
    xen.store.remove(domain.home)
    xen.store.fire_special("@releaseDomain")


@pytest.mark.parametrize("state", [INIT_WAIT, INITIALISED, CONNECTED, CLOSING])
def test_a_destroyed_domain_is_not_kept(xen, daemon, image, state):  # noqa: F811
    """Whatever the frontend was about to do, nothing of the domain stays mapped."""
    domain, other = xen.domain(7), xen.domain(8, vm="/vm/bbbb")
    with domain.front() as front, other.front() as neighbour:
        neighbour.connect()
        domain.wait_for(INIT_WAIT)
        if state != INIT_WAIT:
            front.offer()
            front.say(INITIALISED)
        if state in (CONNECTED, CLOSING):
            domain.wait_for(CONNECTED)
            front.say(CONNECTED)
            assert mapped(daemon, domain)
        if state == CLOSING:
            front.say(CLOSING)
        destroy(xen, domain)
        eventually(lambda: domain.state is None and not mapped(daemon, domain), SOON)
        assert not [path for path in xen.store.nodes if path.startswith(domain.backend[:-2])]
        read_first(neighbour, image)


def test_a_device_removed_while_it_connects(xen, daemon, clock, image):  # noqa: F811
    """Somebody removes the backend's nodes at any moment, and then the frontend's.  Memory that
    goes while it is mapped is a fault that vreadd tries to get over after a while."""
    for _ in range(10):
        domain = xen.domain(7)
        with domain.front() as front:
            clock.until(lambda d=domain: d.state == INIT_WAIT, step=0.5, seconds=60)
            front.offer()
            front.say(INITIALISED)
            xen.store.remove(domain.backend)
            eventually(lambda d=domain: not mapped(daemon, d), SOON)
            xen.store.remove(domain.device)
            assert domain.state is None
    with xen.domain(7).front() as front:
        read_first(front.connect_in_time(clock), image)


def test_a_domain_without_a_uuid(xen, daemon, image):  # noqa: F811
    """A toolstack that writes no vm node.  The next domain has the same number, and vreadd has not
    seen the end of the first one."""
    domain = xen.domain(7, vm=None)
    with domain.front() as front:
        read_first(front.connect(), image)
        with xen.store.lock:
            xen.store.tree.remove(domain.home)
            xen.store.tree.remove(domain.backend)
            successor = xen.domain(7, vm=None)
    with successor.front() as front:
        read_first(front.connect(), image)


def test_two_domains_of_one_uuid(xen, daemon, image):  # noqa: F811
    """A guest that migrates within its host is two domains for a while."""
    old, new = xen.domain(7), xen.domain(9)
    with old.front() as front, new.front() as successor:
        read_first(front.connect(), image)
        read_first(successor.connect(), image)
        read_first(front, image)
        destroy(xen, old)
        eventually(lambda: old.state is None, SOON)
        read_first(successor, image)


# ---- disks ---------------------------------------------------------------------------


def test_a_disk_that_hotplug_names_elsewhere(xen, start_daemon, image):  # noqa: F811
    """A hotplug script wrote the path of the disk after the toolstack, and params has none."""
    disk = "/local/domain/0/backend/vbd3/7/51712"
    xen.store.put(f"{disk}/params", "backend:nbd")
    xen.store.put(f"{disk}/mode", "w")
    daemon = start_daemon(xen="yes", wrapper=xen.wrapper)

    def used():
        (datanode,) = daemon.status()["datanodes"]
        return [(i.get("owner"), i["mode"]) for i in datanode["images"]]

    assert used() == [(None, "buffered")]
    xen.store.put(f"{disk}/physical-device-path", str(image.path))
    daemon.wait_until(lambda: used() == [(7, "direct")])
