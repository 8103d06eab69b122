# SPDX-License-Identifier: GPL-2.0-or-later
"""vRead and the stock client's own way compete (docs/hadoop.md): the plug-in measures both, and
leaves blocks to the way that is faster.  What "faster" means is tested in Java, with clocks of the
tests' own; here real reads go by vRead, or not, as a vreadd is starved."""

from contextlib import ExitStack

import pytest

from tests.support.hadoop_bed import ONE_COLUMN
from tests.support.slowing import starved
from tests.support.waiting import eventually

pytestmark = pytest.mark.hadoop


@pytest.fixture
def competing(bed, tmp_path):
    """A client that competes."""
    with bed.another_client(tmp_path, bed.properties(compete="true")) as client:
        yield client


def pread(client):
    """Reads by position; every read is a reader of its own.  Returns what the client counted."""
    answer = client.do("read", way="pread")
    assert answer["bytes"] == answer["stock_bytes"]
    assert "vread.failures" not in answer["stats"], answer
    assert "compete.failed" not in answer["stats"], answer
    return answer["stats"]


@ONE_COLUMN
def test_both_ways_are_measured(competing):
    """The plug-in must be able to compare vRead with the stock client's own way.  While it
    compares, the application must read the right bytes."""
    eventually(lambda: pread(competing).get("compete.measured", 0) > 0, what="a probe")


@ONE_COLUMN
def test_a_starved_vreadd(bed, competing):
    """dom0 has hardly a processor for vreadd: blocks must be left to the stock client, until the
    datanodes have hardly one.  Which of two ways is faster that nobody starves, is the machine's
    to say."""
    assert "fallback.blocks" not in pread(competing)
    with starved(bed.vreadd.pid):
        eventually(
            lambda: pread(competing).get("fallback.reasons.slower", 0) > 0,
            what="blocks left to the stock client",
        )
    with ExitStack() as stack:
        for datanode in bed.hdfs.datanodes:
            stack.enter_context(starved(bed.hdfs.pids[datanode.name]))
        eventually(
            lambda: "fallback.blocks" not in pread(competing), what="blocks read by vRead again"
        )
