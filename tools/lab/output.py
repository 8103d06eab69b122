# SPDX-License-Identifier: GPL-2.0-or-later
"""output(command): what a program of this machine prints.  apt.py, rootfs.py and kernels.py
run programs with it."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .paths import LabError

TIMEOUT = 3 * 3600  # s; a kernel compiles for most of an hour on a busy machine


def output(command: Sequence[str], hint: str = "", folder: Path | None = None) -> str:
    """The standard output.  A program that fails is a LabError with its errors and the hint."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"LC_ALL": "C"},
        timeout=TIMEOUT,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip()[-3000:]
        raise LabError(f"{' '.join(command)}: {said}" + (f" ({hint})" if hint else ""))
    return done.stdout
