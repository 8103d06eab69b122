# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs every cmocka program of this folder with the sanitizers, some also as installed."""

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build"
NAMES = sorted(source.stem for source in HERE.glob("test_*.c"))
# With sanitizers a parser may make more system calls, which their reports need.
DIFFERENT_IF_SANITIZED = ["test_parser"]


def test_there_are_unit_tests():
    assert NAMES


def run(variant, name):
    program = BUILD / variant / "unit" / name
    assert program.exists(), f"{program} is not built: make all VARIANT={variant}"
    done = subprocess.run(
        [program], capture_output=True, text=True, timeout=900, cwd=program.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_unit(name):
    run("asan", name)


@pytest.mark.parametrize("name", DIFFERENT_IF_SANITIZED)
def test_unit_as_installed(name):
    run("release", name)
