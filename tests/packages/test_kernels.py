# SPDX-License-Identifier: GPL-2.0-or-later
"""The module compiles, without a warning, against the kernels that Debian's suites have today, with
the compilers that they have.  Each suite's minimal system is unpacked, and the module is built in
it, as DKMS does on a guest of that suite.  No guest boots here: that is tests/xen/shared's part.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.owner import needs_root
from tools import debootstrap
from tools.lab import product
from tools.lab.paths import kernel_release
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


def without_xen(folder):
    """This machine's headers of a kernel, as if it had been configured without Xen."""
    headers = Path(f"/lib/modules/{kernel_release()}/build").resolve()
    shutil.copytree(headers, folder, symlinks=True)
    for name in ("scripts", "tools"):
        (folder / name).unlink()
        (folder / name).symlink_to((headers / name).resolve())
    for name in (".config", "include/config/auto.conf", "include/generated/autoconf.h"):
        lines = (folder / name).read_text().splitlines(keepends=True)
        assert any("CONFIG_XEN" in line for line in lines)
        (folder / name).write_text("".join(line for line in lines if "XEN" not in line))


def test_a_kernel_without_xen(tmp_path):
    """It gets the core and the other transport, by hand and by DKMS."""
    without_xen(tmp_path / "headers")
    script = REPOSITORY / "linux-frontend/build.sh"
    run_here(script, kernel_release(), tmp_path / "headers", tmp_path / "out")
    built = {path.stem for path in (tmp_path / "out").glob("*.ko")}
    assert built == {product.CORE, product.KVM}
    asked = f"kernel_source_dir={tmp_path}/headers; . {tmp_path}/out/dkms.conf; "
    names = run_here("bash", "-c", asked + "echo ${BUILT_MODULE_NAME[@]}").split()
    assert set(names) == built and len(names) == 2
