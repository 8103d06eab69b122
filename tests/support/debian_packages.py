# SPDX-License-Identifier: GPL-2.0-or-later
"""`make deb` on each release of Debian for which there are packages.

    @pytest.fixture(params=debian_packages.RELEASES)
    ...
    folder = make_deb("trixie", REPOSITORY)

Debian 12 is this machine.  Debian 13 is a minimal system with what docs/install.md says: the build
dependencies of debian/control and a few tools.  The system is made once.  Each call unpacks it
anew, and mounts the tree in it.  So the compiler, the libraries, Maven, the JDK, debhelper and
lintian are those of Debian 13.  tests/packages calls this.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support.owner import needs_root
from tools import debootstrap
from tools.vreadd import REPOSITORY

BOOKWORM, TRIXIE = "bookworm", "trixie"
NO_DEBOOTSTRAP = "Debian 13 is made by debootstrap, which is not installed"
RELEASES = [
    BOOKWORM,
    pytest.param(
        TRIXIE,
        marks=[
            pytest.mark.slow,
            needs_root,
            pytest.mark.skipif(not shutil.which("debootstrap"), reason=NO_DEBOOTSTRAP),
        ],
    ),
]
TOOLS = ("build-essential", "ca-certificates", "git", "lintian")
# What Maven has fetched is equal for all releases.
FETCHED = ".m2/repository"
# A network may have a certificate authority of its own, which Maven must know.
CERTIFICATES = "/etc/ssl/certs"


def build_dependencies():
    """Names that apt-get understands: of alternatives the first."""
    text = (REPOSITORY / "debian/control").read_text()
    (listed,) = re.findall(r"^Build-Depends: (.*?)^\S", text, re.S | re.M)
    return [re.match(r"[^ (|]+", wanted.strip())[0] for wanted in listed.split(",")]


def make_deb(suite, tree):
    """Makes the packages of a source tree; returns their folder.  The tree keeps the objects of
    each release for the next call.  `make deb` fails if lintian reports anything."""
    command = ["make", "-C", tree, "NO_SETUP=1", "deb"]
    if suite == BOOKWORM:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout
        return tree / "build/deb"
    inside = f"/{tree.name}"
    build = tree / "build" / f"{suite}-packages"
    fetched = Path.home() / FETCHED
    for folder in (build, fetched):
        folder.mkdir(parents=True, exist_ok=True)
    mounts = [(tree, inside), (build, f"{inside}/build"), (fetched, f"/root/{FETCHED}")]
    mounts.append((Path(CERTIFICATES), CERTIFICATES))
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as root:
        packed = debootstrap.packed(suite, (), by_apt=(*TOOLS, *build_dependencies()))
        subprocess.run(["tar", "-C", root, "-xpf", packed], check=True)
        command[2] = inside
        debootstrap.run_in(Path(root), *command, mounts=mounts)
    return build / "deb"
