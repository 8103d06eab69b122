# SPDX-License-Identifier: GPL-2.0-or-later
"""A small run of the scale bench (tools/bench/scale.py) must write the documented file.  Speed is
not judged."""

import json
import subprocess
import sys

import pytest

from tests.support.owner import needs_root
from tools.bench import scale


@needs_root
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_scale_bench(tmp_path):
    out = tmp_path / "scale.json"
    command = [sys.executable, "-m", "tools.bench", "scale", "--out", out]
    command += ["--mib", "16", "--block-mib", "1", "--rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    rows = {row["name"]: row for row in result["results"]}
    for count in scale.READERS:
        row = rows[f"readers.{count}"]
        assert (row["unit"], row["n"]) == ("MB/s", 2)
        assert row["min"] > 0
        assert row["cpu_s_per_gib"] > 0
    for name in ("datanodes.16.open", "peers.200.open"):
        assert (rows[name]["unit"], rows[name]["n"]) == ("us", 2)
        assert rows[name]["min"] > 0
    for name in ("start", "parser", "device", "block", "peer"):
        assert rows[f"memory.{name}"]["unit"] == "KiB"
        assert rows[f"memory.{name}"]["min"] > 0
    # The pool of a client is its own memory, and so are 1000 blocks of which nothing is kept.
    assert rows["memory.device"]["max"] < 16 << 10
    assert {target.name for target in scale.TARGETS} == set(result["ratios"])
    for name in result["ratios"]:
        assert f"{name}: " in done.stdout
