# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the instructions that an emulated machine executes, by a plug-in of QEMU (agent/count.c).

    XenHost("h", counter=path)      # loads it; cpus must be 1
    instructions(path)              # so far

The count is in a file of 8 bytes, which other programs can read, too:  od -An -tu8 FILE
"""

import struct
from pathlib import Path

from .agents import program


def counter_arguments(path: Path) -> list[str]:
    """The emulator's arguments."""
    return ["-plugin", f"{program('lab-count.so')},count={path}"]


def instructions(path: Path) -> int:
    return struct.unpack("=Q", path.read_bytes())[0]
