# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths of the lab's inputs on this machine and of its output, for all of the lab.

The lab writes to build/lab: `cache/` holds files named after a hash of their
inputs, `run/<host>/` the logs and the shared folder of one emulated host's last
run, `states/` saved hosts, `kernels/` other kernels, `debian/` other releases of Debian.
"""

import re
from pathlib import Path

LAB = Path(__file__).resolve().parent
REPOSITORY = LAB.parents[1]
BUILD = REPOSITORY / "build" / "lab"
CACHE = BUILD / "cache"
RUN = BUILD / "run"
LIBRARY = re.compile(r"(/\S+) \(0x")  # a shared library in the output of ldd


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


def kernel_release(series: str = "6.1", root: Path = Path("/")) -> str:
    """The newest Debian kernel of the series below `root`.  By default this machine's, for which
    `make module` builds the module."""
    return newest(str(root / "lib/modules"), f"{series}.*-amd64", "linux-image-amd64").name
