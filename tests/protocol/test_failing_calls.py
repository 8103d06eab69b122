# SPDX-License-Identifier: GPL-2.0-or-later
"""Each call of vreadd for memory, a descriptor, a mapping, a thread or a file fails once, while a
client connects, opens, reads, publishes and goes.

The client must get an answer or the end of its connection, and right bytes if it gets bytes.  A
neighbour, connected all the time, must read on.  vreadd must not end, and must lose neither memory
nor descriptors.  failing_calls.c makes the calls fail.
"""

import contextlib
import ctypes
import json
import mmap
import os
import subprocess

import pytest

from tests.support.daemon import PUBLISHER, REPOSITORY, STORAGE, open_block
from tests.support.hdfs_dir import POOL
from tests.support.localfront import FINALIZED, Gone, Refused
from tests.support.waiting import eventually


class Shared(ctypes.Structure):
    _fields_ = [
        ("left", ctypes.c_int64),
        ("caller", ctypes.c_uint64),
        ("name", ctypes.c_char * 48),
    ]


class FailingCalls:
    """Which call of the program fails."""

    def __init__(self, path, program):
        self.program = program
        path.write_bytes(bytes(mmap.PAGESIZE))
        with open(path, "r+b") as file:
            self.shared = Shared.from_buffer(mmap.mmap(file.fileno(), mmap.PAGESIZE))
        self.environment = {"FAILING_CALLS": str(path)}
        self.wrapper = ["env", f"FAILING_CALLS={path}"]

    def arm(self, number):
        self.shared.caller, self.shared.name = 0, b""
        self.shared.left = number

    def disarm(self):
        """Returns True if a call failed since arm()."""
        self.shared.left = 0
        return bool(self.shared.name)

    def told(self):
        """The call that failed: its name, and the line of the program."""
        if not self.shared.name:
            return "no call failed"
        command = ["addr2line", "-s", "-f", "-e", self.program, hex(self.shared.caller - 1)]
        where = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return f"{self.shared.name.decode()}() in {' '.join(where)}"


PROGRAM = REPOSITORY / "build/asan/vreadd-failing"


@pytest.fixture
def calls(tmp_path):
    return FailingCalls(tmp_path / "calls", PROGRAM)


def read(front, block, storages, content):
    """Opens a block and reads two pieces of it.  Any error is an answer; other bytes are none."""
    answer = front.open(block.id, block.genstamp, POOL, storages)
    if answer.status < 0:
        return
    front.stat(answer.handle)
    for offset, length in ((0, 1 << 20), (4097, 60_000)):
        with contextlib.suppress(OSError):
            assert front.read(answer.handle, offset, length) == content[offset : offset + length]
    front.close_handle(answer.handle)


def visit(daemon, image):
    """A client, from its connection to its end."""
    big, small, other = image.blocks
    with daemon.front(pool_pages=512) as front:
        front.publish(FINALIZED, other.id, other.genstamp, POOL, STORAGE)
        read(front, big, [STORAGE], image.contents[big.id])
        read(front, small, [], image.contents[small.id])
        assert front.open(7, 1001, POOL, [STORAGE]).status < 0


def operate(daemon, _):
    """An operator."""
    for command in ("status", "reload", "trace"):
        daemon.ask(json.dumps({"command": command}).encode() + b"\n")


@pytest.mark.parametrize(("tried", "least"), [(visit, 50), (operate, 50)])
def test_each_call_of_a_visit(start_daemon, image, calls, tried, least):
    """The neighbour reads on after each failure, and the last visit goes as the first one."""
    daemon = start_daemon(local=PUBLISHER, wrapper=calls.wrapper, program=PROGRAM)
    big = image.blocks[0]
    failed, spared = [], 0
    with daemon.front() as neighbour:
        handle = open_block(neighbour, big)
        tried(daemon, image)
        before = daemon.fds()
        while spared < 3:
            calls.arm(len(failed) + 1)
            try:
                tried(daemon, image)
            except (Refused, Gone, ConnectionError):
                pass
            except BaseException as error:
                raise AssertionError(f"{calls.told()}:\n{daemon.log()[-3000:]}") from error
            if calls.disarm():
                failed.append(calls.told())
                spared = 0
            else:
                spared += 1
            assert neighbour.read(handle, 0, 65536) == image.contents[big.id][:65536], failed[-1]
        eventually(lambda: daemon.fds() <= before, what="descriptors back")
        tried(daemon, image)
    assert len(failed) >= least


def start_and_stop(daemon, environment):
    """Starts vreadd once more, and ends it as soon as it is ready.  Returns its exit status."""
    with open(daemon.log_path, "wb") as log:
        command = [PROGRAM, "-c", daemon.config]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    eventually(lambda: process.poll() is not None or ": ready" in daemon.log(), 60, daemon.log)
    process.terminate()
    return process.wait(120)


@pytest.mark.thorough
def test_each_call_of_the_start(start_daemon, calls):
    """vreadd must get ready, or end with an error that it tells."""
    daemon = start_daemon(wrapper=calls.wrapper, program=PROGRAM)
    assert daemon.stop() == 0
    environment = os.environ | daemon.clock.environment | calls.environment
    environment["ASAN_OPTIONS"] = "exitcode=99"
    failed, spared = [], 0
    while spared < 3:
        calls.arm(len(failed) + 1)
        status = start_and_stop(daemon, environment)
        if calls.disarm():
            failed.append(calls.told())
            spared = 0
        else:
            spared += 1
        assert status == 0 or (
            status == 1 and "error: " in daemon.log()
        ), f"{calls.told()}: exit status {status}\n{daemon.log()}"
    assert len(failed) >= 50


def test_each_call_of_a_reader(tmp_path, start_daemon, image):
    """`vread cat`: libvread must return an error or the right bytes, and must not wait for ever."""
    program = PROGRAM.with_name("vread-failing")
    calls = FailingCalls(tmp_path / "reader-calls", program)
    environment = os.environ | calls.environment | {"ASAN_OPTIONS": "exitcode=99"}
    daemon = start_daemon()
    block = image.blocks[0]
    word = f"{POOL}/blk_{block.id}_{block.genstamp}@{STORAGE}:{len(block.content())}"
    failed, spared = [], 0
    while spared < 3:
        calls.arm(len(failed) + 1)
        command = [program, "cat", "--endpoint", daemon.socket, word]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=120)
        if calls.disarm():
            failed.append(calls.told())
            spared = 0
        else:
            spared += 1
        said = f"{calls.told()}: exit status {done.returncode}\n{done.stderr.decode()}"
        if done.returncode == 0:
            assert done.stdout == block.content(), said
        else:
            assert done.returncode == 1 and done.stderr, said
    assert len(failed) >= 10
