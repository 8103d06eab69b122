# SPDX-License-Identifier: GPL-2.0-or-later
"""`make setup` knows the packages of packages.txt on Debian 12 and 13, and no other system.

A user who is not root gets the command that would install what is missing.  The slow test asks apt
in a minimal system of each release what that command would do.
"""

import os
import re
import shutil
import subprocess

import pytest

from tests.support.debian_packages import BOOKWORM, NO_DEBOOTSTRAP, TRIXIE
from tests.support.owner import needs_root
from tools import debootstrap
from tools.vreadd import REPOSITORY

SCRIPT = REPOSITORY / "tools/setup/install-packages.sh"
LIST = REPOSITORY / "packages.txt"
TOLD = re.compile(r"setup: not root\. Run: (apt-get install --no-install-recommends) (.*)$", re.M)
# In place of dpkg-query and id: nothing is installed, and the user is not root.
FAKES = {"dpkg-query": "exit 1", "id": "echo 1000"}


def setup(folder, release):
    """Runs the script for a system with these lines in os-release."""
    (folder / "os-release").write_text(release)
    for name, command in FAKES.items():
        (folder / name).write_text(f"#!/bin/sh\n{command}\n")
        (folder / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    command = [SCRIPT, LIST, folder / "os-release"]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def lines():
    """The names in each line of packages.txt."""
    text = re.sub(r"#.*", "", LIST.read_text())
    return [line.split() for line in text.splitlines() if line.strip()]


def test_a_line_has_the_name_in_each_release():
    assert {len(names) for names in lines()} == {1, 2}


@pytest.mark.parametrize(("number", "column"), [(12, 0), (13, -1)])
def test_the_names_are_those_of_the_release(number, column, tmp_path):
    done = setup(tmp_path, f"ID=debian\nVERSION_ID={number}\n")
    assert done.returncode == 1
    told = TOLD.search(done.stderr)
    assert told[2].split() == [names[column] for names in lines()]


@pytest.mark.parametrize(
    "text", ["ID=debian\n", "ID=debian\nVERSION_ID=11\n", "ID=x\nVERSION_ID=12\n"]
)
def test_another_system(text, tmp_path):
    done = setup(tmp_path, f'PRETTY_NAME="A system"\n{text}')
    assert (done.returncode, done.stdout) == (1, "")
    assert "names packages of Debian 12 and 13, but" in done.stderr
    assert "is of A system. Install packages with" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(3600)
@needs_root
@pytest.mark.skipif(not shutil.which("debootstrap"), reason=NO_DEBOOTSTRAP)
@pytest.mark.parametrize("suite", [BOOKWORM, TRIXIE])
def test_the_release_has_all_of_them(suite, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["tar", "-C", root, "-xpf", debootstrap.packed(suite, ())], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    for path in (SCRIPT, LIST):
        shutil.copy(path, root / "srv")
    as_nobody = "setpriv --reuid=nobody --clear-groups"
    said = f"{as_nobody} /srv/{SCRIPT.name} /srv/{LIST.name} || true"
    _, names = TOLD.search(debootstrap.run_in(root, "sh", "-c", said)).groups()
    missing = set(names.split())
    assert len(missing) > 50
    debootstrap.run_in(root, "apt-get", "update")
    install = ["apt-get", "install", "--simulate", "--no-install-recommends", *names.split()]
    would = debootstrap.run_in(root, *install)
    assert missing <= set(re.findall(r"^Inst (\S+) ", would, re.M))
