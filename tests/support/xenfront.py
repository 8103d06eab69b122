# SPDX-License-Identifier: GPL-2.0-or-later
"""A host with Xen whose domains tests play: a vreadd with a small xenstored, and with grants and
event channels that are files (fakexen.c).

    with XenHost(folder) as xen:
        daemon = start_daemon(xen="yes", wrapper=xen.wrapper)
        domain = xen.domain(7, datanodes="dn1")
        with domain.front() as front:
            front.connect()
            block = front.open(block_id=7, genstamp=1001, pool_id="BP-1")

The test writes what a toolstack or a guest writes with xen.store.put() and Domain.write().
"""

import mmap
import os
import struct
import subprocess
from pathlib import Path

from tests.cli.xenstored import Xenstored
from tests.support.localfront import PAGE, Front, Gone, Queue
from tests.support.waiting import eventually

INITIALISING, INIT_WAIT, INITIALISED, CONNECTED, CLOSING, CLOSED = "123456"
DIRECTORY, RINGS, POOL = 1, 2, 16  # grant references of their first pages
POOL_PAGES = 64
FIRST_PORT = 20


class XenHost:
    def __init__(self, folder):
        self.folder = folder
        library = folder / "fakexen.so"
        source = Path(__file__).with_name("fakexen.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        self.store = Xenstored(folder / "xenstored")
        self.wrapper = [
            "env",
            f"LD_PRELOAD={library}",
            "ASAN_OPTIONS=verify_asan_link_order=0",
            f"VREAD_FAKE_XEN={folder}",
            f"XENSTORED_PATH={self.store.path}",
        ]
        self.gntdev = folder / "gntdev"
        self.gntdev.touch()
        self.store.put("/local/domain/0", "", ("n0",))

    def __enter__(self):
        self.store.__enter__()
        return self

    def __exit__(self, *exc):
        self.store.__exit__(*exc)

    def domain(self, domid, datanodes="dn1", vm="/vm/aaaa"):
        """Makes a domain with device 0."""
        domain = Domain(self, domid, vm)
        domain.attach(datanodes)
        return domain


class Domain:
    def __init__(self, host, domid, vm):
        self.host, self.domid = host, domid
        self.home = f"/local/domain/{domid}"
        self.device = f"{self.home}/device/vread/0"
        self.backend = f"/local/domain/0/backend/vread/{domid}/0"
        host.store.put(self.home, "", ("n0", f"r{domid}"))
        if vm:
            host.store.put(f"{self.home}/vm", vm)

    def attach(self, datanodes):
        """Writes what the toolstack writes."""
        put = self.host.store.put
        put(f"{self.device}/state", INITIALISING)
        put(f"{self.device}/backend", self.backend)
        put(f"{self.backend}/frontend", self.device)
        put(f"{self.backend}/frontend-id", str(self.domid))
        put(f"{self.backend}/online", "1")
        put(f"{self.backend}/allow-datanodes", datanodes)
        put(f"{self.backend}/state", INITIALISING)

    def write(self, node, value):
        """As the guest: a node of the frontend directory."""
        self.host.store.put(f"{self.device}/{node}", str(value))

    def read(self, node):
        """A node of the backend directory."""
        return self.host.store.value(f"{self.backend}/{node}")

    @property
    def state(self):
        return self.read("state")

    @property
    def error(self):
        path = f"/local/domain/0/error/backend/vread/{self.domid}/0/error"
        return self.host.store.value(path) or ""

    def wait_for(self, *states):
        eventually(lambda: self.state in states, what=lambda: f"{self.state}, {self.error}")
        return self.state

    def front(self, **arguments):
        return XenFront(self, **arguments)


class XenFront(Front):
    """The driver in a guest: memory, event channels, and the states of vreadif.h."""

    def __init__(self, domain, queues=1, timeout=60.0):
        self.domain, self.timeout, self.num_queues = domain, timeout, queues
        self.queues = []
        self.fds = []
        folder, domid = domain.host.folder, domain.domid
        self.path = folder / f"grants-{domid}"
        self.path.unlink(missing_ok=True)  # pages that are mapped are not given to anybody else
        self.path.write_bytes(bytes((POOL + POOL_PAGES) * PAGE))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        self.memory = memoryview(self.map)
        self.pool = self.memory[POOL * PAGE :]
        self.rings = self.memory[RINGS * PAGE : POOL * PAGE]
        for port in self.ports:
            for kind in ("event", "notify"):
                path = folder / f"{kind}-{domid}-{port}"
                if not path.exists():
                    os.mkfifo(path)
                self.fds.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    @property
    def ports(self):
        return range(FIRST_PORT, FIRST_PORT + self.num_queues)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.leave()
        self.pool.release()
        self.rings.release()
        self.memory.release()
        self.map.close()
        for fd in self.fds:
            os.close(fd)
        self.fds = []

    def leave(self):
        for queue in self.queues:
            queue.release()
        self.queues = []

    def say(self, state):
        self.domain.write("state", state)

    def offer(self):
        """Grants rings and pool anew, and writes the nodes, without the state."""
        self.leave()
        refs = range(POOL, POOL + POOL_PAGES)
        directory = struct.pack(f"=I{POOL_PAGES}I", 0, *refs)
        self.memory[DIRECTORY * PAGE : DIRECTORY * PAGE + len(directory)] = directory
        for node, value in (
            ("version", 1),
            ("role", "client"),
            ("num-queues", self.num_queues),
            ("ring-page-order", 0),
            ("pool-pages", POOL_PAGES),
            ("pool-directory", DIRECTORY),
        ):
            self.domain.write(node, value)
        for q, port in enumerate(self.ports):
            ring = self.memory[(RINGS + q) * PAGE : (RINGS + q + 1) * PAGE]
            ring[:64] = struct.pack("=IIII48x", 0, 1, 0, 1)
            self.queues.append(Queue(ring, self.fds[2 * q], self.fds[2 * q + 1]))
            self.domain.write(f"queue-{q}/ring-ref0", RINGS + q)
            self.domain.write(f"queue-{q}/event-channel", port)

    def connect(self):
        """As a driver in a guest that has just started."""
        self.domain.wait_for(INIT_WAIT)
        self.offer()
        self.say(INITIALISED)
        if self.domain.wait_for(CONNECTED, CLOSING, CLOSED) != CONNECTED:
            raise Gone
        self.say(CONNECTED)
        return self

    def connect_in_time(self, clock):
        """Connects, by this offer or by a later one.  As a driver that stays in the guest, it
        answers Closed by Closed."""
        while True:
            clock.until(lambda: self.domain.state == INIT_WAIT, step=0.5, seconds=60)
            try:
                return self.connect()
            except Gone:
                self.domain.wait_for(CLOSED)
                self.say(CLOSED)

    def is_gone(self, ready):
        return not self.alive
