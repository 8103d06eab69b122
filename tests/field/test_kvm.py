# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports about devices of KVM and QEMU (tests/field/README.md)."""

import errno
import os
import resource
import signal
import subprocess

import pytest

from tests.protocol.conftest import clock, image, start_daemon  # noqa: F401
from tests.protocol.test_ivshmem import device, start, start_server  # noqa: F401
from tests.protocol.test_ivshmem_server import QEMU, RealQemu
from tests.support.daemon import binary, open_block, open_status
from tests.support.formats import run
from tests.support.hdfs_dir import DataDirectory
from tests.support.ivshmemfront import CLOSED, INIT_WAIT, Guest, Qemu, section
from tests.support.localfront import READ, Gone, read_part, request
from tests.support.owner import needs_root
from tests.support.waiting import eventually
from tools.images import make_datanode_image

SOON = 6  # s, however busy the machine is
HOUR = 3600  # s


def read_first(front, image, queue=0):  # noqa: F811
    block = image.blocks[0]
    handle = open_block(front, block, queue=queue)
    assert front.read(handle, 0, 65536, queue=queue) == image.contents[block.id][:65536]


# ---- descriptors -----------------------------------------------------------------------


class Shortage:
    """A process may have only `more` descriptors more than it has."""

    def __init__(self, process, fds, more):
        self.pid = process.pid
        self.before = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (fds + more, self.before[1]))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, self.before)


def test_a_guest_for_whom_there_are_no_descriptors(start, image, clock):  # noqa: F811
    """It waits, and the others read on.  It is served when there are some again."""
    server, daemon = start("g1", "g2", "g3")
    with Guest(server) as driver, Guest(server, "g2") as other:
        driver.connect()
        other.connect()
        with Shortage(daemon.process, daemon.fds(), 6):
            late = Guest(server, "g3")
            daemon.wait_until(lambda: "a guest that has come waits" in daemon.log())
            for _ in range(5):
                clock.advance(1)
                read_first(driver, image)
            assert "raise LimitNOFILE" in daemon.status()["ports"]["kvm"]["last_error"]
            other.qemu.socket.close()
        with late as third:
            clock.until(lambda: third.state == INIT_WAIT, step=0.5, seconds=SOON)
            read_first(third.connect(), image)
            daemon.wait_until(lambda: len(daemon.status()["devices"]) == 2)
            read_first(driver, image)
    assert daemon.log().count("a guest that has come waits") == 1
    assert "last_error" not in daemon.status()["ports"]["kvm"]


def test_a_qemu_for_which_the_server_has_no_descriptors(start, image, clock):  # noqa: F811
    server, daemon = start("g1", "g2")
    with Guest(server) as driver:
        driver.connect()
        with Shortage(server.process, server.fds(), 5), pytest.raises(Gone):
            Qemu(server.sockets["g2"], queues=2)
        read_first(driver, image)
        clock.advance(1)
        with Guest(server, "g2") as other:
            read_first(other.connect(), image)
    assert f"kvm:g2: cannot serve pid {os.getpid()}" in server.log()


# ---- sockets ---------------------------------------------------------------------------


def removed(path):
    path.unlink()


def of_another_mode(path):
    path.chmod(0o600)


def of_another_owner(path):
    os.chown(path, 1, 1)


def another_file(path):
    path.unlink()
    path.write_text("of somebody else")


HARMS = {
    "removed": (removed, "was removed"),
    "mode": (of_another_mode, "has another owner, group or mode"),
    "owner": (of_another_owner, "has another owner, group or mode"),
}


@pytest.mark.parametrize("harm", HARMS)
@needs_root
def test_a_socket_that_somebody_changed(start_server, harm):  # noqa: F811
    """A reload makes it as it was.  The other guest's QEMU keeps its connection."""
    server = start_server("g1", "g2", memory="1M")
    path = server.sockets["g1"]
    before = path.stat()
    with Qemu(server.sockets["g2"], queues=2) as other:
        act, said = HARMS[harm]
        act(path)
        server.reload([section(n, p, memory="1M", queues=2) for n, p in server.sockets.items()])
        assert f"{path} {said}: making it anew" in server.log()
        after = path.stat()
        assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid)
        with Qemu(path, queues=2) as qemu:
            assert not qemu.more()
        assert not other.more()
    assert "g2.sock" not in server.log().partition("making it anew")[0]


def test_a_file_of_somebody_else_stays(start_server):  # noqa: F811
    server = start_server("g1", memory="1M")
    path = server.sockets["g1"]
    another_file(path)
    server.reload([section("g1", path, memory="1M")])
    assert "was replaced by another file" in server.log()
    assert "cannot listen: a file that is no socket is there: remove it" in server.log()
    assert server.stop() == 0
    assert path.read_text() == "of somebody else"


def test_a_path_that_no_socket_can_have(tmp_path):
    config = tmp_path / "vread.conf"
    path = f"/run/vread-ivshmem/{'x' * 100}.sock"
    config.write_text(section("g1", path))
    done = subprocess.run(
        [binary(), "--check-config", "-c", config], capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    assert f"[ivshmem g1] socket: {path}: expected a path" in done.stderr
    assert "of at most 107 bytes" in done.stderr


# ---- daemons that go and come ----------------------------------------------------------


def test_a_second_vreadd(start, start_daemon, image, clock):  # noqa: F811
    """It says what is wrong, once, harms nobody, and takes over when the first has ended."""
    server, first = start()
    with Guest(server) as driver:
        read_first(driver.connect(), image)
        second = start_daemon(extra=server.sections)
        said = "another vreadd is connected to vread-ivshmem"
        second.wait_until(lambda: said in second.log())
        refused = "refused: another vreadd is connected"
        clock.until(lambda: server.log().count(refused) > 5, step=0.5, seconds=SOON)
        assert second.log().count(said) == 1
        assert "lose their devices" not in second.log()
        read_first(driver, image)
        assert first.stop() == 0
        driver.wait_for(CLOSED)
        clock.until(lambda: driver.state == INIT_WAIT, step=0.5, seconds=SOON)
        read_first(driver.connect(), image)
        assert second.status()["ports"]["kvm"]["state"] == "on"


def test_a_vreadd_that_is_away_for_an_hour(start, start_daemon, image, clock):  # noqa: F811
    server, daemon = start()
    with Guest(server) as driver:
        read_first(driver.connect(), image)
        daemon.process.send_signal(signal.SIGKILL)
        daemon.kill()
        daemon.killed = True
        driver.wait_for(CLOSED)
        clock.advance(HOUR)
        start_daemon(extra=server.sections)
        driver.wait_for(INIT_WAIT)
        read_first(driver.connect(), image)


# ---- guests that stand still -----------------------------------------------------------


def test_a_guest_that_is_paused(start, image, clock):  # noqa: F811
    """It asked, and takes no answer for an hour.  Nobody waits for it, and it finds its answers."""
    server, daemon = start("g1", "g2")
    with Guest(server) as paused, Guest(server, "g2") as other:
        paused.connect()
        other.connect()
        block = image.blocks[0]
        handle = open_block(paused, block)
        queue = paused.queues[0]
        count = queue.entries
        queue.push(
            *[request(READ, i, i, 1, handle, read_part(4096 * i, 4096)) for i in range(count)]
        )
        eventually(lambda: queue.words[2] == queue.consumed + count, SOON)
        clock.advance(HOUR)
        read_first(other, image)
        assert device(daemon)["state"] == "Connected"
        responses = paused.responses(count)
        assert {r.id: r.status for r in responses} == dict.fromkeys(range(count), 4096)
        content = image.contents[block.id]
        assert bytes(paused.pool[: 4096 * count]) == content[: 4096 * count]


# ---- the real QEMU -----------------------------------------------------------------------


@pytest.mark.skipif(not QEMU, reason="no qemu-system-x86_64")
def test_a_qemu_in_the_sandbox_of_libvirt(start_server, tmp_path):  # noqa: F811
    server = start_server("g1", memory="2M", queues=4)
    rules = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
    log = tmp_path / "qemu.log"
    with RealQemu(server.sockets["g1"], log, 5, "-sandbox", rules) as qemu:
        qemu.ask("info pci", r"PCI device 1af4:1110")
        server.wait_until(lambda: "a QEMU has come" in server.log())
        qemu.ask("info status", r"VM status: paused")
        assert qemu.process.poll() is None


# ---- images beside a QEMU ------------------------------------------------------------------


class Disk:
    """A datanode's disk as a QEMU has it: disk.qcow2 of a raw file."""

    data_dirs = ("/dfs/data",)

    def __init__(self, folder):
        self.directory = DataDirectory(folder / "data")
        self.old = self.directory.add(1073741825, 300_000)
        made = make_datanode_image([self.directory.path], folder / "dn.raw", free_mib=16)
        self.raw, self.offset = made.path, made.offset
        self.file = folder / "disk.qcow2"
        self.path = f"qcow2:{self.file}"  # for vread.conf
        self.overlay = folder / "snapshot.qcow2"
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", self.raw, self.file)

    def snapshot(self):
        """As virsh snapshot-create-as --disk-only: the guest writes to an overlay from now on.
        Returns the block that it writes then."""
        new = self.directory.add(1073741826, 200_000)
        folder = f"/dfs/data/{os.path.dirname(new.path)}"
        for file in (new.data, new.meta):
            self.debugfs(f"write {file} {folder}/{file.name}")
        # All clusters are in the overlay, also those of zeros.
        run("qemu-img", "convert", "-S", "0", "-O", "qcow2", "-f", "raw", self.raw, self.overlay)
        run("qemu-img", "rebase", "-u", "-F", "qcow2", "-b", self.file, self.overlay)
        return new

    def debugfs(self, command):
        run("debugfs", "-w", "-R", command, f"{self.raw}?offset={self.offset}")


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path)


def whole(front, block):
    handle = open_block(front, block)
    data = front.read(handle, 0, block.length)
    front.close_handle(handle)
    return data


def test_a_snapshot_that_is_merged_back(start_daemon, disk):  # noqa: F811
    """The guest goes on in an overlay, which is merged into the file that we read.  What the file
    does not have yet is not served, and never wrong."""
    daemon = start_daemon(serving=disk)
    with daemon.front(pool_pages=100) as front:
        assert whole(front, disk.old) == disk.old.content()
        new = disk.snapshot()
        daemon.look()
        assert open_status(front, new) == -errno.ENOENT
        assert whole(front, disk.old) == disk.old.content()
        run("qemu-img", "commit", "-q", disk.overlay)
        daemon.look()
        assert whole(front, new) == new.content()
        assert whole(front, disk.old) == disk.old.content()


@pytest.mark.parametrize(
    "command",
    [
        ["qemu-img", "info"],
        ["qemu-img", "check"],
        ["qemu-io", "-f", "qcow2", "-c", "write -q 0 0"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_we_hold_no_lock_of_an_image(start_daemon, disk, command):  # noqa: F811
    """Tools of QEMU, and a QEMU that starts, take locks of the image."""
    daemon = start_daemon(serving=disk)
    with daemon.front(pool_pages=100) as front:
        handle = open_block(front, disk.old)
        run(*command, disk.file)
        assert front.read(handle, 0, 65536) == disk.old.content()[:65536]
