# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of Debian's archive that the lab unpacks and does not install, and source packages.
kernels.py, linux_source.py, libxl.py, device_model.py and libvirt_xen.py use
them.  apt downloads and verifies the packages."""

import functools
import subprocess
import tempfile
from pathlib import Path

from .output import output
from .paths import BUILD, LabError

UPDATE = "apt-get update may help"
ARCHIVES = "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)"


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


def unpacked(package: str) -> Path:
    """The contents of a package, downloaded to build/lab/packages if they are not there."""
    folder = BUILD / "packages" / f"{package}_{version(package).replace(':', '%')}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as scratch:
            root = Path(scratch, "root")
            unpack([package], Path(scratch), root)
            root.rename(folder)
    return folder


def source(package: str, series: str, first: str, folder: Path) -> Path:
    """Downloads a source package to `folder`; returns its .dsc.  The version is `first` or, if the
    archive does not have it, the newest one of the series ("4.17") that the archive has.

    apt has lists of its own for this: the machine's apt may know no source packages, and its
    configuration stays as it is."""
    with tempfile.TemporaryDirectory(prefix="apt-") as scratch:
        own = _own_lists(Path(scratch))
        output(["apt-get", *own, "update", "-q"], "source packages cannot be downloaded")
        errors = []
        for version in _in_order(_source_versions(own, package, series), first):
            command = ["apt-get", *own, "source", "--download-only", "-q", f"{package}={version}"]
            try:
                output(command, folder=folder)
            except LabError as error:
                errors.append(str(error))
                continue
            (found,) = folder.glob("*.dsc")
            return found
    raise LabError("\n".join(errors) or f"apt knows no source of {package} {series}")


def _own_lists(scratch: Path) -> list[str]:
    """Options of apt: the sources of Debian's archives from which the machine has its packages."""
    archives = set()
    for line in output(["apt-get", "indextargets", "--format", ARCHIVES]).splitlines():
        origin, *archive = line.split()
        if origin == "Debian":
            archives.add(" ".join(archive))
    if not archives:
        raise LabError(f"apt has no list of Debian's archive ({UPDATE})")
    sources = scratch / "sources.list"
    sources.write_text("".join(f"deb-src {archive}\n" for archive in sorted(archives)))
    for name in ("lists", "cache"):
        (scratch / name).mkdir()
    options = (
        f"Dir::Etc::SourceList={sources}",
        "Dir::Etc::SourceParts=/dev/null",
        f"Dir::State::Lists={scratch}/lists",
        f"Dir::Cache={scratch}/cache",
        "APT::Sandbox::User=root",  # another user cannot write here
        "APT::Update::Error-Mode=any",  # a list that cannot be fetched is an error, not a warning
    )
    return [word for option in options for word in ("-o", option)]


def _source_versions(own: list[str], package: str, series: str) -> list[str]:
    lines = output(["apt-cache", *own, "showsrc", package]).splitlines()
    found = {line.split()[1] for line in lines if line.startswith("Version: ")}
    return [version for version in found if version.startswith(f"{series}.")]


def _in_order(versions: list[str], first: str) -> list[str]:
    """The versions, `first` before the others, those from the newest to the oldest."""
    newest = sorted(versions, key=functools.cmp_to_key(_compare), reverse=True)
    return sorted(newest, key=lambda version: version != first)


def _compare(one: str, other: str) -> int:
    later = subprocess.run(["dpkg", "--compare-versions", one, "gt", other], check=False)
    return 1 if later.returncode == 0 else -1
