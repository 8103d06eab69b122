# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder for one run of a host (host.py), which no other run uses meanwhile.

Two programs may start hosts of the same name; the second one's folder gets a
number.  A folder in use is locked, and the lock ends with the process.  A
folder without a lock was left by an earlier run, and is removed.
"""

import fcntl
import shutil
from pathlib import Path
from typing import IO

from .paths import RUN, LabError

TRIES = 20


class Claim:
    def __init__(self, name: str) -> None:
        RUN.mkdir(parents=True, exist_ok=True)
        self.folder, self._lock = _first_free(name)
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def release(self) -> None:
        """Unlocks the folder, which stays until the next claim."""
        self._lock.close()


def _first_free(name: str) -> tuple[Path, IO]:
    for number in range(1, TRIES + 1):
        folder = RUN / (name if number == 1 else f"{name}.{number}")
        lock = (RUN / f".{folder.name}.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return folder, lock
    raise LabError(f"{TRIES} hosts called {name} are running")
