# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of Debian's package linux-source-6.1, the source of the installed kernel.
checking_kernel.py compiles all of it; tools/lint takes the kernel's own checks out of it."""

from pathlib import Path

from . import apt
from .output import output

PACKAGE = "linux-source-6.1"


def version() -> str:
    """The version that apt would download."""
    return apt.version(PACKAGE)


def extract(scratch: Path, *names: str) -> Path:
    """Downloads the package to `scratch`, and unpacks these files and folders there.  Without
    names, unpacks everything.  Returns the source's folder."""
    apt.unpack([PACKAGE], scratch, scratch / "package")
    archive = scratch / "package" / "usr" / "src" / f"{PACKAGE}.tar.xz"
    members = [f"{PACKAGE}/{name}" for name in names]
    output(["tar", "-I", "xz -T0", "-xf", str(archive), "-C", str(scratch), *members])
    return scratch / PACKAGE
