# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: F811
"""Hosts that are short of something: what was reported of other software, tried on vreadd and on
the commands around it."""

import contextlib
import fcntl
import os
import signal
import subprocess

import pytest

from tests.protocol.conftest import clock, edit, image, start_daemon  # noqa: F401
from tests.support.daemon import LOOK_INTERVAL, REPOSITORY, STORAGE, open_block, second_datanode
from tests.support.hdfs_dir import POOL
from tests.support.localfront import Refused
from tests.support.owner import needs_root
from tests.support.reloading import Reader, changed, reload
from tests.support.waiting import eventually
from tests.vread_bench.conftest import bench, make_bench  # noqa: F401

PROGRAMS = REPOSITORY / "build" / "asan"
PIPE_BYTES = 4096
STORM = 200  # signals


@pytest.fixture
def small_disk(tmp_path):
    """small_disk(options): a folder on a file system of its own, with these limits."""
    with contextlib.ExitStack() as stack:

        def mount(options):
            folder = tmp_path / "small"
            folder.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)
            stack.callback(subprocess.run, ["umount", "--lazy", folder], check=True)
            return folder

        yield mount


def read(daemon, image):
    block = image.blocks[1]
    with daemon.front(pool_pages=64) as front:
        handle = open_block(front, block)
        assert front.read(handle, 0, block.length) == image.contents[block.id]


# ---- the log ------------------------------------------------------------------------------------


@pytest.fixture
def shipped(start_daemon, tmp_path):
    """A vreadd whose log goes through a small pipe to another process, and that process' pid."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    holder = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    fcntl.fcntl(holder, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    line = 'cat <"$0" & echo $! >"$0.pid"; exec "$@" 2>"$0"'
    daemon = start_daemon(wrapper=["sh", "-c", line, fifo])
    os.close(holder)
    pid = int(fifo.with_name("fifo.pid").read_text())
    yield daemon, pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def lose_lines(daemon):
    def lost():
        reload(daemon)
        return daemon.status()["log"]["lost"]

    return eventually(lost)


def test_a_log_shipper_that_hangs(shipped, image):
    """Nobody waits for it; what it missed is counted and told when it goes on."""
    daemon, shipper = shipped
    os.kill(shipper, signal.SIGSTOP)
    lose_lines(daemon)
    read(daemon, image)
    os.kill(shipper, signal.SIGCONT)

    def is_told():
        reload(daemon)
        return "lines were lost before this one: nobody took them" in daemon.log()

    daemon.wait_until(is_told)
    before = daemon.status()["log"]["lost"]
    changed(daemon)
    assert daemon.status()["log"]["lost"] == before


def test_a_log_shipper_that_died(shipped, image):
    daemon, shipper = shipped
    os.kill(shipper, signal.SIGKILL)
    lose_lines(daemon)
    read(daemon, image)


def test_a_log_that_may_not_grow(start_daemon, image):
    """A limit on the size of files is an error of the write, and not the end of vreadd."""
    daemon = start_daemon()
    with daemon.front(pool_pages=1100) as front:  # the limit is one for memory that is shared, too
        limit = f"--fsize={daemon.log_path.stat().st_size}"
        subprocess.run(["prlimit", "--pid", str(daemon.process.pid), limit], check=True)
        lose_lines(daemon)
        reader = Reader(front, image)
        assert reader.has_gone_on(daemon)
        assert reader.stop() is None
    with pytest.raises(Refused):
        daemon.front(pool_pages=1100)
    assert daemon.status()["datanodes"][0]["state"] == "served"


# ---- full disks ---------------------------------------------------------------------------------


def fill(folder):
    """Leaves no byte, or no inode, of the file system."""
    for number in range(10_000):
        try:
            (folder / f"fill{number}").write_bytes(bytes(4096))
        except OSError:
            return
    raise AssertionError("the disk does not get full")


@needs_root
@pytest.mark.parametrize("limits", ["size=512k", "nr_inodes=16"])
def test_a_full_disk_below_record_and_log(
    start_daemon, edit, image, small_disk, tmp_path, clock, limits
):
    """The record stays whole, what is served stays served, and when there is room again the record
    is written without a restart."""
    disk = small_disk(limits)
    daemon = start_daemon(folder=disk)
    before = daemon.record.read_text()
    assert STORAGE in before
    edit(daemon, "[datanode dn1]", second_datanode(tmp_path, image) + "[datanode dn1]")
    fill(disk)
    changed(daemon, "[datanode dn2]: added")

    def problem():
        return daemon.status()["storage_record"]["problem"]

    assert "No space left on device" in eventually(problem)
    assert daemon.record.read_text() == before
    read(daemon, image)
    for file in disk.glob("fill*"):
        file.unlink()
    clock.until(lambda: "DS-2" in daemon.record.read_text(), step=LOOK_INTERVAL)
    assert not problem()


def test_a_configuration_that_a_full_disk_has_emptied(start_daemon, image):
    daemon = start_daemon()
    text = daemon.config.read_text()
    with daemon.front(pool_pages=1100) as front:
        reader = Reader(front, image)
        daemon.config.write_text("")
        told = reload(daemon)
        assert told["result"] == "refused"
        assert "the file is empty" in told["problems"][0]["problem"]
        assert reader.has_gone_on(daemon)
        assert reader.stop() is None
    daemon.config.write_text(text)
    changed(daemon)


@pytest.mark.parametrize(
    "command", ["status", "status --json", "metrics", "reload", "reload --json"]
)
def test_an_answer_that_a_full_disk_does_not_take(start_daemon, command):
    """A script must not take half an answer for a whole one."""
    daemon = start_daemon()
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [PROGRAMS / "xl-vread", *command.split(), "--socket", daemon.control],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert "cannot write: No space left on device" in done.stderr


def test_a_block_that_a_full_disk_does_not_take(start_daemon, image):
    daemon = start_daemon()
    block = image.blocks[0]
    name = f"{POOL}/blk_{block.id}_{block.genstamp}@{STORAGE}:{block.length}"
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROGRAMS / "vread", "cat", "--endpoint", daemon.socket, name],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr


@needs_root
def test_a_benchmark_on_a_full_disk(bench, small_disk):
    """The rounds that have ended are kept, and the same command goes on when there is room."""
    disk = small_disk("size=16k")
    bench.out = disk / "out.json"
    bench.journal = disk / "out.json.journal"
    done = bench.run()
    assert done.returncode == 1
    assert f"{bench.out} or its journal: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert len(bench.result()["raw"]) == 3 * 8


# ---- storms -------------------------------------------------------------------------------------


def test_a_storm_of_reloads(start_daemon, image, edit):
    """As of a tool that signals after each change of each file."""
    daemon = start_daemon()
    with daemon.front(pool_pages=1100) as front:
        reader = Reader(front, image)
        for number in range(STORM):
            edit(daemon, "log-level = ", f"read-ahead = {1 + number % 4}M\nlog-level = ")
            daemon.process.send_signal(signal.SIGHUP)
            edit(daemon, f"read-ahead = {1 + number % 4}M\n", "")
        assert reader.has_gone_on(daemon)
        assert reader.stop() is None
    changed_last = reload(daemon)
    assert (changed_last["result"], changed_last["restart"]) == ("applied", [])
    assert [d["state"] for d in daemon.status()["datanodes"]] == ["served"]
