# SPDX-License-Identifier: GPL-2.0-or-later
"""The C programs of agent/, for inside of emulated machines, and the emulator's plug-in; compiled
when roots.py, busy guests or counter.py need them."""

from pathlib import Path

from .cache import cached, key_of
from .debian import BOOKWORM, Debian
from .paths import LAB

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


def program(name: str, debian: Debian = BOOKWORM) -> Path:
    sources, libraries = PROGRAMS[name]
    inputs = [path.read_bytes() for path in sorted(SOURCES.glob("*.[ch]"))]
    words = [debian.suite, *FLAGS, *sources, *libraries]
    files = [SOURCES / name for name in sources]
    key = key_of([" ".join(words).encode(), *inputs])
    return cached(name, "", key, lambda path: debian.compile(path, files, FLAGS, libraries))
