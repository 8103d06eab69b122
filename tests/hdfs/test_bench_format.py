# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the native bench (tools/bench): a small run must write the documented file, and the
table must be right.  Speed is not judged."""

import json
import subprocess
import sys

import pytest

from tools.bench.results import Ratio, Row, Target, document, table

ROWS = {"memcpy.seq", "image.pread.seq", "image.handed.seq", "image.handed.all"}
ROWS |= {"vread.block.seq", "vread.block.reread"}
ROWS |= {"hdfs.tcp.seq", "hdfs.shortcircuit.seq", "vread.hdfs.seq", "vread.hdfs.reread"}
ROWS |= {"hdfs.tcp.pread64k", "vread.hdfs.pread64k", "hdfs.write", "vread.write"}
ROWS |= {
    f"{way}.pread4k{threads}{rate}"
    for way in ("hdfs.tcp", "hdfs.shortcircuit", "vread.hdfs")
    for threads in ("", ".16")
    for rate in ("", ".rate")
}
ROWS |= {"jvms48.readers", "jvms48.fallbacks", "jvms48.fallbacks.ENOSPC"}
ROWS |= {"odirect.warm.tcp", "odirect.warm.vread"}
ROWS |= {"colocated.on", "colocated.off"}
ROWS |= {"slowdisk.vread", "slowdisk.first", "slowdisk.stock"}
ROWS |= {"hedged.p99.vread", "hedged.p99.stock", "hedged.p99.expected"}
ROWS |= {f"{what}.{of}" for what in ("start", "start.read") for of in ("stock", "vread", "more")}
ROWS |= {"small.files.stock", "small.files.vread"}
NO_CPU = {"", "/s", "ms"}  # units of rows without CPU time
KEYS = {"name", "unit", "n", "median", "min", "max", "cpu_s_per_gib"}


def unit_of(name):
    if name.startswith("jvms48."):
        return ""
    if name.startswith(("hedged.", "start.", "small.files.")):
        return "ms"
    if name.endswith(".rate"):
        return "/s"
    return "us" if ".pread64k" in name or ".pread4k" in name else "MB/s"


@pytest.mark.hadoop
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_native_bench(tmp_path):
    """The whole native bench runs, with little data, and its file has a row for each way.  It takes
    minutes: it starts HDFS, and a JVM for each way and round."""
    out = tmp_path / "bench" / "native.json"
    command = [sys.executable, "-m", "tools.bench", "native", "--out", out]
    command += ["--mib", "32", "--block-mib", "8", "--rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert result["suite"] == "native"
    rows = {row["name"]: row for row in result["results"]}
    assert set(rows) >= ROWS
    for row in rows.values():
        assert set(row) == KEYS
        n = 6 if row["name"].endswith(".write") or row["name"].startswith("start.") else 2
        assert (row["unit"], row["n"]) == (unit_of(row["name"]), n)
        assert row["min"] <= row["median"] <= row["max"]
        if not row["name"].endswith(".more"):
            assert row["min"] > 0 or (row["unit"], row["min"]) == ("", 0)
        if row["unit"] in NO_CPU:
            assert row["cpu_s_per_gib"] is None
        else:
            assert row["cpu_s_per_gib"] > 0
    conditions = result["conditions"]
    assert (conditions["bytes"], conditions["block_bytes"]) == (32 << 20, 8 << 20)
    trips = conditions["hdfs"]["cpu_to_cpu_round_trip_ns"]
    assert len(trips) == (2 if conditions["cpus"] > 1 else 0)
    assert all(0 < trip < 1_000_000 for trip in trips)
    scaling = conditions["hdfs"]["pread4k_rate_of_16_threads_by_1"]
    assert set(scaling) == {"hdfs.tcp", "hdfs.shortcircuit", "vread.hdfs"}
    assert all(factor > 0 for factor in scaling.values())
    check_jvms(rows, conditions["hdfs"]["jvms48"])
    assert conditions["hdfs"]["odirect.warm"]["bytes"] == 64 << 20
    check_shares(conditions["hdfs"])
    files = conditions["hdfs"]["small.files"]
    assert (files["files"], files["file_bytes"]) == (60, 4096)
    # More than the hedge time, by which reads of the stock client must have been answered, too.
    assert rows["hedged.p99.expected"]["min"] > conditions["hdfs"]["hedged"]["hedge_ms"]
    assert 0 <= conditions["cpus_used_by_others"] <= conditions["cpus"] + 0.5
    assert set(result["ratios"]) == set(result["targets"]) - set(rows)
    for name, target in result["targets"].items():
        ratio = rows[name]["median"] if name in rows else result["ratios"][name]
        met = ratio >= target["at_least"] if "at_least" in target else ratio <= target["at_most"]
        assert target["met"] == met
        assert name in done.stdout


def check_jvms(rows, conditions):
    """Each process of each round got its block either through vRead or after a fallback."""
    assert conditions["processes"].startswith("6 JVMs")
    assert rows["jvms48.readers"]["max"] <= 6
    assert rows["jvms48.fallbacks"]["max"] >= 6 - rows["jvms48.readers"]["min"]
    reasons = conditions["fallbacks_of_all_rounds"]
    assert bool(reasons) == bool(rows["jvms48.fallbacks"]["max"])
    assert ("ENOSPC" in reasons) == bool(rows["jvms48.fallbacks.ENOSPC"]["max"])


def check_shares(conditions):
    """These groups of rows say which part of the bytes came through vRead."""
    for title in ("odirect.warm", "colocated", "slowdisk"):
        assert 0 <= conditions[title]["share_that_vreadd_served"] <= 2  # read-ahead may be wasted


def test_a_missed_target_is_told():
    slow, fast = Row("slow"), Row("fast")
    for seconds in (1.0, 2.0, 4.0):
        slow.add(1 << 30, 4 * seconds, 1.0)
        fast.add(1 << 30, seconds, 0.5)
    targets = [Target("slow", "fast", 0.5), Target("slow", "fast", at_most=2.0, cpu=True)]
    result = document("native", [slow, fast], targets, {})
    assert result["ratios"] == {"slow/fast": 0.25, "cpu:slow/fast": 2.0}
    assert result["targets"] == {
        "slow/fast": {"at_least": 0.5, "met": False},
        "cpu:slow/fast": {"at_most": 2.0, "met": True},
    }
    assert result["results"][0]["cpu_s_per_gib"] == 1.0
    text = table(result)
    assert "slow/fast: 0.25x, target >= 0.5x: MISSED" in text
    assert "cpu:slow/fast: 2.00x, target <= 2.0x: met" in text


def test_a_ratio_is_told_without_a_verdict():
    one, two = Row("one", "us"), Row("two", "us")
    for microseconds in (100, 300):
        one.add_time(microseconds)
        two.add_time(2 * microseconds)
    result = document("native", [one, two], [Ratio("two", "one")], {})
    assert result["ratios"] == {"two/one": 2.0}
    assert result["targets"] == {}
    assert table(result).splitlines()[-1] == "two/one: 2.00x"


def test_a_latency_is_better_when_smaller():
    stock, ours = Row("stock", "us"), Row("ours", "us")
    for microseconds in (300, 400):
        stock.add_latency(microseconds, 1 << 30, 2.0)
        ours.add_latency(microseconds / 2, 1 << 30, 1.0)
    result = document("native", [stock, ours], [Target("ours", "stock", at_most=0.25)], {})
    assert result["results"][0] == {
        "name": "stock",
        "unit": "us",
        "n": 2,
        "median": 350,
        "min": 300,
        "max": 400,
        "cpu_s_per_gib": 2.0,
    }
    assert result["targets"] == {"ours/stock": {"at_most": 0.25, "met": False}}


def test_bad_wishes_are_told():
    for words, message in (
        (["native", "--rounds", "0"], "expected 1 or more"),
        (["native", "--only", "nothing"], "invalid choice: 'nothing'"),
        (["nothing"], "usage: python -m tools.bench"),
    ):
        command = [sys.executable, "-m", "tools.bench", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode != 0
        assert message in done.stderr
