# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-bench works as the Makefile installs it: by the launcher, with nothing of the source tree,
under Debian's Python."""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.spread

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHON = Path("/usr/bin/python3")


@pytest.fixture
def installed(tmp_path):
    """The lines of `make install` that are about vread-bench, run with another prefix."""
    command = ["make", "-n", "install", f"PREFIX={tmp_path}", "NO_SETUP=1", "V=1"]
    lines = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    wanted = [line for line in lines.stdout.splitlines() if "vread-bench" in line]
    wanted = [line for line in wanted if str(tmp_path) in line and "for page" not in line]
    assert len(wanted) == 5, lines.stdout
    (tmp_path / "bin").mkdir()
    subprocess.run(" && ".join(wanted), shell=True, cwd=REPOSITORY, check=True)
    return tmp_path


@pytest.mark.skipif(not PYTHON.exists(), reason="no Python of Debian")
def test_the_launcher(installed, bench):
    def call(*words):
        command = [PYTHON, installed / "bin/vread-bench", *map(str, words)]
        return subprocess.run(command, cwd="/", env={"PATH": "/usr/bin:/bin"}, capture_output=True,
                              text=True)  # fmt: skip

    files = ("--targets", bench.targets, "--out", bench.out, bench.spec)
    done = call("run", *files)
    assert done.returncode == 0, done.stderr
    header = (REPOSITORY / "xen-backend/base/version.h").read_text()
    version = re.search(r'VREAD_VERSION "(.*)"', header)[1]
    assert bench.result()["targets"]["here"]["versions"] == {"vread-bench": version}
    assert call("--version").stdout == f"vread-bench {version}\n"
    done = call("report", "--out", bench.folder / "report", bench.spec)
    assert (done.returncode, "no result file" in done.stderr) == (1, True), done.stderr
    # Debian's own tools would not remove what Python wrote beside the modules.
    assert not list(installed.rglob("__pycache__"))
