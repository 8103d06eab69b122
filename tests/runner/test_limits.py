# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests tests/runner/limits.py: the limit of a test counts only while threads have a processor."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
MADE = """
import time
import pytest
from tools import patience

class Load:
    wanting, looks = 100000, 0

    def read_text(self):
        Load.looks += 1
        return f"9.00 9.00 9.00 {self.wanting}/1207 6859"

patience.LOAD = Load()
pytestmark = pytest.mark.timeout(0.2)

def test_while_threads_wait_for_processors():
    while Load.looks < 4:  # the first looks are more than 0.2 s apart
        time.sleep(0.01)

def test_while_all_have_one():
    Load.wanting = 1
    while True:
        time.sleep(0.01)

def test_after_a_limit_was_over():
    pass
"""


def test_a_test_has_longer_on_a_busy_machine(tmp_path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.runner.limits"]\n')
    (tmp_path / "test_made.py").write_text(MADE)
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", f"--rootdir={tmp_path}"]
    command += ["-o", f"pythonpath={REPOSITORY}", "-p", "no:cacheprovider", tmp_path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "test_while_all_have_one" in done.stdout
    assert "Failed: Timeout >0.2s" in done.stdout
