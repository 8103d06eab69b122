# SPDX-License-Identifier: GPL-2.0-or-later
"""The life of the daemon: start, limits, status, end, and that it releases all resources."""

import contextlib
import errno
import json
import multiprocessing
import os
import random
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import STORAGE, binary, open_block
from tests.support.hdfs_dir import POOL
from tests.support.localfront import WELCOME, Refused, hello

LOOKS = 100  # in a row, in which a daemon that spins would be seen running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(start_daemon, image, number):
    daemon = start_daemon()
    with daemon.front() as front:
        handle = open_block(front, image.blocks[0])
        assert front.read(handle, 0, 10) == image.contents[image.blocks[0].id][:10]
        assert daemon.stop(number) == 0
        assert front.closed_within(5)
    assert not daemon.socket.exists()
    assert not daemon.control.exists()


def test_systemd_is_told(start_daemon, tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        daemon = start_daemon(
            extra="[datanode gone]\nimage = /nonexistent\nlayout = /nonexistent\n"
        )
        assert notified.recv(1000) == b"READY=1\nSTATUS=2 datanodes are configured"
        assert daemon.stop() == 0
        assert notified.recv(1000).startswith(b"STOPPING=1")


@pytest.mark.thorough
def test_systemd_is_given_signs_of_life(start_daemon, tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(120)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "1000000")
        daemon = start_daemon()
        while not notified.recv(1000).startswith(b"READY=1"):
            pass
        assert [notified.recv(1000) for _ in range(3)] == [b"WATCHDOG=1"] * 3
        assert daemon.stop() == 0


def test_sockets_have_the_configured_mode(start_daemon):
    daemon = start_daemon(local="mode = 0660\n")
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o660
    assert stat.S_IMODE(daemon.control.stat().st_mode) == 0o600


def test_a_socket_left_by_a_killed_daemon_is_replaced(start_daemon):
    daemon = start_daemon()
    daemon.kill()
    assert daemon.socket.exists()
    again = start_daemon(folder=daemon.folder)
    with again.front() as front:
        assert front.stat(1).status == -errno.EBADF


def test_a_second_daemon_leaves_the_first_what_it_has(start_daemon):
    """It says who runs, and nothing else: it has looked at no datanode."""
    daemon = start_daemon()
    record = daemon.record.read_bytes()
    second = subprocess.run(
        [binary(), "-c", daemon.config], capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 1
    pid = daemon.process.pid
    assert second.stderr.splitlines()[1:] == [
        f"vreadd: error: {daemon.control}: vreadd (pid {pid}) already runs and listens there: "
        "end it first",
        "vreadd: error: cannot start: Address already in use",
    ]
    assert daemon.record.read_bytes() == record
    with daemon.front() as front:
        assert front.stat(1).status == -errno.EBADF


def test_a_file_where_a_socket_should_be(tmp_path):
    path = tmp_path / "control.sock"
    path.write_text("precious")
    config = tmp_path / "vread.conf"
    config.write_text(f"[vreadd]\ncontrol-socket = {path}\n[local]\nsocket = {tmp_path}/l.sock\n")
    done = subprocess.run([binary(), "-c", config], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"{path}: cannot listen: a file that is no socket is there: remove it" in done.stderr
    assert path.read_text() == "precious"


def test_connection_limit(start_daemon):
    daemon = start_daemon(local="max-connections = 2\n")
    with daemon.front() as first:
        with daemon.front(), pytest.raises(Refused) as refused:
            daemon.front()
        assert refused.value.errno == errno.ENOMEM
        daemon.wait_until(lambda: daemon.status()["ports"]["local"]["connections"] == 1)
        with daemon.front() as third:
            assert third.stat(1).status == -errno.EBADF
        assert first.stat(1).status == -errno.EBADF


def refused_for_room(daemon, **hello):
    with pytest.raises(Refused) as refused:
        daemon.front(**hello)
    return refused.value.errno == errno.ENOSPC


def pages_in_use(daemon):
    return daemon.status()["ports"]["local"]["pages"]


def test_pool_limits(start_daemon):
    """Pages are counted with the rings, one page each.  Half of them are for pools of at most 32
    pages only."""
    daemon = start_daemon(local="max-pool-pages = 100\nmax-total-pool-pages = 150\n")
    assert refused_for_room(daemon, pool_pages=101)
    assert refused_for_room(daemon, pool_pages=75)
    with daemon.front(pool_pages=74), daemon.front(pool_pages=32), daemon.front(pool_pages=32):
        assert pages_in_use(daemon) == 141
        assert refused_for_room(daemon, pool_pages=16)
    daemon.wait_until(lambda: pages_in_use(daemon) == 0)
    # What large pools may take does not depend on small ones.
    with daemon.front(pool_pages=32), daemon.front(pool_pages=32), daemon.front(pool_pages=74):
        pass
    daemon.wait_until(lambda: pages_in_use(daemon) == 0)
    assert daemon.status()["ports"]["local"]["refused"] == 3


READERS = 48
SMALL = {"pool_pages": 32, "order": 2}  # as libvread asks for
SMALL_PAGES = 36


def devices_in(daemon, state):
    return sum(device["state"] == state for device in daemon.status()["devices"])


def take_large_pools(daemon):
    """Returns fronts with all that pools of more than 32 pages may take."""
    fronts, pool_pages = [], 1024
    while True:
        try:
            fronts.append(daemon.front(pool_pages=pool_pages))
        except Refused:
            if pool_pages == 33:
                return fronts
            pool_pages = max(33, pool_pages // 2)


@pytest.fixture
def crowded(start_daemon):
    """A local port of 16 MiB, as full as large pools can make it."""
    daemon = start_daemon(local="max-total-pool-pages = 4096\nmax-connections = 200\n")
    with contextlib.ExitStack() as stack:
        for front in take_large_pools(daemon):
            stack.enter_context(front)
        yield daemon


def test_small_pools_find_room_beside_large_ones(crowded):
    assert pages_in_use(crowded) > 4096 // 2
    with contextlib.ExitStack() as stack:
        for _ in range(READERS):
            stack.enter_context(crowded.front(**SMALL))
        assert refused_for_room(crowded, pool_pages=33)


def test_programs_that_connect_at_once(crowded):
    """All are connected before the first sends its hello."""
    with contextlib.ExitStack() as stack:
        sockets = []
        for _ in range(READERS):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            sockets.append(stack.enter_context(sock))
            sock.settimeout(60)
            sock.connect(str(crowded.socket))
        crowded.wait_until(lambda: devices_in(crowded, "Initialising") == READERS)
        for sock in sockets:
            sock.send(hello(SMALL["pool_pages"], order=SMALL["order"]))
        welcomes = [WELCOME.unpack(sock.recv(WELCOME.size)) for sock in sockets]
        assert [welcome[2] for welcome in welcomes] == [0] * READERS


def test_48_commands_at_once(crowded, image):
    """Each has its share until the test takes the bytes from its pipe."""
    block = image.blocks[0]
    large = devices_in(crowded, "Connected")
    name = f"{POOL}/blk_{block.id}_{block.genstamp}@{STORAGE}"
    command = [binary().with_name("vread"), "cat", "--endpoint", crowded.socket, name]
    with contextlib.ExitStack() as stack:
        readers = [
            stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            for _ in range(READERS)
        ]
        crowded.wait_until(lambda: devices_in(crowded, "Connected") == large + READERS)
        for reader in readers:
            assert reader.communicate()[0] == image.contents[block.id]
            assert reader.returncode == 0


def hold_a_small_pool(daemon, told):
    with daemon.front(**SMALL):
        told.set()
        signal.pause()


def test_the_share_of_a_killed_program_is_free(crowded):
    context = multiprocessing.get_context("fork")
    told = context.Event()
    victim = context.Process(target=hold_a_small_pool, args=(crowded, told), daemon=True)
    victim.start()
    crowded.wait_until(lambda: told.is_set() or not victim.is_alive())
    assert told.is_set()
    with contextlib.ExitStack() as stack:
        while 4096 - pages_in_use(crowded) >= SMALL_PAGES:
            stack.enter_context(crowded.front(**SMALL))
        full = pages_in_use(crowded)
        assert refused_for_room(crowded, **SMALL)
        victim.kill()
        victim.join()
        crowded.wait_until(lambda: pages_in_use(crowded) == full - SMALL_PAGES)
        stack.enter_context(crowded.front(**SMALL))


def sleeps(daemon):
    """True if all threads of the daemon sleep."""
    tasks = Path(f"/proc/{daemon.process.pid}/task").iterdir()
    return all(") S " in (task / "stat").read_text() for task in tasks)


def test_out_of_file_descriptors(start_daemon):
    """The daemon refuses clients and does not spin; later, with descriptors, it serves again."""
    daemon = start_daemon(max_fds=40)
    idle = daemon.fds()
    fronts, refused = [], 0
    for _ in range(12):
        try:
            fronts.append(daemon.front())
        except (Refused, OSError):
            refused += 1
    assert fronts and refused
    assert fronts[0].stat(1).status == -errno.EBADF

    def rests():  # the daemon may still work for clients that it refused
        return all(sleeps(daemon) for _ in range(LOOKS))

    daemon.wait_until(rests)
    for front in fronts:
        front.close()
    daemon.wait_until(lambda: daemon.fds() <= idle + 1)  # the event loop keeps a timer
    with daemon.front() as front:
        assert front.stat(1).status == -errno.EBADF


@pytest.mark.parametrize("local,expected", [("allow-pools = BP-2\n", errno.EACCES)])
def test_policy_denies(start_daemon, image, local, expected):
    daemon = start_daemon(local=local)
    with daemon.front() as front:
        block = image.blocks[0]
        assert front.open(block.id, block.genstamp, POOL, [STORAGE]).status == -expected


def test_no_datanode_is_allowed_by_default(start_daemon, image):
    daemon = start_daemon()
    text = daemon.config.read_text().replace("allow-datanodes = dn1\n", "")
    assert daemon.stop() == 0
    daemon.config.write_text(text)
    with open(daemon.log_path, "wb") as log:
        daemon.process = subprocess.Popen([binary(), "-c", daemon.config], stderr=log)
    # The socket exists before the daemon listens.
    daemon.wait_until(lambda: ": ready" in daemon.log())
    with daemon.front() as front:
        block = image.blocks[0]
        assert front.open(block.id, block.genstamp, POOL, [STORAGE]).status == -errno.EACCES


def test_datanode_that_is_not_served_is_not_refused(start_daemon, image):
    """A device whose datanodes are not served yet is told ENODEV.  EACCES would send its owner to
    the device's rights, which are right."""
    extra = "[datanode gone]\nimage = /nonexistent/disk.img\nlayout = /nonexistent\n"
    daemon = start_daemon(extra=extra, allow="gone")
    block = image.blocks[0]
    with daemon.front() as front:
        assert front.open(block.id, block.genstamp, "BP-2", ["DS-gone"]).status == -errno.ENODEV
        # What the device may not read is refused as before.
        assert front.open(block.id, block.genstamp, POOL, [STORAGE]).status == -errno.EACCES


def test_a_bad_datanode_does_not_keep_the_others_from_serving(start_daemon, image):
    extra = "[datanode gone]\nimage = /nonexistent/disk.img\nlayout = /nonexistent\n"
    daemon = start_daemon(extra=extra)
    with daemon.front() as front:
        open_block(front, image.blocks[0])
    served, gone = daemon.status()["datanodes"]
    assert (served["datanode"], gone["datanode"]) == ("dn1", "gone")
    assert (served["state"], gone["state"]) == ("served", "waiting")
    assert "/nonexistent/disk.img" in gone["missing"]
    assert "datanode gone: not served yet" in daemon.log()


# ---- control socket ------------------------------------------------------------------


MEMORY = ("", "_most", "_refused")


def test_status_counts(start_daemon, image):
    daemon = start_daemon()
    with daemon.front(pool_pages=64, queues=3, order=1) as front:
        handle = open_block(front, image.blocks[1])
        front.read(handle, 0, 1000)
        front.read(handle, 69_000, 5000)
        assert front.open(5, 5, POOL).status == -errno.ENOENT
        assert front.stat(7).status == -errno.EBADF
        (device,) = daemon.status()["devices"]
        memory = {key: device["counters"].pop(f"handle_bytes{key}") for key in MEMORY}
        assert memory["_most"] == 64 << 20
        assert 0 < memory[""] < 64 << 10
        assert memory["_refused"] == 0
        assert device["counters"] == {
            "opens": 1,
            "reads": 2,
            "bytes": 2000,
            "remote": {"opens": 0, "reads": 0, "bytes": 0},
            "published": 0,
            "errors": {"ENOENT": 1, "EBADF": 1},
            "open_handles": 1,
        }
        assert (device["port"], device["state"], device["role"]) == ("local", "Connected", "client")
        assert (device["num_queues"], device["ring_pages"], device["pool_pages"]) == (3, 2, 64)
        assert (device["pid"], device["uid"]) == (os.getpid(), os.getuid())
    daemon.wait_until(lambda: not daemon.status()["devices"])
    status = daemon.status()
    assert status["totals"]["bytes"] == 2000
    assert status["pid"] == daemon.process.pid
    assert status["ports"]["xen"]["state"] == "off"


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"status\n",
        b"{}\n",
        b"[]\n",
        b'"status"\n',
        b'{"command": 5}\n',
        b'{"command": "halt"}\n',
        b'{"command": "status"} trailing\n',
        b"\xff\xfe\n",
        b"[" * 4000 + b"\n",
    ],
)
def test_control_answers_nonsense_with_an_error(daemon, line):
    assert set(json.loads(daemon.ask(line))) == {"error"}


def test_control_drops_endless_requests(daemon):
    with pytest.raises((ConnectionError, AssertionError)):
        answer = daemon.ask(b"x" * 100_000)
        assert answer
    assert daemon.status()["pid"] == daemon.process.pid


def test_control_serves_others_beside_silent_clients(daemon):
    silent = []
    try:
        for _ in range(15):
            silent.append(socket.socket(socket.AF_UNIX))
            silent[-1].connect(str(daemon.control))
        assert daemon.status()["pid"] == daemon.process.pid
    finally:
        for s in silent:
            s.close()


# ---- nothing is lost --------------------------------------------------------------------


def test_memory_of_every_queue_is_given_back(start_daemon, image):
    daemon = start_daemon(variant="release")
    threads = daemon.threads()

    def read_by_all(queues):
        with daemon.front(pool_pages=256, queues=queues) as front:
            for queue in range(queues):
                handle = open_block(front, image.blocks[0], queue=queue)
                front.read(handle, 0, 1 << 20, queue=queue)
        daemon.wait_until(lambda: not daemon.status()["devices"] and daemon.threads() <= threads)

    read_by_all(1)
    memory = daemon.memory_kib()
    read_by_all(8)
    assert daemon.memory_kib() < memory + 2048  # each queue had 1 MiB of its own


@pytest.mark.thorough
def test_200_rounds_leave_nothing_behind(start_daemon, image):
    daemon = start_daemon(variant="release")
    source = random.Random(3)

    def round_trip():
        queues, order = source.randint(1, 8), source.randint(0, 4)
        with daemon.front(pool_pages=256, queues=queues, order=order) as front:
            handle = open_block(front, image.blocks[0])
            front.read(handle, 0, 1 << 20)
            if source.random() < 0.3:
                front.queues[0].set_producer(5000)
                front.queues[0].notify()

    def settled():
        return not daemon.status()["devices"] and daemon.threads() <= threads

    threads = daemon.threads()
    for _ in range(20):
        round_trip()
    daemon.wait_until(settled)
    fds, memory = daemon.fds(), daemon.memory_kib()
    for _ in range(200):
        round_trip()
    daemon.wait_until(settled)
    daemon.wait_until(lambda: daemon.fds() <= fds)  # it may have the image open at this moment
    assert daemon.memory_kib() < memory + 2048


@pytest.mark.thorough
def test_clean_under_valgrind(start_daemon, image):
    wrapper = [
        "valgrind",
        "-q",
        "--error-exitcode=99",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite,indirect,possible",
        "--fair-sched=yes",
    ]
    daemon = start_daemon(variant="release", wrapper=wrapper)
    block = image.blocks[0]
    for queues in (1, 2):
        with daemon.front(pool_pages=300, queues=queues, timeout=120) as front:
            handle = open_block(front, block)
            assert front.read(handle, 5, 1 << 20) == image.contents[block.id][5 : (1 << 20) + 5]
            assert front.stat(handle).status == 0
            assert front.open(1, 1, POOL).status == -errno.ENOENT
            if queues == 2:
                front.queues[1].set_producer(999)
                front.queues[1].notify()
                assert front.closed_within(60)
    assert daemon.status()["totals"]["reads"] == 2
    assert daemon.stop(seconds=120) == 0, daemon.log()
