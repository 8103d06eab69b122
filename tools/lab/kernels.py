# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that emulated machines run: those of a release (debian.py), and for guests others of
Debian's archive.

The latter are unpacked in build/lab/kernels, not installed, and packages.txt does not have them:
libguestfs, DKMS and the next boot of this machine use the newest kernel in /boot, and a test must
not change that.  apt downloads and verifies the kernel on which the package of a series
("linux-image-6.12-amd64") depends today.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import apt
from .output import output
from .paths import BUILD, LabError

FOLDER = BUILD / "kernels"
BESIDE = "$(dir $(realpath $(lastword $(MAKEFILE_LIST)))).."


@dataclass(frozen=True)
class Kernel:
    """root: the folder with the files of its packages: boot, lib/modules, usr/src."""

    release: str
    root: Path = Path("/")

    @property
    def image(self) -> Path:
        """A bzImage or, of a kernel that was compiled here, an ELF file."""
        return self.root / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        return self.root / "lib" / "modules" / self.release

    @property
    def headers(self) -> Path:
        return self.root / "usr" / "src" / f"linux-headers-{self.release}"


def archived(series: str) -> Kernel:
    """The newest kernel of a series ("6.12") that apt offers: image, modules, headers.  Downloads
    (124 MB) and unpacks it if it is not there.  Tools for headers come from packages.txt."""
    release = _parts(f"linux-image-{series}-amd64")[0].removeprefix("linux-image-")
    folder = FOLDER / release
    if not folder.is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER, prefix=".making-") as scratch:
            _unpack(Kernel(release, Path(scratch, "root")), Path(scratch), folder)
        _forget_others(series, folder)
    return Kernel(release, folder)


def _parts(package: str) -> list[str]:
    """The parts of a kernel that a package depends on."""
    found = apt.dependencies(package)
    kernel = [name for name in found if name.startswith("linux-") and name != "linux-base"]
    if not kernel:
        raise LabError(f"{package}: apt knows no kernel that it stands for ({apt.UPDATE})")
    return kernel


def _unpack(kernel: Kernel, scratch: Path, folder: Path) -> None:
    image, headers = f"linux-image-{kernel.release}", f"linux-headers-{kernel.release}"
    parts = [name for name in _parts(headers) if "-image-" not in name]
    apt.unpack([image, headers, *parts], scratch, kernel.root)
    shutil.rmtree(kernel.root / "usr" / "share")
    # It includes the common headers by their installed path; make that relative to itself.
    makefile = kernel.headers / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src/", f"{BESIDE}/"))
    output(["depmod", "-b", str(kernel.root), kernel.release])
    kernel.root.rename(folder)


def _forget_others(series: str, keep: Path) -> None:
    for folder in FOLDER.glob(f"{series}.*"):
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)
