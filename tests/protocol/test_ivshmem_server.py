# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-ivshmem: what QEMUs and vreadd get from it, whom it refuses, and what guests see when
vreadd ends."""

import contextlib
import errno
import fcntl
import os
import re
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys

import pytest

from tests.support.ivshmemfront import (
    BUSY,
    CLOSED,
    COME,
    CONNECTED,
    GONE,
    GUEST,
    HOST,
    MAGIC,
    MESSAGE,
    MIB,
    WORDS,
    Qemu,
    Server,
    receive,
    section,
    word,
)
from tests.support.localfront import ALIVE_OFFSET, PAGE, Gone
from tests.support.owner import needs_root
from tests.support.waiting import eventually

SOON = 60  # s, however busy the machine is
FULL = 2**64 - 2  # the most that an eventfd counts
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
QEMU = shutil.which("qemu-system-x86_64")


@pytest.fixture
def start_server(tmp_path, clock):
    servers = []

    def start(*names, **arguments):
        servers.append(Server(tmp_path, *names, clock=clock, **arguments))
        return servers[-1]

    yield start
    try:
        for server in servers:
            assert server.stop() == 0, server.log()
    finally:
        for server in servers:
            server.kill()


PROCESS = """
import socket, sys
with socket.socket(fileno=int(sys.argv[1])) as control:
    control.connect(sys.argv[2])
print(flush=True)
sys.stdin.read()
"""


class Vreadd:
    """vreadd's end of the control socket.  The process that connects is another one, and ends when
    close() is called, or end()."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fd = self.socket.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(fd), server.control],
            pass_fds=[fd],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout.read(1) == b"\n"
        self.socket.settimeout(SOON)

    def take(self):
        """(kind, name, connection, queues, memory, descriptors) of the next message."""
        raw, fds = receive(self.socket, MESSAGE.size + 1)
        if not raw:
            raise Gone
        kind, queues, connection, memory, name = MESSAGE.unpack(raw)
        return kind, name.rstrip(b"\0").decode(), connection, queues, memory, fds

    def end(self):
        self.process.communicate()

    def close(self):
        self.socket.close()
        self.end()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def inode(fd):
    return os.fstat(fd).st_ino


def close_all(fds):
    for fd in fds:
        os.close(fd)


def fresh(size):
    """Memory that nobody has written to: a driver that starts before vreadd knows its device."""
    return struct.pack("=I", MAGIC) + bytes(size - 4)


# ---- QEMU --------------------------------------------------------------------------


def test_a_qemu_gets_memory_and_doorbells(start_server):
    server = start_server("g1", memory="2M", queues=2)
    with Qemu(server.sockets["g1"], queues=2) as qemu:
        assert qemu.order == [HOST] * 3 + [GUEST] * 3
        assert len(qemu.memory) == 2 * MIB
        assert os.fstat(qemu.memory_fd).st_blocks * 512 == 2 * MIB  # no page is to come
        assert bytes(qemu.memory) == fresh(2 * MIB)
        assert fcntl.fcntl(qemu.memory_fd, fcntl.F_GET_SEALS) == SEALS
        for size in (0, 4 * MIB):
            with pytest.raises(PermissionError):
                os.ftruncate(qemu.memory_fd, size)
        assert not qemu.more()


def test_defaults(start_server):
    server = start_server("g1")
    with Qemu(server.sockets["g1"], queues=4) as qemu:
        assert len(qemu.memory) == 32 * MIB
        assert not qemu.more()
    assert stat.S_IMODE(server.sockets["g1"].stat().st_mode) == 0o660
    assert stat.S_IMODE(server.control.stat().st_mode) == 0o600


def test_each_guest_and_each_connection_has_memory_of_its_own(start_server):
    server = start_server("g1", "g2", memory="1M")
    with Qemu(server.sockets["g1"]) as one, Qemu(server.sockets["g2"]) as two:
        one.memory[:] = b"1" * MIB
        assert bytes(two.memory) == fresh(MIB)
    with Qemu(server.sockets["g1"]) as again:
        assert bytes(again.memory) == fresh(MIB)


def test_a_second_qemu_is_refused(start_server):
    server = start_server("g1", memory="1M")
    with Qemu(server.sockets["g1"]) as first:
        with pytest.raises(Gone):
            Qemu(server.sockets["g1"])
        assert not first.more()
        line = rf"refused pid {os.getpid()}, uid {os.getuid()}: another QEMU is connected"
        assert re.search(line, server.log())
    with Qemu(server.sockets["g1"]) as next_one:
        assert not next_one.more()


def test_data_of_a_qemu_ends_its_connection(start_server):
    server = start_server("g1", memory="1M")
    with Qemu(server.sockets["g1"]) as qemu:
        qemu.socket.send(b"x")
        assert qemu.refused()
        server.wait_until(lambda: "its QEMU sent data" in server.log())


def test_qemus_that_come_too_often_wait(start_server, clock):
    server = start_server("g1", memory="1M")
    before = server.fds()
    for _ in range(30):
        Qemu(server.sockets["g1"]).close()
    with pytest.raises(Gone):
        Qemu(server.sockets["g1"])
    clock.advance(1)
    Qemu(server.sockets["g1"]).close()
    server.wait_until(lambda: server.fds() == before)


def test_a_stranger_writes_few_lines(start_server, clock):
    server = start_server("g1", "g2", memory="1M")
    with Qemu(server.sockets["g1"]), Qemu(server.sockets["g2"]):
        for _ in range(100):
            with pytest.raises(Gone):
                Qemu(server.sockets["g1"])
        with pytest.raises(Gone):
            Qemu(server.sockets["g2"])
        assert server.log().count("kvm:g1: ") == 20
        assert server.log().count("kvm:g2: ") == 2
        clock.advance(60)
        with pytest.raises(Gone):
            Qemu(server.sockets["g1"])
        assert "81 lines of kvm:g1 were left out: more than 1 a minute" in server.log()


# ---- what was handed out -----------------------------------------------------------


def allocated(qemu):
    return os.fstat(qemu.memory_fd).st_blocks


def test_memory_of_qemus_that_have_ended(start_server):
    """There is no vreadd.  A QEMU keeps descriptors and mappings of connections that are over."""
    server = start_server("g1", memory="2M")
    with contextlib.ExitStack() as kept:
        for _ in range(10):
            qemu = kept.enter_context(Qemu(server.sockets["g1"]))
            assert allocated(qemu) == 2 * MIB // 512
            qemu.socket.close()
            eventually(lambda q=qemu: allocated(q) == 0, SOON)
        for how in (socket.SHUT_WR, socket.SHUT_RDWR):
            qemu = kept.enter_context(Qemu(server.sockets["g1"]))
            qemu.socket.shutdown(how)
            eventually(lambda q=qemu: allocated(q) == 0, SOON)


LIMITED = """
mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/it && cd /sys/fs/cgroup/it &&
echo {limit} >memory.max && echo {used} >memory.current && : >memory.stat &&
echo 0::/it >own && mount --bind own /proc/$$/cgroup && cd / && exec "$@"
"""


@needs_root
@pytest.mark.parametrize("more", [0, 16 * MIB])
def test_the_memory_limit_of_the_service(start_server, more):
    """The kernel would kill the service, and all guests would lose vRead."""
    limits = LIMITED.format(limit=100 * MIB + more, used=84 * MIB)
    wrapper = ["unshare", "--mount", "sh", "-c", limits, "limited"]
    server = start_server("g1", memory="16M", wrapper=wrapper)
    if more:
        with Qemu(server.sockets["g1"]) as qemu:
            assert len(qemu.memory) == 16 * MIB
        return
    with pytest.raises(Gone):
        Qemu(server.sockets["g1"])
    said = "MemoryMax of this service leaves too little for the memory of its section"
    assert said in server.log()


def test_memory_of_a_qemu_that_is_refused(start_server):
    server = start_server("g1", memory="2M")
    with Qemu(server.sockets["g1"]) as qemu:
        qemu.socket.send(b"x")
        assert qemu.refused()
        eventually(lambda: allocated(qemu) == 0, SOON)
        with Qemu(server.sockets["g1"]) as next_one:
            assert allocated(next_one) == 2 * MIB // 512


def knock(path, stack):
    """Connects as a QEMU that reads nothing."""
    sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    sock.settimeout(SOON)
    sock.connect(str(path))
    return sock


def await_end(sock):
    """Waits until the server has shut the connection down, without reading."""
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    assert poll.poll(1000 * SOON)


def first_number(sock):
    return struct.unpack("<q", receive(sock, 8)[0])[0]


@pytest.mark.parametrize("end", ["data", socket.SHUT_WR, socket.SHUT_RDWR])
def test_descriptors_that_no_qemu_takes(start_server, clock, end):
    """The connections are over, but whoever made them keeps the sockets, and reads nothing."""
    server = start_server("g1", "g2", memory="1M")
    with contextlib.ExitStack() as stack, Vreadd(server) as vreadd:
        server.wait_until(lambda: "vreadd is connected" in server.log())
        fds = server.fds()
        sockets = []
        for _ in range(60):
            clock.advance(1)
            sockets.append(knock(server.sockets["g1"], stack))
            if end == "data":
                with contextlib.suppress(BrokenPipeError):
                    sockets[-1].send(b"x")
                await_end(sockets[-1])
            else:
                assert select.select([sockets[-1]], [], [], SOON)[0]
                sockets[-1].shutdown(end)
        with Qemu(server.sockets["g2"]) as other:
            assert not other.more()
            told = vreadd.take()
            while told[1] != "g2":
                close_all(told[-1])
                told = vreadd.take()
            close_all(told[-1])
        eventually(lambda: server.fds() <= fds + 1, SOON)
        if end == "data":
            assert [first_number(s) for s in sockets] == [0] + [-errno.EBUSY] * 59
        line = "the last QEMU has not taken its descriptors, and keeps its connection"
        assert line in server.log()
        sockets[0].close()
        clock.advance(1)
        eventually(lambda: server.fds() == fds, SOON)
        with Qemu(server.sockets["g1"]) as next_one:
            assert not next_one.more()


def test_descriptors_that_a_qemu_takes_late(start_server):
    server = start_server("g1", memory="1M", queues=1)
    with contextlib.ExitStack() as stack:
        sock = knock(server.sockets["g1"], stack)
        sock.send(b"x")
        await_end(sock)
        with pytest.raises(Gone):
            Qemu(server.sockets["g1"], queues=1)
        for _ in range(3 + 2 * 2):
            close_all(receive(sock, 8)[1])
        assert sock.recv(1) == b""
        with Qemu(server.sockets["g1"], queues=1) as next_one:
            assert not next_one.more()


# ---- vreadd ------------------------------------------------------------------------


def test_vreadd_gets_the_same_memory_and_doorbells(start_server):
    server = start_server("g1", "g2", memory="2M", queues=3)
    with Qemu(server.sockets["g1"], queues=3) as qemu, Vreadd(server) as vreadd:
        kind, name, first, queues, memory, fds = vreadd.take()
        assert (kind, name, queues, memory) == (COME, "g1", 3, 2 * MIB)
        shared = [qemu.memory_fd, *qemu.doorbells[HOST], *qemu.doorbells[GUEST]]
        assert len(fds) == len(shared) == 9
        assert inode(fds[0]) == inode(qemu.memory_fd)
        for mine, theirs in zip(shared[1:], fds[1:], strict=True):
            os.eventfd_write(mine, 7)
            assert os.eventfd_read(theirs) == 7
        close_all(fds)
        with Qemu(server.sockets["g2"], queues=3):
            kind, name, second, *_, fds = vreadd.take()
            assert (kind, name) == (COME, "g2") and second != first
            close_all(fds)
        assert vreadd.take() == (GONE, "g2", second, 0, 0, [])


def test_the_end_of_vreadd_is_told_to_every_guest(start_server):
    server = start_server("g1", "g2", memory="1M", queues=2)
    with Qemu(server.sockets["g1"], queues=2) as one, Qemu(server.sockets["g2"], queues=2) as two:
        with Vreadd(server) as vreadd:
            for _ in range(2):
                close_all(vreadd.take()[-1])
            for qemu, epoch in ((one, 7), (two, 2**24 - 1)):
                with qemu.memory[:PAGE].cast("I") as words:
                    words[WORDS["backend"]] = word(epoch, CONNECTED)
                qemu.memory[PAGE + ALIVE_OFFSET] = 1
        for qemu, epoch in ((one, 7), (two, 2**24 - 1)):
            eventually(lambda q=qemu: q.rung(2), SOON)  # the last
            assert qemu.rung(0) == qemu.rung(1) == 1
            assert qemu.memory[PAGE + ALIVE_OFFSET] == 0
            with qemu.memory[:PAGE].cast("I") as words:
                assert words[WORDS["backend"]] == word(epoch, CLOSED)
        with Vreadd(server) as vreadd:
            told = [vreadd.take() for _ in range(2)]
            assert sorted(t[1] for t in told) == ["g1", "g2"]
            close_all(fd for t in told for fd in t[-1])


def test_the_end_of_vreadd_is_that_of_its_process(start_server):
    """The socket of a process that was killed may be closed before its RDMA adapter has let go of
    the guests' memory.  Until then a guest must not give its pages to anybody."""
    server = start_server("g1", memory="1M", queues=2)
    with Qemu(server.sockets["g1"], queues=2) as qemu, Vreadd(server) as vreadd:
        close_all(vreadd.take()[-1])
        with qemu.memory[:PAGE].cast("I") as words:
            words[WORDS["backend"]] = word(7, CONNECTED)
        qemu.memory[PAGE + ALIVE_OFFSET] = 1
        vreadd.socket.close()
        with Vreadd(server) as second:  # it is too early for it
            assert second.take()[0] == BUSY
        assert qemu.memory[PAGE + ALIVE_OFFSET] == 1
        assert qemu.rung(0) == 0
        vreadd.end()
        eventually(lambda: qemu.rung(2), SOON)
        assert qemu.memory[PAGE + ALIVE_OFFSET] == 0
        with qemu.memory[:PAGE].cast("I") as words:
            assert words[WORDS["backend"]] == word(7, CLOSED)
        with Vreadd(server) as third:
            close_all(third.take()[-1])


def test_no_doorbell_can_hold_the_server_up(start_server):
    """A QEMU fills the counters, and takes O_NONBLOCK away."""
    server = start_server("g1", "g2", memory="1M")
    with Qemu(server.sockets["g1"]) as hostile, Qemu(server.sockets["g2"]) as qemu:
        for fd in hostile.doorbells[GUEST]:
            os.eventfd_write(fd, FULL)
            fcntl.fcntl(fd, fcntl.F_SETFL, 0)
        Vreadd(server).close()
        eventually(lambda: qemu.rung(4), SOON)
        with Vreadd(server) as vreadd:
            close_all(vreadd.take()[-1])


def test_a_second_vreadd_is_refused(start_server):
    server = start_server("g1", memory="1M")
    with Vreadd(server) as first, Vreadd(server) as second:
        assert second.take()[0] == BUSY
        with pytest.raises(Gone):
            second.take()
        with Qemu(server.sockets["g1"]):
            close_all(first.take()[-1])
    assert "refused: another vreadd is connected" in server.log()
    with Vreadd(server) as third, Qemu(server.sockets["g1"]):  # the first may not be noticed yet
        close_all(third.take()[-1])


def test_a_vreadd_that_does_not_read_delays_no_qemu(start_server, clock):
    """What it missed it is told when it reads: for each guest GONE of what it knows, and COME of
    what is there now."""
    names = [f"g{i}" for i in range(20)]
    server = start_server(*names, memory="1M", queues=8)
    known = {}
    with Vreadd(server) as vreadd, contextlib.ExitStack() as all_of_them:
        vreadd.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        for _ in range(30):
            for name in names:
                Qemu(server.sockets[name], queues=8).close()
                clock.advance(1)
        qemus = {
            name: all_of_them.enter_context(Qemu(server.sockets[name], queues=8))
            for name in names[:10]
        }
        while set(known) != set(qemus) or any(
            known[name][0] != inode(qemu.memory_fd) for name, qemu in qemus.items()
        ):
            kind, name, connection, *_, fds = vreadd.take()
            if kind == COME:
                assert name not in known
                known[name] = inode(fds[0]), connection
            else:
                assert known.pop(name)[1] == connection
            close_all(fds)


def test_data_of_vreadd_ends_its_connection(start_server):
    server = start_server("g1", memory="1M")
    with Vreadd(server) as vreadd:
        vreadd.socket.send(b"x")
        with pytest.raises(Gone):
            vreadd.take()


# ---- configuration -----------------------------------------------------------------


def test_a_reload_adds_changes_and_removes(start_server, tmp_path):
    server = start_server("g1", "g2", memory="1M")
    three = tmp_path / "g3.sock"
    with Qemu(server.sockets["g1"]) as qemu, Vreadd(server) as vreadd:
        close_all(vreadd.take()[-1])
        server.reload([section("g3", three, memory="2M", queues=1)])
        assert not server.sockets["g1"].exists() and not server.sockets["g2"].exists()
        assert not qemu.more()  # a QEMU that runs keeps what it has
        with Qemu(three, queues=1) as added:
            assert len(added.memory) == 2 * MIB
            assert vreadd.take()[1] == "g3"
            qemu.close()
            assert vreadd.take()[:2] == (GONE, "g1")
        server.wait_until(lambda: "kvm:g1: removed" in server.log())
        server.reload([section("g3", three, memory="1M", queues=2, mode="0600")])
        assert stat.S_IMODE(three.stat().st_mode) == 0o600
        with Qemu(three, queues=2) as changed:
            assert len(changed.memory) == MIB


def test_a_reload_with_a_mistake_changes_nothing(start_server):
    server = start_server("g1", memory="1M")
    server.reload([section("g1", server.sockets["g1"], memory="3M")])
    assert "memory: 3M: expected a power of two" in server.log()
    assert "reload: refused, nothing was changed" in server.log()
    with Qemu(server.sockets["g1"]) as qemu:
        assert len(qemu.memory) == MIB


def test_a_socket_that_cannot_be_made_harms_no_other_guest(start_server, tmp_path):
    server = start_server("g1", memory="1M")
    missing = tmp_path / "missing" / "g2.sock"
    sections = [section("g1", server.sockets["g1"]), section("g2", missing)]
    server.reload(sections)
    assert f"{missing}: cannot listen: No such file or directory" in server.log()
    Qemu(server.sockets["g1"]).close()
    missing.parent.mkdir()
    server.reload(sections)
    Qemu(missing).close()


def test_sockets_are_removed_at_the_end(start_server):
    server = start_server("g1", memory="1M")
    assert server.stop() == 0
    assert not server.sockets["g1"].exists() and not server.control.exists()


# ---- the real QEMU -----------------------------------------------------------------


class RealQemu:
    """A stopped machine with the device, and its monitor."""

    def __init__(self, path, log, vectors, *words):
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [QEMU, "-S", "-M", "q35", "-accel", "tcg", "-nodefaults", "-display", "none"]
                + ["-m", "64M", "-chardev", f"socket,path={path},id=vread"]
                + ["-device", f"ivshmem-doorbell,chardev=vread,vectors={vectors}"]
                + ["-monitor", "stdio", *words],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
            )

    def ask(self, command, expected):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        return self.says(expected)

    def says(self, expected):
        said = self.log.read_text
        return eventually(lambda: re.search(expected, said()), SOON, said)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


@pytest.mark.skipif(not QEMU, reason="no qemu-system-x86_64")
def test_stock_qemu_takes_the_device(start_server, tmp_path):
    server = start_server("g1", memory="2M", queues=4)
    with RealQemu(server.sockets["g1"], tmp_path / "qemu.log", 5) as qemu, Vreadd(server) as vreadd:
        qemu.ask("info pci", r"PCI device 1af4:1110")
        qemu.ask("info ramblock", r"ivshmem\.bar2 .* 0x0000000000200000\s")
        qemu.ask("migrate exec:cat", "Migration is disabled when using feature 'peer mode'")
        kind, name, _, queues, memory, fds = vreadd.take()
        assert (kind, name, queues, memory) == (COME, "g1", 4, 2 * MIB)
        close_all(fds)
        qemu.process.kill()
        assert vreadd.take()[:2] == (GONE, "g1")
    assert "eventfd" not in qemu.log.read_text()


@pytest.mark.skipif(not QEMU, reason="no qemu-system-x86_64")
def test_what_qemu_says_of_too_few_vectors(start_server, tmp_path):
    server = start_server("g1", memory="2M", queues=4)
    with RealQemu(server.sockets["g1"], tmp_path / "qemu.log", 4) as qemu:
        qemu.ask("info pci", r"Too many eventfd received, device has 4 vectors")


@pytest.mark.skipif(not QEMU, reason="no qemu-system-x86_64")
def test_a_qemu_that_is_refused_ends(start_server, tmp_path):
    server = start_server("g1", memory="1M")
    path = server.sockets["g1"]
    with Qemu(path), RealQemu(path, tmp_path / "qemu.log", 5) as refused:
        refused.says("server sent version -16, expecting 0")
        assert refused.process.wait(SOON) != 0


class Machine:
    """A stopped machine: the test makes the accesses of a guest, by QEMU's qtest."""

    CONFIG = 0x80002000  # device 4 of bus 0
    REGISTERS, MEMORY = 0xE0000000, 0xE1000000  # where the test puts BARs 0 and 2

    def __init__(self, path, vectors):
        self.process = subprocess.Popen(
            [QEMU, "-S", "-M", "q35", "-accel", "tcg", "-nodefaults", "-display", "none"]
            + ["-m", "64M", "-chardev", f"socket,path={path},id=vread", "-qtest", "stdio"]
            + ["-device", f"ivshmem-doorbell,chardev=vread,vectors={vectors},addr=4"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for register, value in ((0x10, self.REGISTERS), (0x18, self.MEMORY), (0x1C, 0), (4, 2)):
            self.ask("outl", 0xCF8, self.CONFIG | register)
            self.ask("outl", 0xCFC, value)

    def ask(self, *words):
        """Returns the number of the answer, if it has one."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        assert answer[0] == "OK", answer
        return int(answer[1], 16) if answer[1:] else None

    def doorbell(self, peer, vector):
        self.ask("writel", self.REGISTERS + 12, peer << 16 | vector)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.communicate()


def is_readable(fd):
    return bool(select.select([fd], [], [], 0)[0])


@pytest.mark.skipif(not QEMU, reason="no qemu-system-x86_64")
def test_registers_and_memory_of_a_stock_qemu(start_server):
    """The guest's writes to the Doorbell register arrive at the right eventfds, and QEMU takes what
    the host rings, of each vector."""
    server = start_server("g1", memory="2M", queues=4)
    with Machine(server.sockets["g1"], 5) as machine, Vreadd(server) as vreadd:
        fds = vreadd.take()[-1]
        to_host, to_guest = fds[1:6], fds[6:]
        assert machine.ask("readl", machine.REGISTERS + 8) == GUEST  # IVPosition
        for vector, fd in enumerate(to_host):
            eventually(lambda v=vector, f=fd: machine.doorbell(HOST, v) or is_readable(f), SOON)
            assert [f for f in to_host if is_readable(f)] == [fd]
            os.eventfd_read(fd)
        for fd in to_guest:
            os.eventfd_write(fd, 1)
            eventually(lambda f=fd: not is_readable(f), SOON)
        machine.ask("writel", machine.MEMORY + 2 * MIB - 4, 0x12345678)
        assert os.pread(fds[0], 4, 2 * MIB - 4) == struct.pack("<I", 0x12345678)
        close_all(fds)
