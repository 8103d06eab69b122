# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the scheduler bench (tools/bench/scheduler.py): which rounds count, which rows are
compared, and one round of all of it.  Speed is not judged, but who had the processor is."""

import json
import subprocess
import sys

import pytest

from tools.bench import scheduler
from tools.bench.suite import BenchError


def a_round(value, *paused):
    """paused: (p50, p99) of each time when nothing could make a read wait."""
    shares = {"reads.credit2": {"client": value / 1000}}
    return {"times": {"reads.credit2.p50": value}, "shares": shares, "paused": list(paused)}


def bench_of(*rounds):
    bench = scheduler._Bench(None)
    bench.rounds = list(rounds)
    return bench


def test_a_disturbed_round_does_not_count():
    """Reads that wait while nothing in the host makes them wait have waited for the host itself."""
    bench = bench_of(
        a_round(100, (20, 30), (20, 60)),
        a_round(900, (20, 30), (20, 61)),  # a read waited
        a_round(800, (70, 71), (20, 30)),  # all reads were slow
        a_round(300, (25, 30), (20, 60)),
    )
    bench.fill_rows()
    assert bench.rows["reads.credit2.p50"].values == [100, 300]
    assert bench.shares() == {"reads.credit2": {"client": 0.2}}


def test_a_quieter_round_judges_the_earlier_ones():
    bench = bench_of(a_round(900, (60, 100)))
    assert len(bench.quiet_rounds()) == 1
    bench.rounds.append(a_round(100, (20, 30)))
    bench.fill_rows()
    assert bench.rows["reads.credit2.p50"].values == [100]


def test_nothing_is_told_of_disturbed_rounds():
    with pytest.raises(BenchError, match="no round counts"):
        bench_of(a_round(900, (20, 30), (20, 61))).fill_rows()


def test_every_way_is_compared_with_the_default():
    pairs = [(way, "credit2") for way in scheduler.NAMES if way != "credit2"]
    pairs.append(("slice", "credit"))
    wanted = {
        f"{workload}.{way}.{figure}/{workload}.{over}.{figure}"
        for workload in scheduler.WORKLOADS
        for figure in scheduler.FIGURES
        for way, over in pairs
    }
    assert {ratio.name for ratio in scheduler.RATIOS} == wanted


@pytest.mark.xen
@pytest.mark.hadoop
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_scheduler_bench(tmp_path):
    """A host boots for each of two schedulers, with two guests that compute."""
    out = tmp_path / "scheduler.json"
    # On a machine that tests share, no round would count.
    program = "import sys; from tools.bench import scheduler; scheduler.QUIET = 1e9; "
    program += "sys.exit(scheduler.SUITE.main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "--rounds", "1", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    rows = {row["name"]: row for row in result["results"]}
    names = [f"{workload}.{way}" for workload in scheduler.WORKLOADS for way in scheduler.NAMES]
    assert set(rows) == {f"{name}.{figure}" for name in names for figure in scheduler.FIGURES}
    shares = result["conditions"]["cpu_share"]
    assert set(shares) == set(names)
    for name in names:
        assert (rows[f"{name}.p50"]["unit"], rows[f"{name}.p50"]["n"]) == ("us", 1)
        assert 0 < rows[f"{name}.p50"]["median"] <= rows[f"{name}.p99"]["median"]
        paused = name.endswith(".alone")
        assert (shares[name]["busy"] < 0.01) == paused
    # Who computes on a processor of its own takes nearly all of it.
    assert shares["computes.alone"]["client"] > shares["computes.credit2"]["client"]
    assert result["targets"] == {}
    assert set(result["ratios"]) == {ratio.name for ratio in scheduler.RATIOS}
    for name in result["ratios"]:
        assert f"{name}: " in done.stdout
