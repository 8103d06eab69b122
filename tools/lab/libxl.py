# SPDX-License-Identifier: GPL-2.0-or-later
"""xl and libxl that know vread devices: Debian's source of Xen with the patches of
tools/toolstack/libxl.  tests/xen/test_libxl.py runs them in dom0 of an emulated host.

Of the build only the files are kept that differ from Debian's, and the programs that use libxl.
All other programs and libraries of Xen in dom0 are Debian's own.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import apt
from .cache import key_of
from .debian import BOOKWORM
from .output import output
from .paths import BUILD, REPOSITORY, LabError

SERIES = REPOSITORY / "tools" / "toolstack" / "libxl"
FOLDER = BUILD / "libxl"
XEN, INSTALLED = "4.17", "xen-utils-4.17"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# {what is built, below tools/: where dom0 has it}
BUILT = {
    "xl/xl": str(BOOKWORM.xen_tools / "xl"),
    "libs/light/libxenlight.so.4.17": f"{LIBRARIES}/libxenlight.so.4.17",
    "libs/util/libxlutil.so.4.17": f"{LIBRARIES}/libxlutil.so.4.17",
    # They have a libxl_domain_config of their own, and the series makes it larger.
    "helpers/xen-init-dom0": str(BOOKWORM.xen_tools / "xen-init-dom0"),
    "helpers/init-xenstore-domain": str(BOOKWORM.xen_tools / "init-xenstore-domain"),
}
# What is compiled, below tools/.  Each part needs some of those before it.
PARTS = [
    "include",
    *(
        f"libs/{name}"
        for name in (
            "toolcore toollog evtchn call foreignmemory gnttab devicemodel hypfs ctrl store guest "
            "light util"
        ).split()
    ),
    "helpers",
    "xl",
]
# configure asks for libraries of QEMU, which is not built.  Without pkg-config it finds no libnl;
# Debian's libxl uses none.
VARIABLES = [
    "PKG_CONFIG=/bin/false",
    *("glib_CFLAGS= ", "glib_LIBS= ", "pixman_CFLAGS= ", "pixman_LIBS= "),
]
# The first three lines are the places of files, as in debian/rules.
CONFIGURE = f"""
--prefix=/usr --sysconfdir=/etc --localstatedir=/var --libdir={LIBRARIES}
--with-libexec-libdir-suffix=/x86_64-linux-gnu --with-libexec-leaf-dir=xen-{XEN}
--with-system-qemu=/usr/libexec/xen-qemu-system-i386
--disable-xen --disable-stubdom --disable-docs --disable-ocamltools --disable-golang
--disable-xsmpolicy --disable-seabios --disable-ovmf --disable-ipxe --disable-qemu-traditional
--disable-rombios --disable-pvshim --disable-pygrub
""".split()


class NoSource(LabError):
    """Debian's source of Xen cannot be downloaded."""


def patched() -> dict[str, Path]:
    """{path in dom0: file} of the patched toolstack.  Compiles them if they are not there, which
    takes a minute, once for each version of the source, the series and this file.  If several
    programs call this at once, one compiles and the others wait."""
    with _locked():
        inputs = [_source(), *patches(), Path(__file__)]
        folder = FOLDER / key_of(path.read_bytes() for path in inputs)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=FOLDER, prefix=".making-") as scratch:
                _keep(build(unpack(Path(scratch))), Path(scratch) / "kept").rename(folder)
            _forget_others(folder)
    return {place: folder / Path(place).name for place in BUILT.values()}


def patches() -> list[Path]:
    return sorted(SERIES.glob("*.patch"))


def unpack(folder: Path) -> Path:
    """Unpacks Debian's source, with Debian's own patches, and applies the series.  Returns the
    tree."""
    tree = folder / "xen"
    output(["dpkg-source", "-q", "--no-check", "-x", str(_source()), str(tree)])
    for patch in patches():
        # Without fuzz: what is around a change must be what the patch says.
        output(["patch", "-p1", "-s", "-F0", "-i", str(patch)], folder=tree)
    return tree


def build(tree: Path) -> Path:
    """Compiles the toolstack in a tree, and returns the tree.  By Xen's own flags a warning is an
    error."""
    for name in ("config.sub", "config.guess"):  # which Debian's source has not
        shutil.copy(f"/usr/share/misc/{name}", tree)
    output(["autoconf"], folder=tree)
    output(["autoconf"], folder=tree / "tools")
    output(["autoheader"], folder=tree / "tools")
    _run(tree, *VARIABLES, "./configure", "-q", *CONFIGURE)
    for part in PARTS:
        _run(tree, "make", "-s", f"-j{os.cpu_count()}", "-C", f"tools/{part}")
    return tree


def _run(tree: Path, *command: str) -> None:
    """Without MAKEFLAGS and MAKELEVEL: those of the make that runs the tests are not meant here."""
    hint = "packages.txt has what Xen's toolstack is compiled with"
    output(["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", *command], hint, tree)


def _source() -> Path:
    """The .dsc of Debian's source of Xen.  Downloads the package (5 MB) if it is not there."""
    folder = FOLDER / "source"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=FOLDER, prefix=".making-") as scratch:
            package = Path(scratch) / "package"
            package.mkdir()
            try:
                apt.source("xen", XEN, apt.version(INSTALLED), package)
            except LabError as error:
                raise NoSource(f"no source of Xen {XEN}: {error}") from error
            package.rename(folder)
    (found,) = folder.glob("*.dsc")
    return found


def _keep(tree: Path, folder: Path) -> Path:
    """Copies what was built to a new folder, and returns the folder."""
    folder.mkdir()
    for built, place in BUILT.items():
        shutil.copy(tree / "tools" / built, folder / Path(place).name)
    return folder


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _forget_others(keep: Path) -> None:
    for folder in FOLDER.glob("[0-9a-f]*"):
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)
