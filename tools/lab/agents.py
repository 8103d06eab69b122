# SPDX-License-Identifier: GPL-2.0-or-later
"""The C programs of agent/, for inside of emulated machines, and the emulator's plug-in; compiled
when roots.py, busy guests or counter.py need them."""

import subprocess
from pathlib import Path

from .cache import cached, key_of
from .paths import LAB, LabError

SOURCES = LAB / "agent"
FLAGS = "-std=gnu17 -O2 -g -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -D_GNU_SOURCE".split()

PROGRAMS = {
    "lab-agent": (
        ["agent.c", "command.c", "session.c", "queue.c", "link_port.c", "link_vchan.c"],
        ["-lxenvchan", "-lxenstore"],
    ),
    "lab-bridge": (["bridge.c"], ["-lxenvchan", "-lxenstore"]),
    "lab-cpu": (["cpu.c"], ["-lxenctrl", "-lxenstore"]),
    "lab-busy": (["busy.c"], []),
    "lab-count.so": (["count.c"], ["-shared", "-fPIC"]),
}


def program(name: str) -> Path:
    sources, libraries = PROGRAMS[name]
    inputs = [path.read_bytes() for path in sorted(SOURCES.glob("*.[ch]"))]
    key = key_of([" ".join(FLAGS + sources + libraries).encode(), *inputs])
    return cached(name, "", key, lambda path: _compile(path, sources, libraries))


def _compile(path: Path, sources: list[str], libraries: list[str]) -> None:
    command = ["gcc", *FLAGS, "-o", str(path), *(str(SOURCES / s) for s in sources), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(command)}:\n{done.stderr}")
