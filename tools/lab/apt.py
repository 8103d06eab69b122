# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of Debian's archive that the lab unpacks and does not install.  kernels.py
uses them.  apt downloads and verifies the packages."""

from pathlib import Path

from .output import output
from .paths import LabError

UPDATE = "apt-get update may help"


def dependencies(package: str) -> list[str]:
    """The packages that the package depends on."""
    lines = output(["apt-cache", "depends", package], UPDATE).splitlines()
    words = [line.split() for line in lines]
    return [word[1] for word in words if len(word) == 2 and word[0].endswith("Depends:")]


def version(package: str) -> str:
    """The version that apt would install."""
    for line in output(["apt-cache", "policy", package]).splitlines():
        if line.strip().startswith("Candidate: "):
            return line.split()[1]
    raise LabError(f"apt knows no package {package} ({UPDATE})")


def unpack(packages: list[str], scratch: Path, root: Path) -> None:
    """Downloads the packages to `scratch`, and unpacks them below `root`."""
    command = ["apt-get", "download", "-q", *packages]
    try:
        output(command, folder=scratch)
    except LabError:
        # apt's lists may name a version that a newer one has replaced in the archive.
        output(["apt-get", "update", "-q"])
        output(command, "apt cannot download it", scratch)
    for package in sorted(scratch.glob("*.deb")):
        output(["dpkg-deb", "-x", str(package), str(root)])
