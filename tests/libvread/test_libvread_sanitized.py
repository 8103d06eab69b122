# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the tests of this folder again under ASan and UBSan, and vread under valgrind."""

import os
import subprocess
import sys

import pytest

from tests.libvread import vreadlib
from tests.libvread.conftest import BUILD

pytestmark = [pytest.mark.spread, pytest.mark.thorough]

FOLDER = os.path.dirname(__file__)


def runtime(name):
    found = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


@pytest.mark.parametrize("tests", ["api", "faults", "hostile", "interrupts", "queues"])
def test_under_address_sanitizer(tests):
    env = os.environ | {
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # Python itself leaks
        "VREAD_TEST_LIBRARY": str(BUILD / "asan/libvread.so.1"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"{FOLDER}/test_libvread_{tests}.py"],
        env=env,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert " passed" in done.stdout


def valgrind(*command):
    options = ["--quiet", "--error-exitcode=99", "--leak-check=full"]
    options += ["--errors-for-leak-kinds=definite,indirect,possible"]
    return subprocess.run(
        ["valgrind", *options, BUILD / "release/vread", *command],
        env=os.environ | vreadlib.clock.environment,
        capture_output=True,
        timeout=900,
    )


def test_vread_under_valgrind(vreadd, served):
    blocks = [served[1][name] for name in ("large", "odd", "byte")]
    specs = [f"{block.pool}/blk_{block.id}_{block.genstamp}@{block.storage}" for block in blocks]
    done = valgrind("cat", "--endpoint", vreadd.endpoint, *specs)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"".join(block.content() for block in blocks)
    done = valgrind("stat", "--endpoint", vreadd.endpoint, *specs, "p/blk_1_1")
    assert done.returncode == 1, done.stderr.decode()
