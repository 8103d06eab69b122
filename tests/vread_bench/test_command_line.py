# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of vread-bench: options, mistakes in it, and output that nobody reads to its
end."""

import re
import subprocess

import pytest

from tools.vread_bench.machine import version
from tools.vreadd import REPOSITORY

pytestmark = pytest.mark.spread


def test_the_version(bench):
    done = bench.call("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"vread-bench {version()}\n"
    assert re.search(r"\d+\.\d+", done.stdout)


def test_a_report_of_nothing(bench):
    done = bench.call("report", "--out", bench.folder / "report")
    assert done.returncode == 2
    assert "FILE" in done.stderr
    assert not (bench.folder / "report").exists()


@pytest.mark.parametrize("name", ["plan", "prepare", "run", "report", "--help"])
def test_output_that_nobody_reads(bench, name):
    """As `vread-bench plan | head`: no trace of a stack, and the status of an ended pipe."""
    files = ["--targets", bench.targets, bench.spec]
    words = {
        "run": ["run", "--out", bench.out, *files],
        "report": ["report", "--out", bench.folder / "report", bench.out],
        "--help": ["--help"],
    }.get(name, [name, *files])
    if name == "report":
        assert bench.run().returncode == 0
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait()
    done = subprocess.run(
        bench.command(*words),
        cwd=REPOSITORY,
        stdout=reader.stdin,
        stderr=subprocess.PIPE,
        text=True,
        timeout=600,
    )
    reader.stdin.close()
    assert done.returncode == 141, done.stderr
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
    if name == "run":
        assert len(bench.result()["raw"]) == 3 * 8
