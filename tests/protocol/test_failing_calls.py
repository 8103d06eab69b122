# SPDX-License-Identifier: GPL-2.0-or-later
"""Each call of vreadd for memory, a descriptor, a mapping, a thread or a file fails once, while a
client connects, opens, reads, publishes and goes.

The client must get an answer or the end of its connection, and right bytes if it gets bytes.  A
neighbour, connected all the time, must read on.  vreadd must not end, and must lose neither memory
nor descriptors.
"""

import contextlib
import json
import os
import subprocess
from types import SimpleNamespace

import pytest

from tests.support.daemon import PUBLISHER, STORAGE, open_block
from tests.support.failing_calls import VREAD, VREADD, FailingCalls
from tests.support.hdfs_dir import POOL
from tests.support.localfront import FINALIZED, Gone, Refused
from tests.support.waiting import eventually

DISK_CALLS = ("fstat", "stat", "pread", "preadv2")


@pytest.fixture
def calls(tmp_path):
    return FailingCalls(tmp_path / "calls", VREADD)


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
        read(front, small, [STORAGE], image.contents[small.id])
        assert front.open(7, 1001, POOL, [STORAGE]).status < 0


def operate(daemon, _):
    """An operator."""
    for command in ("status", "reload", "trace"):
        daemon.ask(json.dumps({"command": command}).encode() + b"\n")


@pytest.mark.thorough
@pytest.mark.parametrize(("tried", "least"), [(visit, 50), (operate, 50)])
def test_each_call_of_a_visit(start_daemon, image, calls, tried, least):
    """The neighbour reads on after each failure, and the last visit goes as the first one."""
    daemon = start_daemon(local=PUBLISHER, wrapper=calls.wrapper, program=VREADD)
    big = image.blocks[0]
    with daemon.front() as neighbour:
        handle = open_block(neighbour, big)

        def attempt():
            with contextlib.suppress(Refused, Gone, ConnectionError):
                tried(daemon, image)

        def neighbour_reads():
            assert neighbour.read(handle, 0, 65536) == image.contents[big.id][:65536], daemon.log()

        tried(daemon, image)
        before = daemon.fds()
        failed = calls.sweep(attempt, neighbour_reads)
        eventually(lambda: daemon.fds() <= before, what="descriptors back")
        tried(daemon, image)
    assert len(failed) >= least


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["layout", "data-dirs"])
def test_each_call_of_a_look(start_daemon, image, calls, by):
    """What was found before is served on: the neighbour's handle stays valid.  That a disk failed
    is believed when two looks in a row have seen it; that vreadd lacks something, never."""
    found = image if by == "layout" else SimpleNamespace(path=image.path, data_dirs=["/dfs/data"])
    daemon = start_daemon(serving=found, wrapper=calls.wrapper, program=VREADD)
    big = image.blocks[0]
    with daemon.front() as neighbour:
        handle = open_block(neighbour, big)

        def neighbour_reads():
            assert neighbour.read(handle, 0, 65536) == image.contents[big.id][:65536], daemon.log()
            if calls.told().startswith(DISK_CALLS):
                daemon.look()

        before = daemon.fds()
        failed = calls.sweep(daemon.look, neighbour_reads)
        eventually(lambda: daemon.fds() <= before, what="descriptors back")
    assert len(failed) >= 30


def start_and_stop(daemon, environment):
    """Starts vreadd once more, and ends it as soon as it is ready.  Returns its exit status."""
    with open(daemon.log_path, "wb") as log:
        command = [VREADD, "-c", daemon.config]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    eventually(lambda: process.poll() is not None or ": ready" in daemon.log(), 60, daemon.log)
    process.terminate()
    return process.wait(120)


@pytest.mark.thorough
def test_each_call_of_the_start(start_daemon, calls):
    """vreadd must get ready, or end with an error that it tells."""
    daemon = start_daemon(wrapper=calls.wrapper, program=VREADD)
    assert daemon.stop() == 0
    environment = os.environ | daemon.clock.environment | calls.environment
    environment["ASAN_OPTIONS"] = "exitcode=99"

    def attempt():
        status = start_and_stop(daemon, environment)
        told = status == 1 and "error: " in daemon.log()
        assert status == 0 or told, f"exit status {status}\n{daemon.log()}"

    assert len(calls.sweep(attempt)) >= 50


def test_each_call_of_a_reader(tmp_path, start_daemon, image):
    """`vread cat`: libvread must return an error or the right bytes, and must not wait for ever."""
    calls = FailingCalls(tmp_path / "reader-calls", VREAD)
    environment = os.environ | calls.environment | {"ASAN_OPTIONS": "exitcode=99"}
    daemon = start_daemon()
    block = image.blocks[0]
    word = f"{POOL}/blk_{block.id}_{block.genstamp}@{STORAGE}:{len(block.content())}"

    def attempt():
        command = [VREAD, "cat", "--endpoint", daemon.socket, word]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=120)
        said = f"exit status {done.returncode}\n{done.stderr.decode()}"
        if done.returncode == 0:
            assert done.stdout == block.content(), said
        else:
            assert done.returncode == 1 and done.stderr, said

    assert len(calls.sweep(attempt)) >= 10
