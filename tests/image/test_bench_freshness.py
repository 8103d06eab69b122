# SPDX-License-Identifier: GPL-2.0-or-later
"""A small run of the freshness bench must read back what was published and write the documented
file.  The times are not judged."""

import json
import subprocess
import sys

import pytest

from tests.support.owner import needs_root

BLOCKS = 6


@needs_root
@pytest.mark.thorough
def test_freshness_bench(tmp_path):
    out = tmp_path / "freshness.json"
    command = [sys.executable, "-m", "tools.bench", "freshness", "--out", out]
    command += ["--mib", str(BLOCKS // 2), "--block-mib", "1", "--rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    rows = {row["name"]: row for row in result["results"]}
    assert set(rows) == {
        f"{what}.{kind}" for what in ("publish", "fsynced") for kind in ("ext4", "xfs")
    }
    for row in rows.values():
        assert (row["unit"], row["n"]) == ("us", BLOCKS)
        assert 0 < row["min"] <= row["median"] <= row["max"]
    # The documented limits, in microseconds.
    limits = {name: target["at_most"] for name, target in result["targets"].items()}
    assert limits == {"publish.ext4": 100_000, "publish.xfs": 3_000_000}
    for name in limits:
        assert f"{name}: " in done.stdout


def test_less_than_a_block(tmp_path):
    command = [sys.executable, "-m", "tools.bench", "freshness", "--mib", "1", "--block-mib", "2"]
    command += ["--out", tmp_path / "none.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "--mib 1: expected at least one block of 2 MiB" in done.stderr
    assert not (tmp_path / "none.json").exists()
