# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the lab finds what it is made of and where it puts what it makes.

Everything the lab writes is under build/lab: `cache/` holds files named after
a hash of what went into them, `run/<host>/` the logs and the shared folder of
one emulated host's last run.
"""

from pathlib import Path

LAB = Path(__file__).resolve().parent
REPOSITORY = LAB.parents[1]
BUILD = REPOSITORY / "build" / "lab"
CACHE = BUILD / "cache"
RUN = BUILD / "run"


class LabError(Exception):
    """Something about the lab itself, as opposed to what is tested in it."""


def newest(folder: str, pattern: str, package: str) -> Path:
    """The newest file of a pattern, by version number; names the package that has it."""
    found = sorted(Path(folder).glob(pattern), key=_version)
    if not found:
        raise LabError(f"no {folder}/{pattern}: install {package} (make setup does)")
    return found[-1]


def _version(path: Path) -> list[int]:
    digits = "".join(c if c.isdigit() else " " for c in path.name)
    return [int(n) for n in digits.split()]


def kernel_release() -> str:
    """The newest Debian 6.1 kernel, the one the module is built for."""
    return newest("/lib/modules", "6.1.*-amd64", "linux-image-amd64").name


def xen_tools() -> Path:
    return newest("/usr/lib", "xen-4.*", "xen-utils-4.17") / "bin"
