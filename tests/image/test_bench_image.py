# SPDX-License-Identifier: GPL-2.0-or-later
"""A small run of the image bench must write the documented file.  Speed is not judged."""

import json
import subprocess
import sys

import pytest

from tests.support.owner import needs_root
from tools.bench.results import Limit, Row, document, table

RATES = {"image.pread.cold", "seq.cold", "seq.warm", "image.pread.odirect", "seq.odirect"}
RATES |= {"fio.8readers", "seq.8readers"}
TIMES = {"open.ext4", "open.ext4.journal", "open.xfs", "open.million"}
FAIRNESS = "fairness:seq.8readers"


@needs_root
@pytest.mark.hadoop
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_image_bench(tmp_path):
    out = tmp_path / "image.json"
    command = [sys.executable, "-m", "tools.bench", "image", "--out", out]
    command += ["--mib", "64", "--block-mib", "8", "--rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert result["suite"] == "image"
    rows = {row["name"]: row for row in result["results"]}
    assert set(rows) == RATES | TIMES | {FAIRNESS}
    for name, row in rows.items():
        unit = "MB/s" if name in RATES else "us" if name in TIMES else ""
        assert (row["unit"], row["n"]) == (unit, 2)
        assert 0 < row["min"] <= row["median"] <= row["max"]
        assert (row["cpu_s_per_gib"] is not None) == (name in RATES)
    assert 1 / 8 <= rows[FAIRNESS]["median"] <= 1
    # Cold images were not in the page cache.
    assert result["conditions"]["resident_pages_when_cold"] < (64 << 20) // 4096 // 50
    assert set(result["ratios"]) == {"seq.cold/image.pread.cold", "seq.8readers/fio.8readers"}
    assert set(result["targets"]) == {*result["ratios"], "open.ext4", "open.million", FAIRNESS}
    for name in result["targets"]:
        assert f"{name}: " in done.stdout


def test_a_limit_is_of_a_row_itself():
    times, fair = Row("open", "us"), Row("fairness", "")
    for microseconds in (100, 400, 301):
        times.add_time(microseconds)
        fair.add_figure(0.9504)
    limits = [Limit("open", at_most=300), Limit("fairness", at_least=0.95)]
    result = document("image", [times, fair], limits, {})
    assert result["ratios"] == {}
    assert result["targets"] == {
        "open": {"at_most": 300, "met": False},
        "fairness": {"at_least": 0.95, "met": True},
    }
    assert [row["median"] for row in result["results"]] == [301, 0.95]
    assert [row["cpu_s_per_gib"] for row in result["results"]] == [None, None]
    text = table(result)
    assert "open: 301, target <= 300: MISSED" in text
    assert "fairness: 0.95, target >= 0.95: met" in text
