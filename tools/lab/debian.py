# SPDX-License-Identifier: GPL-2.0-or-later
"""Releases of Debian of which emulated machines are made: hypervisor, kernel, programs, libraries.

BOOKWORM is installed on this machine.  TRIXIE is a system below build/lab/debian, which debootstrap
makes once; that needs root, and nothing of it is installed here.  C programs for its machines are
compiled in that system, by its own compiler.

    with XenHost("h", debian=TRIXIE, files=product.dom0_files("release", TRIXIE)) as host:
"""

import fcntl
import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import debootstrap

from .kernels import Kernel
from .output import output
from .paths import BUILD, LIBRARY, REPOSITORY, LabError, kernel_release, newest

SYSTEMS = BUILD / "debian"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"  # of all releases
LOADER = "/lib64/ld-linux-x86-64.so.2"
SOURCES = "/src"  # the repository, while a command runs in a system


@dataclass(frozen=True)
class Debian:
    """suite, packages: what debootstrap makes; without a suite, this machine.  xen, linux: versions
    of the hypervisor and the kernel that are used."""

    xen: str
    linux: str
    suite: str = ""
    packages: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        return _system(self.suite, self.packages) if self.suite else Path("/")

    @property
    def build(self) -> Path:
        """Where the product is built for it: its build/."""
        return REPOSITORY / "build" / self.suite

    @property
    def hypervisor(self) -> Path:
        package = f"xen-hypervisor-{self.xen}-amd64"
        return newest(str(self.root / "boot"), f"xen-{self.xen}*-amd64.gz", package)

    @property
    def xen_tools(self) -> Path:
        """The folder of Xen's programs, as the system itself sees it."""
        return Path("/usr/lib", f"xen-{self.xen}", "bin")

    @property
    def kernel(self) -> Kernel:
        """The kernel of dom0, and of guests by default."""
        return Kernel(kernel_release(self.linux, self.root), self.root)

    def file(self, path: str | Path) -> Path:
        """The file on this machine that has this path in the system."""
        found = self.root / str(path).lstrip("/")
        while found.is_symlink():
            target = found.readlink()
            inside = target.is_absolute()
            found = self.root / str(target).lstrip("/") if inside else found.parent / target
        return found

    def files(self, paths: Iterable[str | Path]) -> dict[str, Path]:
        return {str(path): self.file(path) for path in paths}

    def libraries(self, programs: Iterable[Path]) -> dict[str, Path]:
        """{path in the system: file on this machine} of the shared libraries of dynamic programs,
        which may be anywhere on this machine."""
        if not self.suite:
            # ldd fails if one program is static, but still prints what it found for the others.
            said = _printed(["ldd", *programs])
            return {path: Path(path) for path in sorted(_found(said))}
        folders = self.root / "usr" / "lib"
        loader = [self.file(LOADER), "--inhibit-cache", "--library-path"]
        loader += [f"{self.file(LIBRARIES)}:{folders}", "--list"]
        said = "".join(_printed([*loader, program]) for program in programs)
        # A program names its loader by another path than the one where the loader found itself.
        others = [path for path in _found(said) if Path(path).name != Path(LOADER).name]
        inside = [f"/{Path(path).relative_to(self.root)}" for path in others]
        return self.files([*sorted(inside), LOADER])

    def compile(
        self, program: Path, sources: Iterable[Path], flags: Sequence[str], libraries: Sequence[str]
    ) -> None:
        """Compiles a C program of sources in this repository."""
        if not self.suite:
            output(["gcc", *flags, "-o", str(program), *map(str, sources), *libraries])
            return
        inside = [f"{SOURCES}/{source.relative_to(REPOSITORY)}" for source in sources]
        made = f"/out/{program.name}"
        self._run(
            ["gcc", *flags, "-o", made, *inside, *libraries],
            [(REPOSITORY, SOURCES), (program.parent, "/out")],
        )

    def make(self, *targets: str) -> None:
        """Makes targets of the Makefile in the system.  The repository's build folder there is
        `build` here, but what Java's compiler made is that of this machine's release."""
        mounts = [(REPOSITORY, SOURCES), (self.build, f"{SOURCES}/build")]
        mounts.append((REPOSITORY / "build/java", f"{SOURCES}/build/java"))
        for folder, _ in mounts:
            folder.mkdir(parents=True, exist_ok=True)
        command = ["make", "-C", SOURCES, "NO_SETUP=1", f"-j{os.cpu_count()}"]
        self._run([*command, "--old-file=build/java/compiled", *targets], mounts)

    def _run(self, command: Sequence[str], mounts: Sequence[tuple[Path, str]]) -> None:
        try:
            debootstrap.run_in(self.root, *command, mounts=mounts)
        except debootstrap.CommandFailed as error:
            raise LabError(f"{self.suite}: {error}") from error


BOOKWORM = Debian("4.17", "6.1")
TRIXIE = Debian(
    "4.20",
    "6.12",
    "trixie",
    (
        # dom0 and guests
        *"bash bridge-utils busybox-static iproute2 linux-image-amd64".split(),
        *"xen-hypervisor-4.20-amd64 xen-utils-4.20 xenstore-utils".split(),
        # compiling for them
        *"gcc linux-headers-amd64 make openjdk-21-jdk-headless perl pkg-config python3".split(),
        *"libblkid-dev libc6-dev libexpat1-dev libext2fs-dev libibverbs-dev libinih-dev".split(),
        *"libisal-dev libjansson-dev librdmacm-dev libseccomp-dev libssl-dev".split(),
        *"libsystemd-dev liburing-dev libxen-dev libzstd-dev uuid-dev zlib1g-dev".split(),
    ),
)


def _found(said: str) -> set[str]:
    if "not found" in said:
        raise LabError(f"missing libraries:\n{said}")
    return set(LIBRARY.findall(said))


def _printed(command: Sequence[str | Path]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@functools.cache
def _system(suite: str, packages: tuple[str, ...]) -> Path:
    """The folder of the system.  Removes those of the suite that were made of other packages."""
    folder = SYSTEMS / f"{suite}-{debootstrap.key_of(suite, packages)}"
    SYSTEMS.mkdir(parents=True, exist_ok=True)
    with (SYSTEMS / f".{suite}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _make_system(suite, packages, folder)
    return folder


def _make_system(suite: str, packages: tuple[str, ...], folder: Path) -> None:
    for old in SYSTEMS.glob(f"{suite}-*"):
        shutil.rmtree(old)
    making, log = SYSTEMS / f"{suite}-making", SYSTEMS / f".{suite}.log"
    try:
        debootstrap.make(suite, packages, making, log)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LabError(f"{suite}: debootstrap failed, its output is in {log}") from error
    making.rename(folder)
