# SPDX-License-Identifier: GPL-2.0-or-later
"""One round of the turbo bench (tools/bench/turbo.py) must write the documented file.  Speed is not
judged, but who had the processor is."""

import json
import subprocess
import sys

import pytest

from tools.bench import turbo


@pytest.mark.xen
@pytest.mark.hadoop
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_turbo_bench(tmp_path):
    """A host boots for each of two schedulers, with two guests that compute."""
    out = tmp_path / "turbo.json"
    command = [sys.executable, "-m", "tools.bench", "turbo", "--rounds", "1", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    rows = {row["name"]: row for row in result["results"]}
    names = [f"{workload}.{way}" for workload in turbo.WORKLOADS for way in turbo.NAMES]
    assert set(rows) == {f"{name}.{figure}" for name in names for figure in turbo.FIGURES}
    shares = result["conditions"]["cpu_share"]
    assert set(shares) == set(names)
    for name in names:
        assert (rows[f"{name}.p50"]["unit"], rows[f"{name}.p50"]["n"]) == ("us", 1)
        assert 0 < rows[f"{name}.p50"]["median"] <= rows[f"{name}.p99"]["median"]
        paused = name.endswith(".alone")
        assert (shares[name]["busy"] < 0.01) == paused
    # Who computes on a processor of its own takes nearly all of it.
    assert shares["computes.alone"]["client"] > shares["computes.credit2"]["client"]
    for name in result["targets"]:
        assert f"{name}: " in done.stdout
