# SPDX-License-Identifier: GPL-2.0-or-later
"""checking(): a kernel for PV guests that checks locks, sleeps and memory while it runs.
tests/xen/checked runs the guest's module in it.

The kernel is compiled from Debian's package linux-source-6.1, the source of the installed kernel,
with checking.config.  That takes four to fifteen minutes on two processors, once for each version
of the package, of the configuration and of this file.  The folder of build/lab/kernels also has the
files with which a module is built.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from . import linux_source
from .cache import key_of
from .kernels import FOLDER, Kernel
from .output import output
from .paths import LAB, LabError

CONFIGURATION = LAB / "checking.config"
SOURCES = "usr/src"  # as kernels.Kernel.headers has it
# xs_suspend() takes xs_response_mutex under xs_watch_rwsem.  The device /dev/xen/xenbus, by which
# the lab's agent watches a node, takes them in the other order.  Lockdep reports these two of Linux
# at the first suspend and is off from then on, so xs_watch_rwsem is not judged.
WATCHES = "drivers/xen/xenbus/xenbus_xs.c"
BEFORE = "\terr = xb_init_comms();\n"
ADDED = "\tlockdep_set_novalidate_class(&xs_watch_rwsem);\n"
# The files with which a module is built.
KEPT = (
    *("Makefile", "Kbuild", ".config", "Module.symvers", "include", "scripts"),
    *("arch/x86", "tools/objtool"),
)


def checking() -> Kernel:
    """Compiles the kernel if it is not there.  If several programs call this at once, one compiles
    and the others wait."""
    version = linux_source.version()
    key = key_of([version.encode(), CONFIGURATION.read_bytes(), Path(__file__).read_bytes()])
    folder = FOLDER / f"checking-{key}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".checking.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=FOLDER, prefix=".making-") as scratch:
                _make(Path(scratch)).rename(folder)
            _forget_others(folder)
    return Kernel(_release(folder), folder)


def _release(root: Path) -> str:
    (image,) = (root / "boot").glob("vmlinuz-*")
    return image.name.removeprefix("vmlinuz-")


def _make(scratch: Path) -> Path:
    """Returns a folder in `scratch` with the files of the kernel, as its packages would have
    them."""
    source, root = linux_source.extract(scratch), scratch / "root"
    _do_not_judge_watches(source / WATCHES)
    _configure(source)
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


def _configure(source: Path) -> None:
    """Fails if the configuration that the kernel makes of the file lacks one of its lines."""
    _run_make(source, "allnoconfig", f"KCONFIG_ALLCONFIG={CONFIGURATION}")
    made = set((source / ".config").read_text().splitlines())
    wanted = [line for line in CONFIGURATION.read_text().splitlines() if line[:7] == "CONFIG_"]
    if lost := [line for line in wanted if line not in made]:
        raise LabError(f"{CONFIGURATION}: this kernel does not take {', '.join(lost)}")


def _run_make(source: Path, *arguments: str) -> None:
    """Without MAKEFLAGS and MAKELEVEL: those of the make that runs the tests are not meant here."""
    hint = f"packages.txt has what {linux_source.PACKAGE} is compiled with"
    output(["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-s", *arguments], hint, source)


def _forget_others(keep: Path) -> None:
    for folder in FOLDER.glob("checking-*"):
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)
