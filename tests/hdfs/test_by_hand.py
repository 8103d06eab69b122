# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m tools.hdfs up --vread` must print commands that read a file through vRead."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import eventually

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.hadoop
def test_printed_commands_work(tmp_path):
    content = os.urandom(3_000_000)
    (tmp_path / "local").write_bytes(content)
    command = [sys.executable, "-m", "tools.hdfs", "up", "--dir", tmp_path / "c", "--vread"]
    command += ["--datanodes", "2", "--replication", "2", "--block-mib", "1"]
    command += ["--put", f"{tmp_path / 'local'}=/file"]
    up = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    try:
        told = {}
        for line in up.stdout:
            if line.startswith("running"):
                break
            name, _, value = line.strip().partition("  ")
            told[name] = value.strip()
        _wait_published(told["look at it"], datanodes=2)
        # On a busy machine an answer may take longer than the default timeout.
        statistics = tmp_path / "statistics"
        patient = (
            f"-D io.vread.timeout.ms=60000 -D io.vread.statistics.file={statistics} -cat /file"
        )
        read = _shell(told["read with"].replace("-cat PATH", patient))
        assert read.stdout == content
        counts = json.loads(statistics.read_text())["vread"]
        assert (counts["bytes"], counts["opens"], counts["failures"]) == (3_000_000, 3, 0)
    finally:
        up.terminate()  # not SIGINT: programs that a shell started with `&` ignore SIGINT
        up.communicate(timeout=120)
    assert up.returncode == 0
    eventually(lambda: str(tmp_path) not in _shell("losetup -a").stdout.decode())


def _wait_published(status, datanodes):
    """Waits until all blocks are published.  Publishing takes place after the write; until then
    reads may go by TCP."""
    eventually(lambda: _shell(status).stdout.count(b"published: finalized 3") >= datanodes)


def _shell(command):
    return subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=120)
