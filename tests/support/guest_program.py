# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a C program that a test runs in a guest or in dom0."""

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# Programs that run in guests of every hypervisor.
FOLDER = REPOSITORY / "tests" / "guest"
HEADER_FOLDERS = ("xenstore-schema", "build/generated", "linux-frontend/uapi")


def compiled(source: Path, folder: Path, *libraries: str) -> Path:
    """Returns the program, which is in the folder."""
    program = folder / source.stem
    command = ["gcc", "-std=gnu17", "-O1", "-Wall", "-Werror", "-D_GNU_SOURCE", "-pthread"]
    command += [f"-I{REPOSITORY / name}" for name in HEADER_FOLDERS]
    subprocess.run([*command, source, *libraries, "-o", program], check=True)
    return program
