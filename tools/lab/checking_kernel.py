# SPDX-License-Identifier: GPL-2.0-or-later
"""checking(): kernels for guests that check locks, sleeps and memory while they run.  The tests in
tests/xen/checked and tests/kvm/checked run the guest's module in them.

There are two kernels.  XEN is for PV guests.  KVM is for guests of QEMU and also has KASAN, which
Linux 6.1 does not have in PV guests.

A kernel is compiled from Debian's package linux-source-6.1, the source of the installed kernel,
with the kernel's configuration.  That takes four to twenty minutes on two processors, once for each
version of the package, of the configuration and of this file.  The folder of build/lab/kernels also
has the files with which a module is built.
"""

import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import linux_source
from .cache import key_of
from .kernels import FOLDER, Kernel
from .output import output
from .paths import LAB, LabError

SOURCES = "usr/src"  # as kernels.Kernel.headers has it
# xs_suspend() takes xs_response_mutex under xs_watch_rwsem.  The device /dev/xen/xenbus, by which
# the lab's agent watches a node, takes them in the other order.  Lockdep reports these two of Linux
# at the first suspend and is off from then on, so xs_watch_rwsem is not judged.
WATCHES = "drivers/xen/xenbus/xenbus_xs.c"
BEFORE = "\terr = xb_init_comms();\n"
ADDED = "\tlockdep_set_novalidate_class(&xs_watch_rwsem);\n"
# QEMU boots an ELF file by its PVH entry.  The C code there runs before KASAN's shadow is mapped,
# so the first check of an access would reset the machine.
ENTRY = "arch/x86/platform/pvh/Makefile"
NOT_CHECKED = "KASAN_SANITIZE_enlighten.o := n\n"
# The files with which a module is built.
KEPT = (
    *("Makefile", "Kbuild", ".config", "Module.symvers", "include", "scripts"),
    *("arch/x86", "tools/objtool"),
)


@dataclass(frozen=True)
class Configuration:
    """name: of the kernel's folder.  files: lines of .config; a later file overrides an earlier
    one."""

    name: str
    files: tuple[Path, ...]

    def lines(self) -> list[str]:
        """The lines that the kernel's .config must have, one for each option."""
        lines = [line for file in self.files for line in file.read_text().splitlines()]
        options = {line.partition("=")[0]: line for line in lines if line.startswith("CONFIG_")}
        return list(options.values())


XEN = Configuration("checking-xen", (LAB / "checking.config",))
KVM = Configuration("checking-kvm", (LAB / "checking.config", LAB / "checking-kvm.config"))


def checking(configuration: Configuration) -> Kernel:
    """Compiles the kernel if it is not there.  If several programs call this at once, one compiles
    and the others wait."""
    version = linux_source.version()
    texts = [file.read_bytes() for file in configuration.files]
    key = key_of([version.encode(), *texts, Path(__file__).read_bytes()])
    folder = FOLDER / f"{configuration.name}-{key}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f".{configuration.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=FOLDER, prefix=".making-") as scratch:
                _make(Path(scratch), configuration).rename(folder)
            _forget_others(configuration, folder)
    return Kernel(_release(folder), folder)


def _release(root: Path) -> str:
    (image,) = (root / "boot").glob("vmlinuz-*")
    return image.name.removeprefix("vmlinuz-")


def _make(scratch: Path, configuration: Configuration) -> Path:
    """Returns a folder in `scratch` with the files of the kernel, as its packages would have
    them."""
    source, root = linux_source.extract(scratch), scratch / "root"
    _do_not_judge_watches(source / WATCHES)
    (source / ENTRY).write_text((source / ENTRY).read_text() + NOT_CHECKED)
    _configure(source, scratch / "wanted.config", configuration.lines())
    _run_make(source, f"-j{os.cpu_count()}", "vmlinux", "modules")
    release = output(["make", "-s", "kernelrelease"], folder=source).strip()
    _run_make(source, "modules_install", f"INSTALL_MOD_PATH={root}")
    (root / "boot").mkdir()
    image = root / "boot" / f"vmlinuz-{release}"
    output(["strip", "-o", str(image), str(source / "vmlinux")])
    kept = root / SOURCES / f"linux-headers-{release}"
    for name in KEPT:
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).rename(kept / name)
    return root


def _do_not_judge_watches(file: Path) -> None:
    text = file.read_text()
    if text.count(BEFORE) != 1:
        raise LabError(f"{file}: the place for {ADDED.strip()} is not there")
    file.write_text(text.replace(BEFORE, ADDED + BEFORE))


def _configure(source: Path, file: Path, wanted: list[str]) -> None:
    """Fails if the configuration that the kernel makes of the lines lacks one of them."""
    file.write_text("".join(f"{line}\n" for line in wanted))
    _run_make(source, "allnoconfig", f"KCONFIG_ALLCONFIG={file}")
    made = set((source / ".config").read_text().splitlines())
    if lost := [line for line in wanted if line not in made]:
        raise LabError(f"this kernel does not take {', '.join(lost)}")


def _run_make(source: Path, *arguments: str) -> None:
    """Without MAKEFLAGS and MAKELEVEL: those of the make that runs the tests are not meant here."""
    hint = f"packages.txt has what {linux_source.PACKAGE} is compiled with"
    output(["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-s", *arguments], hint, source)


def _forget_others(configuration: Configuration, keep: Path) -> None:
    for folder in FOLDER.glob(f"{configuration.name}-*"):
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)
