# SPDX-License-Identifier: GPL-2.0-or-later
"""How long tests and tools wait for what must come to be, before they say that it hangs.

    patience = Patience(60)
    while not ready():
        if patience.is_over():
            raise LabError("not ready within 60 s")
        time.sleep(0.2)

A second counts as a second while every thread that wants a processor has one.  While threads wait
for processors a second counts for less: with six threads on two processors for a third.  So a busy
machine only takes longer, and what hangs is told soon on a machine with nothing else to do.
"""

import os
import time
from pathlib import Path

LOAD = Path("/proc/loadavg")  # the fourth field: threads that run or want to, "/", all threads


class Patience:
    """Ask it again and again: the load is looked at when it is asked."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._looked = time.monotonic()

    def is_over(self) -> bool:
        now = time.monotonic()
        self._left -= (now - self._looked) * share_of_a_processor()
        self._looked = now
        return self._left < 0


def share_of_a_processor() -> float:
    """What each of the threads that want a processor gets of one, at most 1."""
    wanting = int(LOAD.read_text().split()[3].partition("/")[0])
    return min(1.0, len(os.sched_getaffinity(0)) / max(wanting, 1))
