# SPDX-License-Identifier: GPL-2.0-or-later
"""Each party ends once in each phase.  Afterwards a guest must read by vRead again, blocks of its
own host and of the other, and a datanode must publish again, without an operator.  Grants, event
channels, descriptors and memory of vreadd must be what they were.

What a host does by itself is done here: systemd starts vreadd again, and the toolstack makes a
domain again.  The summary of the run has the results as a table (tests/runner/cells.py).
"""

import contextlib
import hashlib
import re

import pytest

from tests.runner.cells import cells
from tests.support.waiting import eventually
from tests.xen.pair.conftest import ENDPOINT
from tests.xen.pair.reading import READER, SOON, read, until
from tools.lab import LabError, deployment, product
from tools.peers import installed_host, peer

# All of it is slow.  `make test` instead runs shared/test_faults.py, test_remote_faults.py and
# shared/test_life.py, which have one case of each kind.
pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(1800)]

IP = "/usr/sbin/ip"
MODULE = "xen_vreadfront"
UNLOAD = product.unload()
DISK, DATANODE = "/dev/vda", "own"
# Caches fill while guests read.
MEMORY_MIB = 64
# A program that has a device open.  It waits until there is one.
HOLDER = "until {{ exec 3</dev/{}; }} 2>/dev/null; do sleep 0.1; done; echo holding; exec cat"


class Site:
    """A client and a datanode's domain on the near host.  The client reads the shortest block of
    each host, because it reads them twice or more for each cell of the table."""

    def __init__(self, near_host, far, replicas, own_replicas, folder):
        self.host, self.far = near_host, far
        content = own_replicas.shortest + replicas.shortest
        self.digest = hashlib.sha256(content).hexdigest()
        self.block = own_replicas.lines[-1].strip()
        self.listing = folder / "both.txt"
        self.listing.write_text(own_replicas.lines[-1] + replicas.lines[-1])
        extra = installed_host("near", transports="tcp", answer_timeout=20000)
        extra += peer("far", address=ENDPOINT, storages=f"dn1/{replicas.storage}")
        disk = {DATANODE: deployment.Datanode(DISK, data_dirs=("/data",))}
        self.near = deployment.Backend(near_host, disk, extra=extra)
        self.client = self.owner = None
        self.made = 0

    # ---- life -------------------------------------------------------------------------------

    def start(self):
        self.near.start()
        self.make_client()
        self.make_owner()
        self.works()
        self.before = self.held()
        assert all(self.before.values()), self.before

    def end(self):
        for guest in (self.client, self.owner):
            if guest and guest.alive:
                guest.destroy()
        assert self.near.stop() == 0, self.near.log()

    def make_client(self):
        self.made += 1
        name = f"client-{self.made}"
        self.client = deployment.start_client(self.near, name, self.listing)

    def make_owner(self):
        self.made += 1
        disks = [f"phy:{DISK},xvda,w"]
        self.owner = self.host.create_guest(f"owner-{self.made}", disks=disks)
        self.owner.run("mkdir -p /disk && mount -t ext4 /dev/xvda /disk").check()
        self.near.attach(self.owner, DATANODE, role="datanode")
        self.near.connect(self.owner)

    def has_guests(self):
        """Makes a guest anew that an earlier test could not make.  So only that test fails."""
        if not self.client.alive:
            self.make_client()
        if not self.owner.alive:
            self.make_owner()

    # ---- what must be true afterwards -------------------------------------------------------

    def publish(self):
        patience = f"--timeout {deployment.READ_TIMEOUT_MS}"
        return f"vread publish {patience} finalized {self.block}"

    def works(self):
        for guest in (self.client, self.owner):
            if guest.run(f"grep -q {MODULE} /proc/modules").rc != 0:
                deployment.load_frontend(guest)
            self.near.wait_connected(guest)
        until(lambda: read(self.client) == self.digest, self.near.log)
        before = self.near.published(DATANODE)["finalized"]
        until(lambda: self.owner.run(self.publish()).rc == 0, self.near.log)
        assert self.near.published(DATANODE)["finalized"] > before

    def held(self):
        """What vreadd on the near host holds: {kind: count}."""
        process = f"/proc/{self.near.pid}"
        count = {
            "mappings of guests' pages": f"grep -c xen/gntdev {process}/maps",
            "event channels": "grep -c evtchn:vreadd /proc/interrupts",
            "descriptors": f"ls {process}/fd | wc -l",
        }
        found = {kind: int(self.host.run(command).stdout) for kind, command in count.items()}
        memory = re.search(r"VmRSS:\s*(\d+) kB", self.host.text(f"cat {process}/status"))
        return found | {"memory": int(memory[1]) // 1024}

    def all_is_given_back(self):
        most = self.before | {"memory": self.before["memory"] + MEMORY_MIB}
        found = {}

        def no_more():
            found.update(self.held())
            return all(found[kind] <= most[kind] for kind in most)

        eventually(no_more, what=lambda: f"held {found}, before {self.before}")


@pytest.fixture(scope="module")
def site(near_host, far, replicas, own_replicas, tmp_path_factory):
    site = Site(near_host, far, replicas, own_replicas, tmp_path_factory.mktemp("matrix"))
    site.start()
    yield site
    site.end()


# ---- phases: what goes on while a party ends ----------------------------------------------------


@contextlib.contextmanager
def going_on(guest, command, begun=""):
    """A command in a guest, after it has printed `begun`.  Its end is awaited, unless the guest
    itself has gone."""
    running = guest.popen(command, timeout=600)
    if begun:
        running.wait_output(begun, SOON)
    try:
        yield running
    finally:
        with contextlib.suppress(LabError):
            running.wait(deployment.CONNECT_TIMEOUT)


@contextlib.contextmanager
def killed_at_the_end(guest, command, begun):
    with going_on(guest, command, begun) as running:
        yield
        with contextlib.suppress(LabError):
            running.kill()


def idle(site):
    return contextlib.nullcontext()


def connecting(site):
    site.client.run(UNLOAD).check()
    return going_on(site.client, product.load())


def reading(site):
    return killed_at_the_end(site.client, READER.format(deployment.BLOCKS), site.digest)


def publishing(site):
    loop = f"while {site.publish()}; do echo published; done"
    return killed_at_the_end(site.owner, loop, "published")


def closing(site):
    return going_on(site.client, f"until {UNLOAD}; do sleep 0.1; done")


# ---- parties: each ends, and what the host does by itself is done -------------------------------


def vreadd(site):
    site.near.kill()
    site.near.start()


def parser(site):
    (datanode,) = site.near.status()["datanodes"]
    site.host.run(["kill", "-KILL", str(datanode["parser"]["pid"])]).check()


def program(guest, device):
    """Kills a program that has the device open, or waits for it, and all that read or publish."""
    holder = guest.popen(HOLDER.format(device), timeout=600)
    guest.run("killall -KILL vread")
    holder.kill()
    holder.wait(SOON)


def publisher(site):
    program(site.owner, "vread-publish")


def client_process(site):
    program(site.client, "vread")


def client_domain(site):
    site.client.destroy()
    site.make_client()


def datanode_domain(site):
    site.owner.destroy()
    site.make_owner()


def other_host(site):
    site.far.kill()
    site.far.start()


def wire(site):
    site.host.run(f"{IP} link set eth0 down").check()
    site.host.run("xl-vread status")  # is answered although the other host cannot be reached
    site.host.run(f"{IP} link set eth0 up").check()


PARTIES = (
    vreadd,
    parser,
    publisher,
    client_process,
    client_domain,
    datanode_domain,
    other_host,
    wire,
)
PHASES = (idle, connecting, reading, publishing, closing)


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
@pytest.mark.parametrize("party", PARTIES, ids=lambda party: party.__name__)
def test_killed(site, party, phase, record_property):
    """One party ends in one phase.  Domains, grants and event channels exist only on Xen."""
    cells(record_property, "kill matrix", party.__name__, phase.__name__)
    site.has_guests()
    with phase(site):
        party(site)
    site.works()
    site.all_is_given_back()
