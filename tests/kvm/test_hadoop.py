# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock HDFS in three guests of KVM; one reads the live image of another (make demo-kvm)."""

import re
import subprocess
import sys

import pytest

from tools.vreadd import REPOSITORY

# `make test` has test_read.py and test_publish.py, and stock HDFS on Xen.
pytestmark = [pytest.mark.kvm, pytest.mark.slow]


def test_demo():
    command = [sys.executable, "-m", "tools.demo.kvm", "--mib", "8", "--block-mib", "4"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"demo-kvm: ok blocks=2 bytes=8388608 vread_bytes=8388608 fallback_bytes=0 sha256=\w{64}",
        last,
    )
