# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts what an emulated machine executes and copies, by a plug-in of QEMU (agent/count.c).

    XenHost("h", counter=path)      # loads it; cpus must be 1
    instructions(path), copied(path)   # so far: instructions, bytes

Both counts are in a file, which other programs can read, too:  od -An -tu8 FILE
"""

import struct
from pathlib import Path

from .agents import program


def counter_arguments(path: Path) -> list[str]:
    """The emulator's arguments."""
    return ["-plugin", f"{program('lab-count.so')},count={path}"]


def instructions(path: Path) -> int:
    return _counts(path)[0]


def copied(path: Path) -> int:
    return _counts(path)[1]


def _counts(path: Path) -> tuple[int, int]:
    return struct.unpack("=QQ", path.read_bytes())
