# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread trace: it must show the stages of each request, and vreadd must record nothing when no
trace runs.

vreadd's clock stands still, so a trace ends only when it is told to, or when the test advances the
clock.
"""

import contextlib
import os
import subprocess

import pytest

from tests.cli.conftest import XL_VREAD
from tests.libvread import vreadlib
from tests.libvread.conftest import lib  # noqa: F401
from tests.libvread.vreadlib import clock
from tests.support.waiting import eventually
from tools.vreadd import Vreadd

STAGES = ["find", "cache", "read", "verify", "check", "copy", "remote"]


@contextlib.contextmanager
def reading(lib, vreadd, block):  # noqa: F811
    with (
        vreadlib.Connection(lib, vreadd.endpoint, pool_bytes=2 << 20) as connection,
        connection.open(block.pool, block.id, block.genstamp) as f,
    ):
        yield f


def wait_until_unused(vreadd):
    """Waits until no device is left.  A CLOSE is traced like other requests, but clients do not
    wait for its answer."""
    eventually(lambda: not vreadd.status()["devices"])


@pytest.fixture(scope="module")
def vreadd(served):
    with Vreadd(served[0], variant="asan", clock=clock) as daemon:
        yield daemon


@pytest.fixture
def fresh(served):
    """A vreadd that has verified no bytes yet.  Bytes that were verified before are not verified
    again."""
    with Vreadd(served[0], variant="asan", clock=clock) as daemon:
        yield daemon


def test_stages(fresh, served, lib):  # noqa: F811
    vreadd = fresh
    block = served[1]["large"]
    after = vreadd.ask("trace", seconds=60)["last"]
    with reading(lib, vreadd, block) as f:
        assert len(f.pread(1 << 20, 0)) == 1 << 20
    missing = vreadlib.Connection(lib, vreadd.endpoint, pool_bytes=1 << 20)
    with missing as connection, pytest.raises(OSError):
        connection.open(block.pool, block.id + 1000, 1)
    answer = vreadd.ask("trace", seconds=0, after=after)
    records = answer["records"]
    assert [r["sequence"] for r in records] == list(range(after + 1, answer["last"] + 1))
    opened = next(r for r in records if r["operation"] == "open")
    assert opened["status"] == 0 and list(opened["stages"]) == ["find"]
    read = [r for r in records if r["operation"] == "read"]
    assert sum(r["status"] for r in read) == 1 << 20
    for record in records:
        assert 0 <= sum(record["stages"].values()) <= record["ns"]
        assert record["device"].startswith("local:")
    for record in read:
        assert set(record["stages"]) == {"read", "verify", "check", "copy"}
    wait_until_unused(vreadd)
    after = vreadd.ask("trace", seconds=60)["last"]
    with reading(lib, vreadd, block) as f:
        assert len(f.pread(4096, 0)) == 4096
    again = vreadd.ask("trace", seconds=0, after=after)["records"]
    assert set(again[1]["stages"]) == {"read", "verify", "check", "copy"}  # each read is verified
    assert [r["status"] for r in records if r["operation"] == "open"][-1] == -2  # ENOENT


def test_nothing_is_kept_when_nobody_looks(vreadd, served, lib):  # noqa: F811
    vreadd.ask("trace", seconds=0)
    wait_until_unused(vreadd)
    last = vreadd.ask("trace")["last"]
    with reading(lib, vreadd, served[1]["odd"]) as f:
        f.pread(1000, 0)
    assert vreadd.ask("trace", seconds=0)["last"] == last


def test_it_ends_by_itself(vreadd, served, lib):  # noqa: F811
    wait_until_unused(vreadd)
    before = vreadd.ask("trace", seconds=60)["last"]
    with reading(lib, vreadd, served[1]["odd"]) as f:
        clock.advance(59)
        f.pread(1000, 0)
        last = vreadd.ask("trace")["last"]
        assert last == before + 2  # the OPEN and the READ
        clock.advance(2)
        f.pread(1000, 0)  # the first request after the end switches the trace off
        last = vreadd.ask("trace")["last"]
        f.pread(1000, 0)
        assert vreadd.ask("trace")["last"] == last


def test_only_the_last_are_kept(vreadd, served, lib):  # noqa: F811
    after = vreadd.ask("trace", seconds=60)["last"]
    with reading(lib, vreadd, served[1]["chunk"]) as f:
        for _ in range(5000):
            f.pread(1, 0)
    answer = vreadd.ask("trace", seconds=0, after=after)
    assert answer["last"] >= after + 5000
    assert len(answer["records"]) == 1024
    assert answer["records"][0]["sequence"] == answer["last"] - 4096 + 1


def test_the_command(vreadd, served, lib):  # noqa: F811
    wait_until_unused(vreadd)
    command = [XL_VREAD, "trace", "-n", "5", "--seconds", "3600", "--socket", vreadd.control_socket]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    header = run.stdout.readline()
    assert header.split() == ["DEVICE", "WHAT", "us", *STAGES, "rest"]
    with reading(lib, vreadd, served[1]["large"]) as f:
        for _ in range(20):
            f.pread(1 << 20, 0)
        lines = run.stdout.read().splitlines()
    assert run.wait(60) == 0
    assert len(lines) == 5
    assert max(map(len, [header.rstrip(), *lines])) <= 80
    assert lines[0].split()[1] == "open" and lines[1].split()[1] == "read"
    for line in lines:
        total, *parts = map(int, line.split()[2:])
        assert abs(total - sum(parts)) <= len(parts)  # each part is rounded down


def test_of_another_device_only(xl_vread, vreadd, served, lib):  # noqa: F811
    done = xl_vread(
        "trace", "--seconds", "1", "--device", "xen:9/0", "--socket", vreadd.control_socket
    )
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)


@pytest.mark.parametrize(
    "request_", [{"seconds": 61}, {"seconds": "x"}, {"seconds": 1, "after": []}]
)
def test_requests_that_make_no_sense(vreadd, request_):
    assert vreadd.ask("trace", **request_) == {
        "error": 'expected a number "seconds" from 0 to 60, and a number "after"'
    }


def test_no_daemon(xl_vread, tmp_path):
    done = xl_vread("trace", "--socket", tmp_path / "none")
    assert (done.returncode, done.stdout) == (3, b"")
    assert os.fsencode(str(tmp_path)) in done.stderr
