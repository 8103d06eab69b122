# SPDX-License-Identifier: GPL-2.0-or-later
"""Every cmocka program, as built with the sanitizers, is a test."""

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILT = HERE.parents[1] / "build" / "asan" / "unit"
NAMES = sorted(source.stem for source in HERE.glob("test_*.c"))


def test_there_are_unit_tests():
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_unit(name):
    program = BUILT / name
    assert program.exists(), f"{program} is not built: make all VARIANT=asan"
    done = subprocess.run([program], capture_output=True, text=True, timeout=900, cwd=BUILT)
    assert done.returncode == 0, done.stdout + done.stderr
