# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of KVM: a driver at the doorbells of vread-ivshmem reads, publishes, restarts and finds
vreadd again, and breaks the protocol in every way that the shared memory allows."""

import array
import contextlib
import ctypes
import errno
import fcntl
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import STORAGE, Image, binary, open_block, open_status, second_datanode
from tests.support.hanging_disk import HangingDisk
from tests.support.hdfs_dir import POOL
from tests.support.ivshmemfront import (
    CLOSED,
    CLOSING,
    COME,
    CONNECTED,
    DATANODE,
    GUEST,
    HOST,
    INIT_WAIT,
    INITIALISED,
    INITIALISING,
    MESSAGE,
    PUBLISH,
    USER,
    WORDS,
    Driver,
    Guest,
    Qemu,
    Server,
    section,
    word,
)
from tests.support.localfront import APPEND, FINALIZED, PAGE, READ, Gone, read_part, request
from tests.support.waiting import eventually
from tools.vreadd import stop_process

SOON = 60  # s, however busy the machine is
CLIENT = {"memory": "8M", "queues": 2, "allow_datanodes": "dn1"}
MINUTE = 60_000  # ms


@pytest.fixture
def start_server(tmp_path, clock):
    servers = []

    def start(*names, **keys):
        servers.append(Server(tmp_path, *names, clock=clock, **{**CLIENT, **keys}))
        return servers[-1]

    yield start
    try:
        for server in servers:
            assert server.killed or server.stop() == 0, server.log()
    finally:
        for server in servers:
            server.kill()


@pytest.fixture
def start(start_server, start_daemon):
    """start(keys of [ivshmem g1]): returns vread-ivshmem, and vreadd."""

    def both(*names, **keys):
        server = start_server(*(names or ["g1"]), **keys)
        return server, start_daemon(extra=server.sections)

    return both


@pytest.fixture
def reload(edit):
    """reload(daemon, old, new): changes vreadd's configuration and applies it."""

    def apply(daemon, *changes):
        edit(daemon, *changes)
        said = daemon.log().count("is applied")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_until(lambda: daemon.log().count("is applied") > said)

    return apply


def device(daemon, name="kvm:g1"):
    (found,) = [d for d in daemon.status()["devices"] if d["name"] == name]
    return found


def read_all(driver, block, image, queue=0):
    handle = open_block(driver, block, queue=queue)
    data = image.contents[block.id]
    for at in range(0, len(data), 1 << 20):
        expected = data[at : at + (1 << 20)]
        assert driver.read(handle, at, len(expected), queue=queue) == expected
    assert driver.close_handle(handle, queue) == 0


# ---- the main job ------------------------------------------------------------------


def test_the_offer(start):
    server, _ = start(memory="8M", queues=2)
    with Guest(server) as driver:
        driver.wait_for(INIT_WAIT)
        assert driver.epoch == 1
        assert driver.qemu.rung(0) == 1
        assert {name: driver.get(name) for name in WORDS if WORDS[name] < 32} == {
            "magic": 0x49525631,
            "backend": word(1, INIT_WAIT),
            "offered_version": 1,
            "flags": PUBLISH | USER,
            "max_queues": 2,
            "max_ring_page_order": 4,
            "pool_first": 1 + 2 * 16,
            "pool_pages": 2048 - 1 - 2 * 16,
        }
        assert not any(driver.control[8:32])


@pytest.mark.parametrize(
    ("memory", "queues", "pages"),
    [("1M", 8, 256 - 129), ("128M", 1, 32768 - 17), ("256M", 4, 32768)],
)
def test_pools_of_all_sizes(start, image, memory, queues, pages):
    server, _ = start(memory=memory, queues=queues)
    with Guest(server, queues=queues) as driver:
        driver.connect()
        assert driver.get("pool_pages") == pages
        block = image.blocks[1]
        handle = open_block(driver, block, page=pages - 1)
        expected = image.contents[block.id][:PAGE]
        assert driver.read(handle, 0, PAGE, page=pages - 1, queue=queues - 1) == expected


@pytest.mark.parametrize(("queues", "order"), [(1, 0), (2, 0), (2, 4)])
def test_reads(start, image, queues, order):
    server, daemon = start()
    with Guest(server) as driver:
        driver.connect(queues, order)
        assert driver.alive == 1
        for queue in range(queues):
            for block in image.blocks:
                read_all(driver, block, image, queue)
        seen = device(daemon)
        assert (seen["port"], seen["state"], seen["role"]) == ("kvm", "Connected", "client")
        assert (seen["num_queues"], seen["ring_pages"]) == (queues, 1 << order)
        assert seen["pool_pages"] == driver.get("pool_pages")
        assert seen["counters"]["bytes"] == queues * sum(b.length for b in image.blocks)
        assert seen["last_error"] is None
        assert daemon.status()["ports"]["kvm"] == {
            "state": "on",
            "socket": str(server.control),
            "guests": 1,
        }


def test_a_block_of_no_allowed_datanode(start, image):
    server, _ = start(allow_datanodes="dn2")
    with Guest(server) as driver:
        driver.connect()
        assert open_status(driver, image.blocks[0]) == -errno.EACCES


def test_a_client_publishes_nothing(start, image):
    server, _ = start()
    block = image.blocks[0]
    with Guest(server) as driver:
        driver.connect()
        status = driver.publish(APPEND, block.id, block.genstamp, POOL, STORAGE)
        assert status == -errno.EOPNOTSUPP


def test_a_datanode_publishes(start, image):
    server, daemon = start(
        "g1", "dn", role="datanode", allow_datanodes="dn1", publish_datanodes="dn1"
    )
    block = image.blocks[0]
    with Guest(server) as driver, Guest(server, "dn") as publisher:
        driver.connect()
        publisher.connect()
        assert publisher.get("flags") == PUBLISH | USER | DATANODE
        handle = open_block(driver, block)
        assert publisher.publish(APPEND, block.id, block.genstamp, POOL, STORAGE) == 0
        assert driver.read_response(handle, 0, 100).status == -errno.EAGAIN
        assert publisher.publish(FINALIZED, block.id, block.genstamp, POOL, STORAGE) == 0
        assert driver.read(handle, 0, 100) == image.contents[block.id][:100]
        assert device(daemon, "kvm:dn")["role"] == "datanode"


def test_guests_share_nothing(start, image):
    server, daemon = start("g1", "g2")
    with Guest(server, "g1") as one, Guest(server, "g2") as two:
        one.connect()
        two.connect()
        handle = open_block(one, image.blocks[0])
        assert two.read_response(handle, 0, 100).status == -errno.EBADF
        assert len(daemon.status()["devices"]) == 2


def xl_vread(daemon, *words):
    command = [binary().with_name("xl-vread"), *words, "--socket", daemon.control]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_commands_of_xl_vread_show_it(start, image):
    server, daemon = start()
    with Guest(server) as driver:
        driver.connect()
        read_all(driver, image.blocks[1], image)
        status = xl_vread(daemon, "status")
        assert re.search(r"^kvm +on .*ivshmem\.sock$", status, re.M)
        assert re.search(r"^kvm:g1 +Connected +client +7\.9 MiB +1 ", status, re.M)
        assert re.search(
            r"^kvm:g1 +client +Connected ", xl_vread(daemon, "top", "-b", "-n", "1"), re.M
        )
        metrics = xl_vread(daemon, "metrics")
        assert re.search(r'^vread_device_connected\{.*device="kvm:g1".*\} 1$', metrics, re.M)


# ---- restarts ----------------------------------------------------------------------


def test_a_reboot_of_the_guest(start, image):
    """The new kernel's driver writes Initialising, and gets a new offer."""
    server, daemon = start()
    with Guest(server) as driver:
        before = None
        for epoch in range(1, 6):
            driver.connect()
            assert driver.epoch == epoch
            handle = open_block(driver, image.blocks[0])
            assert handle
            before = before or daemon.fds()
            assert daemon.fds() == before
            driver.say(INITIALISING)
            driver.wait_for(INIT_WAIT, epoch_not=epoch)
            assert driver.alive == 0
        read_all(driver.connect(), image.blocks[1], image)


def test_a_driver_that_is_removed(start, image):
    server, _ = start()
    with Guest(server) as driver:
        driver.connect()
        driver.say(CLOSING)
        driver.wait_for(INIT_WAIT, epoch_not=1)
        assert driver.alive == 0
        read_all(driver.connect(), image.blocks[1], image)


def test_a_word_of_another_epoch_says_nothing(start, image):
    server, daemon = start()
    with Guest(server) as driver:
        driver.wait_for(INIT_WAIT)
        driver.initialise()
        for epoch in (0, 2, 2**24 - 1):
            for state in (INITIALISED, CLOSING):
                driver.say(state, epoch)
        driver.connect()
        driver.say(CLOSING, 0)
        driver.say(INITIALISING, 2)
        read_all(driver, image.blocks[0], image)
        assert (driver.state, driver.epoch) == (CONNECTED, 1)
        assert "closing" not in daemon.log()


def test_epochs_begin_again_at_1(start_server, start_daemon):
    server = start_server("g1")
    with Guest(server) as driver:
        driver.set(backend=word(2**24 - 2, CLOSED))
        start_daemon(extra=server.sections)
        driver.wait_for(INIT_WAIT)
        assert driver.epoch == 2**24 - 1
        driver.say(CLOSING)
        driver.wait_for(INIT_WAIT, epoch_not=2**24 - 1)
        assert driver.epoch == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_of_vreadd_under_the_guest(start, start_daemon, image, number):
    server, daemon = start()
    with Guest(server) as driver:
        driver.connect()
        handle = open_block(driver, image.blocks[0])
        for vector in range(3):
            driver.qemu.rung(vector)
        if number == signal.SIGKILL:
            daemon.kill()
        else:
            assert daemon.stop() == 0
        driver.wait_for(CLOSED)
        eventually(lambda: driver.qemu.rung(2), SOON)
        assert driver.alive == 0 and driver.epoch == 1
        assert driver.qemu.rung(0) and driver.qemu.rung(1)
        again = start_daemon(extra=server.sections)
        driver.wait_for(INIT_WAIT)
        assert driver.epoch == 2
        driver.connect()
        assert driver.read_response(handle, 0, 100).status == -errno.EBADF
        read_all(driver, image.blocks[0], image)
        assert device(again)["state"] == "Connected"


def test_a_killed_vreadd_does_not_leave_a_request_waiting(start, image):
    server, daemon = start()
    with Guest(server) as driver:
        driver.connect()
        handle = open_block(driver, image.blocks[0])
        stop_process(daemon.process.pid)
        driver.queues[0].push(request(READ, 0, 0, 1, handle, read_part(0, 100)))
        daemon.kill()
        with pytest.raises(Gone):
            driver.responses(1)


def test_the_end_of_qemu_frees_everything(start, image):
    server, daemon = start()
    fds, threads = daemon.fds(), daemon.threads()
    for _ in range(3):
        with Guest(server) as driver:
            driver.connect()
            open_block(driver, image.blocks[0])
            assert daemon.fds() > fds
            assert "vread-ivshmem" in Path(f"/proc/{daemon.process.pid}/maps").read_text()
        daemon.wait_until(lambda: daemon.fds() == fds and daemon.threads() == threads)
        assert "vread-ivshmem" not in Path(f"/proc/{daemon.process.pid}/maps").read_text()
        daemon.wait_until(lambda: daemon.status()["devices"] == [])
    with Guest(server) as driver:  # offered, and never connected
        driver.wait_for(INIT_WAIT)
    daemon.wait_until(lambda: daemon.fds() == fds)


def test_vread_ivshmem_starts_later(start_daemon, start_server, tmp_path, clock, image):
    control, path = tmp_path / "ivshmem.sock", tmp_path / "g1.sock"
    sections = f"[vreadd]\nivshmem-socket = {control}\n" + section("g1", path, **CLIENT)
    daemon = start_daemon(extra=sections)
    port = daemon.status()["ports"]["kvm"]
    assert port["state"] == "unavailable"
    assert port["last_error"] == "cannot connect to vread-ivshmem: No such file or directory"
    server = start_server("g1")
    assert (server.control, server.sockets["g1"]) == (control, path)
    clock.until(lambda: daemon.status()["ports"]["kvm"]["state"] == "on")
    with Guest(server) as driver:
        read_all(driver.connect(), image.blocks[1], image)
    assert daemon.log().count("cannot connect to vread-ivshmem") == 1


def test_the_end_of_vread_ivshmem_closes_the_devices(start, start_server, image, clock):
    server, daemon = start()
    fds = daemon.fds()
    with Guest(server) as driver:
        driver.connect()
        server.kill()
        driver.wait_for(CLOSED)
        assert driver.alive == 0
        daemon.wait_until(lambda: daemon.status()["devices"] == [])
        daemon.wait_until(lambda: daemon.fds() == fds - 1)
        assert daemon.status()["ports"]["kvm"]["state"] == "unavailable"
    server = start_server("g1")
    clock.until(lambda: daemon.status()["ports"]["kvm"]["state"] == "on")
    with Guest(server) as driver:
        read_all(driver.connect(), image.blocks[1], image)


class FakeServer:
    """Takes the place of vread-ivshmem."""

    def __init__(self, path):
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.settimeout(SOON)
        self.listener.bind(str(path))
        self.listener.listen()

    def accept(self):
        connection, _ = self.listener.accept()
        connection.settimeout(SOON)
        return connection


def unsealed(size):
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    return fd


def come(queues=1, memory=1 << 20, name=b"g1"):
    return MESSAGE.pack(COME, queues, 7, memory, name)


BAD_MESSAGES = {
    "nothing of it": (b"x", 0),
    "longer": (come() + b"x", 5),
    "kind 4": (MESSAGE.pack(4, 1, 7, 1 << 20, b"g1"), 5),
    "a name without end": (come(name=b"g" * 64), 5),
}
BAD_SHARES = {
    "no descriptors": (come(), 0),
    "too few": (come(), 4),
    "too many": (come(), 6),
    "no queue": (come(queues=0), 3),
    "9 queues": (come(queues=9), 19),
    "not sealed": (come(), 5),
    "another size": (come(memory=2 << 20), 5),
    "no memory": (come(memory=0), 5),
}


@pytest.fixture
def fake(start_daemon, tmp_path):
    """(a fake vread-ivshmem, a vreadd that is connected to it, their connection)"""
    server = FakeServer(tmp_path / "fake.sock")
    lines = f"[vreadd]\nivshmem-socket = {server.path}\n" + section("g1", "/none", **CLIENT)
    daemon = start_daemon(extra=lines)
    with server.listener, server.accept() as connection:
        yield server, daemon, connection


def send(connection, message, num_fds):
    fds = [unsealed(1 << 20)] + [os.eventfd(0) for _ in range(18)]
    rights = array.array("i", fds[:num_fds])
    connection.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] * (num_fds > 0))
    for fd in fds:
        os.close(fd)


@pytest.mark.parametrize(("message", "fds"), BAD_MESSAGES.values(), ids=BAD_MESSAGES)
def test_a_wrong_message_of_vread_ivshmem(fake, clock, message, fds):
    server, daemon, connection = fake
    before = daemon.fds()
    send(connection, message, fds)
    assert connection.recv(1) == b""
    # The answer comes when vreadd is done with the message: it has logged, and a timer runs.
    said = daemon.status()["ports"]["kvm"]["last_error"]
    assert "vread-ivshmem sent a wrong message" in said
    assert "vread-ivshmem sent a wrong message" in daemon.log()
    assert daemon.fds() == before - 1
    clock.advance(1)
    server.accept().close()


@pytest.mark.parametrize(("message", "fds"), BAD_SHARES.values(), ids=BAD_SHARES)
def test_a_guest_that_cannot_be_served(fake, message, fds):
    _, daemon, connection = fake
    before = daemon.fds()
    send(connection, message, fds)
    daemon.wait_until(lambda: "kvm:g1: cannot use its memory and doorbells" in daemon.log())
    assert daemon.status()["devices"] == []
    assert daemon.status()["ports"]["kvm"]["state"] == "on"
    assert daemon.fds() == before


# ---- rights ------------------------------------------------------------------------


def test_changed_rights_count_for_the_next_answer(start, reload, image):
    server, daemon = start()
    block = image.blocks[0]
    with Guest(server) as driver:
        driver.connect()
        handle = open_block(driver, block)
        reload(daemon, "queues = 2\nallow-datanodes = dn1", "queues = 2\nallow-datanodes = dn2")
        assert driver.read_response(handle, 0, 100).status == -errno.EAGAIN
        assert open_status(driver, block) == -errno.EACCES
        reload(daemon, "queues = 2\nallow-datanodes = dn2", "queues = 2\nallow-datanodes = dn1")
        assert driver.read(handle, 0, 100) == image.contents[block.id][:100]
        assert driver.epoch == 1
        assert daemon.status()["reload"]["changes"] == ["[ivshmem g1]: rights changed"]


def test_a_guest_without_a_section(start, reload, image):
    server, daemon = start()
    with Guest(server) as driver:
        driver.connect()
        reload(daemon, "[ivshmem g1]", "[ivshmem g2]")
        driver.wait_for(CLOSED)
        assert "no section [ivshmem g1]" in device(daemon)["last_error"]
        reload(daemon, "[ivshmem g2]", "[ivshmem g1]")
        driver.wait_for(INIT_WAIT)
        read_all(driver.connect(), image.blocks[1], image)


def test_a_changed_role_is_a_new_offer(start, reload):
    server, daemon = start()
    with Guest(server) as driver:
        driver.connect()
        reload(daemon, "queues = 2\n", "queues = 2\nrole = datanode\n")
        driver.wait_for(INIT_WAIT, epoch_not=1)
        assert driver.get("flags") & DATANODE


def test_the_first_guest_comes_with_a_reload(start_daemon, start_server, image, clock):
    server = start_server("g1")
    daemon = start_daemon()
    assert daemon.status()["ports"]["kvm"]["state"] == "off"
    daemon.config.write_text(daemon.config.read_text() + section("g1", "/none", **CLIENT))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_until(lambda: daemon.status()["ports"]["kvm"]["state"] != "off")
    assert server.process.poll() is None


# ---- hostile guests ----------------------------------------------------------------


@pytest.fixture
def neighbour(start, image):
    """A server, a daemon, and g2, who must be able to read on whatever g1 does."""
    server, daemon = start("g1", "g2")
    with Guest(server, "g2") as driver:
        driver.connect()
        yield server, daemon, driver
        read_all(driver, image.blocks[0], image)


BAD_ANSWERS = [
    ({"version": 0}, "version: 0: expected 1"),
    ({"version": 2}, "version: 2: expected 1"),
    ({"num_queues": 0}, "num_queues: 0: expected a number from 1 to 2"),
    ({"num_queues": 3}, "num_queues: 3: expected a number from 1 to 2"),
    ({"num_queues": 9}, "num_queues: 9: expected a number from 1 to 2"),
    ({"num_queues": 2**32 - 1}, "num_queues: 4294967295: expected a number from 1 to 2"),
    ({"ring_page_order": 5}, "ring_page_order: 5: expected a number from 0 to 4"),
    ({"ring_page_order": 2**31}, "ring_page_order: 2147483648: expected a number from 0 to 4"),
]


@pytest.mark.parametrize(("fields", "said"), BAD_ANSWERS, ids=[said for _, said in BAD_ANSWERS])
def test_a_bad_answer(neighbour, clock, fields, said):
    server, daemon, _ = neighbour
    with Guest(server) as driver:
        driver.wait_for(INIT_WAIT)
        driver.initialise()
        driver.set(**fields)
        driver.say(INITIALISED)
        driver.wait_for(CLOSED)
        assert f"kvm:g1: refused: frontend {said}" in daemon.log()
        assert said in device(daemon)["last_error"]
        assert driver.alive == 0
        clock.advance(1)
        driver.connect()
        assert device(daemon)["last_error"] is None


@pytest.mark.parametrize("state", [0, INIT_WAIT, CONNECTED, CLOSED, 7, 8, 255])
def test_states_that_are_none_for_a_frontend(neighbour, state):
    server, _, _ = neighbour
    with Guest(server) as driver:
        driver.wait_for(INIT_WAIT)
        driver.say(state)
        driver.wait_for(INIT_WAIT, epoch_not=1)
        driver.connect()
        if state != CONNECTED:
            driver.say(state)
            driver.wait_for(INIT_WAIT, epoch_not=2)


def test_the_offer_is_not_read_again(neighbour, image):
    """A guest can write to the offer, and to the backend's word. vreadd has its own."""
    server, _, _ = neighbour
    with Guest(server) as driver:
        driver.wait_for(INIT_WAIT)
        driver.initialise()
        first, pages = driver.get("pool_first"), driver.get("pool_pages")
        driver.set(magic=0, flags=2**32 - 1, max_queues=9, max_ring_page_order=31)
        driver.set(pool_first=0, pool_pages=2**32 - 1)
        driver.connected_epoch = 1
        driver.say(INITIALISED)
        driver.wait_for(CONNECTED)
        read_all(driver, image.blocks[1], image)
        part = read_part(0, PAGE)
        handle = open_block(driver, image.blocks[0])
        response = driver.call(READ, handle=handle, pool_page=pages, pool_pages=1, part=part)
        assert response.status == -errno.EINVAL
        driver.set(pool_first=first, backend=word(77, CLOSED))
        driver.say(CLOSING, 1)
        driver.wait_for(INIT_WAIT, epoch_not=77)
        assert driver.epoch == 2


def test_fields_that_change_after_the_answer(neighbour, image):
    server, _, _ = neighbour
    with Guest(server) as driver:
        driver.connect()
        driver.set(version=9, num_queues=9, ring_page_order=31)
        driver.qemu.ring(0)
        read_all(driver, image.blocks[1], image)
        assert (driver.state, driver.epoch) == (CONNECTED, 1)


def test_a_broken_ring(neighbour, clock):
    server, daemon, _ = neighbour
    with Guest(server) as driver:
        driver.connect()
        driver.queues[0].set_producer(driver.queues[0].entries + 1)
        driver.queues[0].notify()
        driver.wait_for(CLOSED)
        assert driver.alive == 0
        assert "kvm:g1: refused: protocol error" in daemon.log()
        clock.advance(1)
        driver.connect()


def test_who_breaks_the_protocol_again_and_again_stays_closed_for_a_minute(neighbour, clock):
    server, daemon, _ = neighbour
    with Guest(server) as driver:
        for _ in range(5):
            driver.wait_for(INIT_WAIT)
            epoch = driver.epoch
            driver.initialise()
            driver.set(num_queues=9)
            driver.say(INITIALISED)
            driver.wait_for(CLOSED)
            before = clock.ms
            clock.until(lambda e=epoch: driver.epoch != e, step=0.5)
        assert clock.ms - before >= MINUTE
        assert daemon.log().count("and stays closed for a minute") == 1
        driver.connect()


def test_who_closes_every_offer_waits(neighbour, clock):
    server, daemon, _ = neighbour
    with Guest(server) as driver:
        for _ in range(59):
            driver.wait_for(INIT_WAIT)
            epoch = driver.epoch
            driver.say(CLOSED)
            clock.advance(0.01)  # for the doorbell, which may ring 100 times a second
            driver.wait_for(INIT_WAIT, epoch_not=epoch)
        driver.say(CLOSED)
        daemon.wait_until(lambda: device(daemon)["connects_delayed"] == 1)
        assert driver.state == CLOSED
        assert "it connects too often" in device(daemon)["last_error"]
        clock.until(lambda: driver.state == INIT_WAIT, step=0.5)
        driver.connect()


def test_a_flood_of_doorbells(neighbour, image, clock):
    """The time of the daemon stands still: after the burst, vreadd looks no more, until the time
    comes.  Then it sees what the word says."""
    server, daemon, other = neighbour
    with Guest(server) as driver:
        driver.wait_for(INIT_WAIT)
        for _ in range(20_000):
            for vector in range(3):
                driver.qemu.ring(vector)
        driver.initialise()
        driver.connected_epoch = 1
        driver.say(INITIALISED)
        read_all(other, image.blocks[0], image)
        clock.until(lambda: driver.state == CONNECTED)
        for _ in range(20_000):
            for vector in range(3):
                driver.qemu.ring(vector)
        read_all(driver, image.blocks[1], image)
        assert daemon.process.poll() is None


def test_doorbells_of_a_qemu_that_holds_vreadd_up(neighbour, image):
    """It fills the counters of its interrupts and takes O_NONBLOCK away, of both directions."""
    server, daemon, other = neighbour
    with Guest(server) as driver:
        driver.connect()
        for vector, fd in enumerate(driver.qemu.doorbells[GUEST]):
            driver.qemu.rung(vector)
            os.eventfd_write(fd, 2**64 - 2)
        for fd in [*driver.qemu.doorbells[HOST], *driver.qemu.doorbells[GUEST]]:
            fcntl.fcntl(fd, fcntl.F_SETFL, 0)
        driver.queues[1].push(request(READ, 0, 0, 1, 1, read_part(0, 100)))  # makes a worker wait
        driver.say(CLOSING)
        driver.wait_for(INIT_WAIT, epoch_not=1)
        read_all(other, image.blocks[0], image)
        assert daemon.status()["ports"]["kvm"]["state"] == "on"


def close_offers(daemon, driver, clock):
    """Closes each offer, until none comes.  Returns the number of offers."""

    def waits():
        return device(daemon)["state"] == "Closed"

    count = 0
    while True:
        eventually(lambda: driver.state == INIT_WAIT or waits(), SOON)
        if waits():
            return count
        count += 1
        epoch = driver.epoch
        driver.say(CLOSED)
        clock.advance(0.01)  # for the doorbell, which may ring 100 times a second
        eventually(lambda e=epoch: driver.epoch != e or waits(), SOON)


def test_offers_to_qemus_that_come_again_and_again(neighbour, clock):
    """The pace of a guest is that of all its QEMUs."""
    server, daemon, _ = neighbour
    before, offers = clock.ms, 0
    for delayed in range(1, 6):
        with Guest(server) as driver:
            daemon.wait_until(lambda: len(daemon.status()["devices"]) == 2)
            offers += close_offers(daemon, driver, clock)
            assert offers <= 60 + (clock.ms - before) / 1000
            assert device(daemon)["connects_delayed"] == delayed
            assert "it connects too often" in device(daemon)["last_error"]
        daemon.wait_until(lambda: len(daemon.status()["devices"]) == 1)
    clock.advance(1)
    with Guest(server) as driver:
        driver.connect()


def test_violations_of_qemus_that_come_again_and_again(neighbour, clock):
    server, daemon, _ = neighbour
    for _ in range(5):
        with Guest(server) as driver:
            driver.wait_for(INIT_WAIT)
            driver.initialise()
            driver.set(num_queues=9)
            driver.say(INITIALISED)
            driver.wait_for(CLOSED)
        daemon.wait_until(lambda: len(daemon.status()["devices"]) == 1)
    with Guest(server) as driver:
        driver.wait_for(INIT_WAIT, CLOSED)
        assert driver.state == CLOSED
        assert "it breaks the protocol too often" in device(daemon)["last_error"]
        before = clock.ms
        clock.until(lambda: driver.state == INIT_WAIT, step=0.5)
        assert clock.ms - before >= MINUTE - 1000
        driver.connect()


# ---- what was handed out -------------------------------------------------------------


def allocated(fd):
    return os.fstat(fd).st_blocks


def test_memory_of_qemus_that_have_ended(neighbour):
    """A QEMU keeps descriptors and mappings of connections that are over."""
    server, daemon, _ = neighbour
    with contextlib.ExitStack() as kept:
        for _ in range(10):
            qemu = kept.enter_context(Qemu(server.sockets["g1"], queues=2))
            with Driver(qemu) as driver:
                driver.connect()
                qemu.memory[PAGE * 100 :] = bytes(len(qemu.memory) - PAGE * 100)
            assert allocated(qemu.memory_fd) * 512 == len(qemu.memory)
            qemu.socket.close()
            daemon.wait_until(lambda: len(daemon.status()["devices"]) == 1)
            eventually(lambda q=qemu: allocated(q.memory_fd) == 0, SOON)


def test_a_guest_that_runs_on_keeps_its_memory(start, start_daemon, image):
    """vreadd and vread-ivshmem end in order. QEMU's memory is what the guest has there."""
    server, daemon = start()
    with Guest(server) as driver:
        driver.connect()
        size = allocated(driver.qemu.memory_fd)
        assert daemon.stop() == 0
        driver.wait_for(CLOSED)
        start_daemon(extra=server.sections)
        driver.wait_for(INIT_WAIT)
        read_all(driver.connect(), image.blocks[1], image)
        assert server.stop() == 0
        driver.wait_for(CLOSED)
        assert allocated(driver.qemu.memory_fd) == size


@pytest.fixture
def hanging(start_server, start_daemon, tmp_path):
    """A server, a daemon, and a disk of dn1 that hangs in a read of g1."""
    image = Image(tmp_path)
    disk = HangingDisk(tmp_path, image)
    server = start_server("g1", "g2", allow_datanodes="dn1 dn2")
    extra = server.sections + second_datanode(tmp_path, image)
    daemon = start_daemon(serving=image, extra=extra, wrapper=disk.wrapper)
    qemu = Qemu(server.sockets["g1"], queues=2)
    with qemu, Driver(qemu) as driver:
        driver.connect()
        handle = open_block(driver, image.blocks[0])
        disk.hang()
        driver.queues[0].push(request(READ, 0, 0, 1, handle, read_part(0, 100)))
        eventually(disk.reads, SOON)
        yield server, daemon, disk, qemu, image


def test_qemus_that_come_while_the_last_one_waits_for_a_disk(hanging, clock):
    server, daemon, disk, qemu, image = hanging
    threads = daemon.threads()
    qemu.socket.close()
    with Guest(server, "g2") as neighbour:
        neighbour.connect()
        fds, with_neighbour = daemon.fds(), daemon.threads()
        for _ in range(20):
            clock.advance(1)
            with Guest(server) as driver:
                daemon.wait_until(lambda: len(daemon.status()["devices"]) == 3)
                waiting, old = sorted(
                    (d for d in daemon.status()["devices"] if d["name"] == "kvm:g1"),
                    key=lambda d: d["state"] == "Closing",
                )
                assert old["state"] == "Closing"
                assert waiting["state"] == "Initialising"
                said = "the device of the last QEMU still waits for a disk"
                assert waiting["last_error"] == said
                assert driver.get("backend") == 0
                for _ in range(3):
                    driver.qemu.ring(0)
                daemon.wait_until(lambda: daemon.threads() <= with_neighbour)
                maps = Path(f"/proc/{daemon.process.pid}/maps").read_text()
                assert maps.count("vread-ivshmem") == 3
            daemon.wait_until(lambda: len(daemon.status()["devices"]) == 2)
            daemon.wait_until(lambda: daemon.fds() <= fds)
        assert daemon.log().count(said) == 20
        assert open_status(neighbour, image.blocks[0], storages=["DS-2"]) == 0
        clock.advance(1)
        with Guest(server) as driver:
            daemon.wait_until(lambda: len(daemon.status()["devices"]) == 3)
            gate = disk.answer()
            driver.wait_for(INIT_WAIT)
            os.close(gate)
            read_all(driver.connect(), image.blocks[0], image)
    daemon.wait_until(lambda: not daemon.status()["devices"])
    daemon.wait_until(lambda: daemon.threads() <= threads)


def test_a_read_that_ends_after_its_qemu(hanging):
    """vreadd may still write to the memory: the pages are freed when the disk has answered."""
    _, daemon, disk, qemu, _ = hanging
    qemu.socket.close()
    daemon.wait_until(lambda: device(daemon)["state"] == "Closing")
    eventually(lambda: allocated(qemu.memory_fd) <= 2 * PAGE // 512, SOON)
    gate = disk.answer()
    daemon.wait_until(lambda: not daemon.status()["devices"])
    os.close(gate)
    assert allocated(qemu.memory_fd) == 0


def test_a_second_qemu_changes_nothing(neighbour, image):
    server, daemon, _ = neighbour
    with Guest(server) as driver:
        driver.connect()
        before = daemon.fds()
        with pytest.raises(Gone):
            Qemu(server.sockets["g1"])
        read_all(driver, image.blocks[0], image)
        assert daemon.fds() == before


def test_memory_with_holes(neighbour, image):
    """A QEMU may punch holes into the memory: it is zero then, and nobody faults."""
    server, daemon, _ = neighbour
    with Guest(server) as driver:
        driver.connect()
        handle = open_block(driver, image.blocks[0])
        size = len(driver.qemu.memory)
        os_punch_hole(driver.qemu.memory_fd, size)
        assert driver.get("backend") == 0
        driver.queues[0].notify()
        assert handle
        assert daemon.status()["devices"]


def os_punch_hole(fd, size):
    libc = ctypes.CDLL(None, use_errno=True)
    keep_size, punch_hole = 1, 2
    offset = ctypes.c_long(0)
    assert libc.fallocate(fd, keep_size | punch_hole, offset, ctypes.c_long(size)) == 0
