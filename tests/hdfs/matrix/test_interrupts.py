# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that are interrupted while they read must end as a stock client's do."""

import contextlib
import os
import signal

import pytest

from tests.support.hadoop_bed import ONE_COLUMN
from tools.vreadd import stop_process

pytestmark = [pytest.mark.hadoop, ONE_COLUMN]

TIMEOUT_MS = 600_000
INTERRUPTED = {
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
}


def ended_alike(stock, vread):
    """Asserts that both clients' reads were ended by the interrupt."""
    for outcome in (stock, vread):
        assert outcome.get("thrown") in INTERRUPTED, outcome
    assert vread["flag"] == stock["flag"]


@pytest.mark.parametrize("positioned", [False, True], ids=["sequential", "positioned"])
@pytest.mark.parametrize("moment", ["before", "half"])
def test_interrupted_reader(bed, moment, positioned):
    arguments = {"moment": moment, "positioned": positioned}
    ended_alike(*(bed.client.do("interrupt", by=by, **arguments) for by in ("stock", "vread")))


def test_pool_that_is_shut_down(bed):
    stock, vread = (bed.client.do("shutdown-pool", by=by)["outcomes"] for by in ("stock", "vread"))
    for ends in zip(stock, vread, strict=True):
        ended_alike(*ends)


@contextlib.contextmanager
def stopped(pids):
    with contextlib.ExitStack() as stack:
        for pid in pids:
            stop_process(pid)
            stack.callback(os.kill, pid, signal.SIGCONT)
        yield


@pytest.mark.parametrize("half", [False, True], ids=["before", "half"])
def test_interrupted_while_nobody_answers(bed, restored, tmp_path, half):
    """The stock client waits for datanodes that hang, and vRead for a vreadd that hangs.  vRead's
    timeout is longer than the scenario waits, so only the interrupt can end the wait in time."""
    datanodes = [bed.hdfs.pids[datanode.name] for datanode in bed.hdfs.datanodes]
    ends = []
    with bed.another_client(tmp_path, bed.properties(timeout_ms=TIMEOUT_MS)) as client:
        bed.wait_until_served(client)
        for by, pids in (("stock", datanodes), ("vread", [bed.vreadd.pid])):
            client.do("hung-open", by=by, half=half)
            with stopped(pids):
                ends.append(client.do("hung-read", by=by))
        ended_alike(*ends)
