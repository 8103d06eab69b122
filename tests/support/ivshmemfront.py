# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-ivshmem, and both ends that meet it: QEMU, and the driver of a guest of KVM
(xenstore-schema/vread-ivshmem.h).

    server = Server(folder, "g1")
    with Qemu(server.sockets["g1"]) as qemu:
        driver = Driver(qemu)
        driver.connect()
        block = driver.open(block_id=7, genstamp=1001, pool_id="BP-1")

A test can write wrong values wherever a guest can: all of the memory.
"""

import array
import contextlib
import errno
import mmap
import os
import select
import signal
import socket
import struct
import subprocess

from tests.support.daemon import REPOSITORY
from tests.support.localfront import ALIVE_OFFSET, PAGE, Front, Gone, Queue
from tests.support.waiting import eventually

MIB = 1 << 20
MAGIC = 0x49525631
INITIALISING, INIT_WAIT, INITIALISED, CONNECTED, CLOSING, CLOSED = 1, 2, 3, 4, 5, 6
PUBLISH, USER, DATANODE = 1, 2, 4
HOST, GUEST = 0, 1  # peers
MESSAGE = struct.Struct("=IIQQ64s")  # struct ivshmem_message, of vread-ivshmem to vreadd
COME, GONE, BUSY = 1, 2, 3
# struct vread_ivshmem_control, in words
WORDS = {
    name: at
    for at, name in enumerate(
        ["magic", "backend", "offered_version", "flags", "max_queues", "max_ring_page_order"]
        + ["pool_first", "pool_pages"]
    )
} | {
    name: 32 + at
    for at, name in enumerate(["frontend", "version", "num_queues", "ring_page_order"])
}


def word(epoch, state):
    return epoch << 8 | state


def section(name, path, **keys):
    lines = "".join(f"{k.replace('_', '-')} = {v}\n" for k, v in keys.items())
    return f"[ivshmem {name}]\nsocket = {path}\n{lines}"


class Server:
    """One vread-ivshmem.  `sections` are the lines of vread.conf that vreadd needs, too; `extra`
    are lines for vread-ivshmem alone; `wrapper` is a command that starts it."""

    def __init__(self, folder, *names, variant="asan", clock=None, extra="", wrapper=(), **keys):
        self.extra = extra
        self.killed = False
        self.control = folder / "ivshmem.sock"
        self.config = folder / "ivshmem.conf"
        self.log_path = folder / "ivshmem.log"
        self.sockets = {name: folder / f"{name}.sock" for name in names}
        self.write([section(name, self.sockets[name], **keys) for name in names])
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*wrapper, REPOSITORY / "build" / variant / "vread-ivshmem", "-c", self.config],
                stdout=log,
                stderr=log,
                env=os.environ | (clock.environment if clock else {}),
            )
        try:
            self.wait_until(lambda: ": ready" in self.log())
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self):
        return self.process.pid

    def write(self, sections):
        """Replaces the configuration, without a reload."""
        self.sections = f"[vreadd]\nivshmem-socket = {self.control}\n" + "".join(sections)
        self.config.write_text(self.sections + self.extra)

    def reload(self, sections):
        said = self.log().count("reload: ")
        self.write(sections)
        self.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.log().count("reload: ") > said)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_until(self, condition, seconds=60):
        def come():
            assert self.process.poll() is None, f"vread-ivshmem ended:\n{self.log()}"
            return condition()

        eventually(come, seconds, self.log)

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self):
        self.killed = self.process.poll() is None
        if self.killed:
            self.process.kill()
        self.process.wait()


def receive(connection, size):
    """One message of `size` bytes, and its descriptors."""
    space = socket.CMSG_LEN(64 * array.array("i").itemsize)
    message, ancillary, _, _ = connection.recvmsg(size, space)
    fds = array.array("i")
    for _, _, data in ancillary:
        fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, list(fds)


class Qemu:
    """QEMU's end of the ivshmem-server protocol: memory, and the doorbells of both peers."""

    def __init__(self, path, queues=4, timeout=60.0):
        self.queues = queues
        self.doorbells = {HOST: [], GUEST: []}
        self.memory_fd = -1
        self.map = None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(str(path))
            self._receive()
        except BaseException:
            self.close()
            raise

    def _number(self):
        raw, fds = receive(self.socket, 8)
        if not raw:
            raise Gone
        assert len(raw) == 8 and len(fds) <= 1
        return struct.unpack("<q", raw)[0], fds[0] if fds else None

    def _receive(self):
        version, none = self._number()
        assert none is None
        if version == -errno.EBUSY:
            assert self.refused()
            raise Gone
        assert version == 0
        assert self._number() == (GUEST, None)  # its own id
        number, self.memory_fd = self._number()
        assert number == -1
        self.order = []
        for _ in range(2 * (1 + self.queues)):
            peer, fd = self._number()
            self.order.append(peer)
            self.doorbells[peer].append(fd)
        self.map = mmap.mmap(self.memory_fd, os.fstat(self.memory_fd).st_size)
        self.memory = memoryview(self.map)

    def more(self):
        """True if something else came, or the server has closed the connection."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def refused(self):
        return self.socket.recv(1) == b""

    def ring(self, vector):
        os.eventfd_write(self.doorbells[HOST][vector], 1)

    def rung(self, vector):
        """Takes the interrupts of a vector; returns their number."""
        with contextlib.suppress(BlockingIOError):
            return os.eventfd_read(self.doorbells[GUEST][vector])
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.socket.close()
        if self.map is not None:
            self.memory.release()
            self.map.close()
        for fd in [self.memory_fd, *self.doorbells[HOST], *self.doorbells[GUEST]]:
            if fd >= 0:
                os.close(fd)
        self.map, self.memory_fd, self.doorbells = None, -1, {HOST: [], GUEST: []}


class Driver(Front):
    """The driver in the guest: follows the states, and has the queues of one connection."""

    def __init__(self, qemu, timeout=60.0):
        self.qemu = qemu
        self.timeout = timeout
        self.control = qemu.memory[:PAGE].cast("I")
        self.queues = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.leave()
        self.control.release()

    def get(self, field):
        return self.control[WORDS[field]]

    def set(self, **fields):
        for field, value in fields.items():
            self.control[WORDS[field]] = value & 0xFFFFFFFF

    @property
    def epoch(self):
        return self.get("backend") >> 8

    @property
    def state(self):
        return self.get("backend") & 0xFF

    def say(self, state, epoch=None):
        """Sets the frontend's word, and rings the backend."""
        self.set(frontend=word(self.epoch if epoch is None else epoch, state))
        self.qemu.ring(0)

    def wait_for(self, *states, epoch_not=None, seconds=60):
        eventually(
            lambda: self.state in states and self.epoch != epoch_not,
            seconds,
            lambda: f"backend: epoch {self.epoch}, state {self.state}",
        )

    def ring_start(self, q):
        return PAGE * (1 + (q << self.get("max_ring_page_order")))

    def is_gone(self, ready):
        return self.state != CONNECTED or self.epoch != self.connected_epoch

    def initialise(self, queues=None, order=0):
        """Initialises rings and fields, without telling the backend."""
        self.leave()
        queues = self.get("max_queues") if queues is None else queues
        for q in range(queues):
            start = self.ring_start(q)
            memory = self.qemu.memory[start : start + (PAGE << order)]
            memory[:64] = struct.pack("=IIII48x", 0, 1, 0, 1)
            self.queues.append(
                Queue(memory, self.qemu.doorbells[HOST][1 + q], self.qemu.doorbells[GUEST][1 + q])
            )
        self.rings = self.qemu.memory[PAGE : self.get("pool_first") * PAGE]
        start, pages = self.get("pool_first"), self.get("pool_pages")
        self.pool = self.qemu.memory[start * PAGE : (start + pages) * PAGE]
        self.set(version=1, num_queues=queues, ring_page_order=order)

    def connect(self, queues=None, order=0):
        """As a driver that was just loaded."""
        self.wait_for(INIT_WAIT)
        assert self.get("magic") == MAGIC
        self.say(INITIALISING)
        self.initialise(queues, order)
        self.connected_epoch = self.epoch
        self.say(INITIALISED)
        self.wait_for(CONNECTED, CLOSING, CLOSED)
        if self.state != CONNECTED:
            raise Gone
        self.say(CONNECTED)
        return self

    def leave(self):
        """Forgets queues and pool."""
        for queue in self.queues:
            queue.release()
        if self.queues:
            self.pool.release()
            self.rings.release()
        self.queues = []


class Guest:
    """QEMU and driver in one."""

    def __init__(self, server, name="g1", queues=2):
        self.qemu = Qemu(server.sockets[name], queues=queues)
        self.driver = Driver(self.qemu)

    def __enter__(self):
        return self.driver

    def __exit__(self, *exc):
        self.driver.__exit__()
        self.qemu.close()


assert ALIVE_OFFSET == 16
