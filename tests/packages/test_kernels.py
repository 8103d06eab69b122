# SPDX-License-Identifier: GPL-2.0-or-later
"""The module compiles, without a warning, against the kernels that Debian's suites have today, with
the compilers that they have.  Each suite's minimal system is unpacked, and the module is built in
it, as DKMS does on a guest of that suite.  No guest boots here: that is tests/xen/shared's part.
"""

import re
import shutil
import subprocess

import pytest

from tests.support.owner import needs_root
from tools import debootstrap
from tools.lab import product
from tools.vreadd import REPOSITORY

pytestmark = [pytest.mark.slow, needs_root, pytest.mark.timeout(3600)]

TOOLS = ("linux-headers-amd64", "make", "perl", "python3")
# Where the newest kernel's headers come from, if not from the suite itself.
BACKPORTS = "deb http://deb.debian.org/debian bookworm-backports main\n"
BUILD = """
set -eu
for kernel in /lib/modules/*/build; do
    version=$(basename "$(dirname "$kernel")")
    /src/linux-frontend/build.sh "$version" "$kernel" "/out/$version"
    echo "compiled for $version"
done
"""


def run_here(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def copy_sources(root):
    for folder in ("linux-frontend", "xenstore-schema"):
        shutil.copytree(REPOSITORY / folder, root / "src" / folder)
    version = root / "src/xen-backend/base"
    version.mkdir(parents=True)
    shutil.copy(REPOSITORY / "xen-backend/base/version.h", version)


@pytest.mark.parametrize("suite", ["bookworm", "bookworm-backports", "trixie", "sid"])
def test_the_module_compiles(suite, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    release, _, backports = suite.partition("-")
    packed = debootstrap.packed(release, TOOLS)
    subprocess.run(["tar", "-C", root, "-xpf", packed], check=True)
    copy_sources(root)
    if backports:
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        with open(root / "etc/apt/sources.list", "a") as sources:
            sources.write(BACKPORTS)
        debootstrap.run_in(root, "apt-get", "update")
        debootstrap.run_in(root, "apt-get", "install", "-y", "-t", suite, "linux-headers-amd64")
    built = debootstrap.run_in(root, "bash", "-c", BUILD)
    versions = re.findall(r"^compiled for (\S+)$", built, re.M)
    assert len(versions) == (2 if backports else 1), built
    for version in versions:
        for name in (product.CORE, product.XEN, product.KVM):
            module = root / "out" / version / f"{name}.ko"
            magic = run_here("modinfo", "-F", "vermagic", module)
            assert magic.startswith(f"{version} SMP"), magic
