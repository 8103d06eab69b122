# SPDX-License-Identifier: GPL-2.0-or-later
"""The confined processes that interpret images: what they may still do, and how they end."""

import json
import os
import signal
import subprocess

import pytest

from tests.support.daemon import (
    STORAGE,
    Daemon,
    Image,
    binary,
    copy_of_another_release,
    open_block,
    release,
    vreadd_with_parser,
)
from tests.support.hdfs_dir import POOL
from tests.support.sockets import has_unread
from tests.support.waiting import eventually
from tools.vreadd import stop_process

NOBODY = 65534
ANSWER_LIMIT = 10  # s
STATUS_LIMIT = 0.7  # s


@pytest.fixture
def image(tmp_path):
    return Image(tmp_path)


@pytest.fixture
def daemon(tmp_path, image, clock):
    daemon = Daemon(tmp_path, image, clock=clock)
    yield daemon
    daemon.kill()


def parser_of(daemon):
    return daemon.status()["datanodes"][0]["parser"]


def fields(pid):
    with open(f"/proc/{pid}/status") as lines:
        return dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)


def test_is_confined(daemon):
    pid = parser_of(daemon)["pid"]
    status = fields(pid)
    assert status["Seccomp"] == "2"
    assert status["NoNewPrivs"] == "1"
    if os.geteuid() == 0:
        assert status["Uid"].split() == [str(NOBODY)] * 4
        assert int(status["CapEff"], 16) == 0
    files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    kinds = {"socket" if f.startswith("socket:") else f for f in files}
    assert kinds <= {"socket", "/dev/null", str(daemon.log_path), str(daemon.folder / "dn.img")}


def test_has_the_priority_of_vreadd(daemon):
    """Readers wait for a parser, and guests for the first look after a start.  So no thread of
    vreadd and no parser may yield to other programs of dom0."""
    threads = [int(tid) for tid in os.listdir(f"/proc/{daemon.process.pid}/task")]
    found = {
        pid: os.getpriority(os.PRIO_PROCESS, pid) for pid in (*threads, parser_of(daemon)["pid"])
    }
    assert set(found.values()) == {os.getpriority(os.PRIO_PROCESS, 0)}, found


def test_what_is_installed_needs_no_more_than_it_may(tmp_path, image):
    """The release build of a parser works within its rights; sanitizers need more system calls."""
    daemon = Daemon(tmp_path, image, variant="release")
    try:
        with daemon.front() as front:
            for block in image.blocks:
                handle = open_block(front, block)
                length = min(4096, len(image.contents[block.id]))
                assert front.read(handle, 0, length) == image.contents[block.id][:length]
        assert parser_of(daemon)["restarts"] == 0
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_vreadd_has_no_library_that_interprets():
    needed = subprocess.run(
        ["readelf", "-d", binary()], capture_output=True, text=True, check=True
    ).stdout
    assert "libjansson" in needed
    assert "libext2fs" not in needed and "libblkid" not in needed


def test_its_end_is_seen_where_children_are_not_waited_for(tmp_path, image):
    """vreadd sees the end of a parser even if vreadd was started with SIGCHLD ignored."""
    daemon = Daemon(tmp_path, image, wrapper=["env", "--ignore-signal=CHLD"])
    try:
        os.kill(parser_of(daemon)["pid"], signal.SIGKILL)
        daemon.wait_until(lambda: parser_of(daemon)["restarts"] == 1)
        assert parser_of(daemon)["last-end"] == "killed by SIGKILL"
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_reads_go_on_when_it_is_killed(image, daemon):
    first, second = image.blocks[1:3]
    with daemon.front() as front:
        handle = open_block(front, first)
        before = front.read(handle, 0, 4096)
        old = parser_of(daemon)["pid"]
        os.kill(old, signal.SIGKILL)
        assert front.read(handle, 0, 4096) == before
        # vreadd may notice the death later; until then the status says running.
        daemon.wait_until(lambda: parser_of(daemon)["restarts"] == 1)
        daemon.wait_until(lambda: parser_of(daemon)["state"] == "running")
        status = parser_of(daemon)
        assert status["pid"] != old
        assert status["restarts"] == 1
        assert status["last-end"] == "killed by SIGKILL"
        open_block(front, second)
    assert "the parser of its images is started again: killed by SIGKILL" in daemon.log()
    assert daemon.stop() == 0


def test_one_of_another_release_is_not_used(tmp_path, image):
    """An upgrade replaces the parser's program while vreadd runs.  If the parser ends then, the
    next one is of the other release: it must refuse, and say what to do.  No block is opened."""
    program = vreadd_with_parser(tmp_path / "programs", "exec $REAL")
    daemon = Daemon(tmp_path, image, program=program)
    try:
        assert states(daemon) == ["clean"]
        other = copy_of_another_release("vread-parser", program.with_name("vread-parser"))
        os.kill(parser_of(daemon)["pid"], signal.SIGKILL)
        said = f"vread-parser is of version {other} and vreadd of {release()}: restart vreadd"
        daemon.wait_until(lambda: said in daemon.log())
        with daemon.front() as front:
            block = image.blocks[1]
            assert front.open(block.id, block.genstamp, POOL, [STORAGE]).status < 0
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_one_that_hangs_is_seen_in_the_status(daemon, clock):
    """A status does not wait for a parser: it is answered long before the parser is given up."""
    pid = parser_of(daemon)["pid"]
    stop_process(pid)
    command = [binary().with_name("xl-vread"), "status", "--json", "--socket", daemon.control]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
        eventually(lambda: has_unread(pid), what="the question for the status")
        clock.advance(STATUS_LIMIT)
        out, err = asking.communicate(timeout=120)
    assert (asking.returncode, err) == (0, b"")
    (datanode,) = json.loads(out)["datanodes"]
    (filesystem,) = datanode["filesystems"]
    assert filesystem["state"] == "unknown: its parser does not answer"
    assert "did not answer in time" not in daemon.log()
    clock.advance(ANSWER_LIMIT)
    daemon.wait_until(lambda: "did not answer in time" in daemon.log())
    daemon.wait_until(lambda: states(daemon) == ["clean"])


def states(daemon):
    """The state of each file system."""
    found = [fs["state"] for fs in daemon.status()["datanodes"][0]["filesystems"]]
    return found
