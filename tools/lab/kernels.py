# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that emulated machines run: the installed one, and for guests others of Debian's archive.

The others are unpacked in build/lab/kernels, not installed, and packages.txt does not have them:
libguestfs, DKMS and the next boot of this machine use the newest kernel in /boot, and a test must
not change that.  apt downloads and verifies the kernel on which the package of a series
("linux-image-6.12-amd64") depends today.
"""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .paths import BUILD, LabError, kernel_release

FOLDER = BUILD / "kernels"
DOWNLOAD_TIMEOUT = 1800
BESIDE = "$(dir $(realpath $(lastword $(MAKEFILE_LIST)))).."


@dataclass(frozen=True)
class Kernel:
    """root: the folder with the files of its packages: boot, lib/modules, usr/src."""

    release: str
    root: Path = Path("/")

    @property
    def image(self) -> Path:
        return self.root / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        return self.root / "lib" / "modules" / self.release

    @property
    def headers(self) -> Path:
        return self.root / "usr" / "src" / f"linux-headers-{self.release}"


def installed() -> Kernel:
    """The kernel of dom0, and of guests by default."""
    return Kernel(kernel_release())


def archived(series: str) -> Kernel:
    """The newest kernel of a series ("6.12") that apt offers: image, modules, headers.  Downloads
    (124 MB) and unpacks it if it is not there.  Tools for headers come from packages.txt."""
    release = _depends(f"linux-image-{series}-amd64")[0].removeprefix("linux-image-")
    folder = FOLDER / release
    if not folder.is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER, prefix=".making-") as scratch:
            _unpack(Kernel(release, Path(scratch, "root")), Path(scratch), folder)
        _forget_others(series, folder)
    return Kernel(release, folder)


def _depends(package: str) -> list[str]:
    """The parts of a kernel that a package depends on."""
    lines = _output(["apt-cache", "depends", package], f"is Debian's {package} known to apt?")
    words = [line.split() for line in lines.splitlines()]
    found = [word[1] for word in words if len(word) == 2 and word[0].endswith("Depends:")]
    kernel = [name for name in found if name.startswith("linux-") and name != "linux-base"]
    if not kernel:
        raise LabError(f"{package}: apt knows no kernel it stands for; apt-get update may help")
    return kernel


def _unpack(kernel: Kernel, scratch: Path, folder: Path) -> None:
    image, headers = f"linux-image-{kernel.release}", f"linux-headers-{kernel.release}"
    parts = [name for name in _depends(headers) if "-image-" not in name]
    _download(scratch, [image, headers, *parts])
    for package in sorted(scratch.glob("*.deb")):
        _output(["dpkg-deb", "-x", str(package), str(kernel.root)])
    shutil.rmtree(kernel.root / "usr" / "share")
    # It includes the common headers by their installed path; make that relative to itself.
    makefile = kernel.headers / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src/", f"{BESIDE}/"))
    _output(["depmod", "-b", str(kernel.root), kernel.release])
    kernel.root.rename(folder)


def _download(folder: Path, packages: list[str]) -> None:
    command = ["apt-get", "download", "-q", *packages]
    if _run(command, folder).returncode:
        # apt's lists may name a version that a newer one has replaced in the archive.
        _output(["apt-get", "update", "-q"])
        _output(command, "apt cannot download it", folder)


def _forget_others(series: str, keep: Path) -> None:
    for folder in FOLDER.glob(f"{series}.*"):
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"LC_ALL": "C"},
        timeout=DOWNLOAD_TIMEOUT,
        check=False,
    )


def _output(command: list[str], what: str = "", folder: Path | None = None) -> str:
    done = _run(command, folder)
    if done.returncode:
        raise LabError(
            f"{' '.join(command)}: {done.stderr.strip()}" + (f" ({what})" if what else "")
        )
    return done.stdout
