# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths of the lab's inputs on this machine and of its output, for all of the lab.

The lab writes to build/lab: `cache/` holds files named after a hash of their
inputs, `run/<host>/` the logs and the shared folder of one emulated host's last
run, `states/` saved hosts, `kernels/` other kernels.
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
    """The newest file of a pattern, by version number.  An error names `package`."""
    found = sorted(Path(folder).glob(pattern), key=_version)
    if not found:
        raise LabError(f"no {folder}/{pattern}: install {package} (make setup does)")
    return found[-1]


def _version(path: Path) -> list[int]:
    digits = "".join(c if c.isdigit() else " " for c in path.name)
    return [int(n) for n in digits.split()]


def kernel_release() -> str:
    """The newest Debian 6.1 kernel, for which the module is built."""
    return newest("/lib/modules", "6.1.*-amd64", "linux-image-amd64").name


def xen_tools() -> Path:
    return newest("/usr/lib", "xen-4.*", "xen-utils-4.17") / "bin"
