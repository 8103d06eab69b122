# SPDX-License-Identifier: GPL-2.0-or-later
"""Time limits that allow for a busy machine.  Tests and tools use them when they wait.

    patience = Patience(60)
    while not ready():
        if patience.is_over():
            raise LabError("not ready within 60 s")
        time.sleep(0.2)

A second counts in full while every runnable thread has a processor.  While threads wait for
processors, a second counts for less: with six runnable threads on two processors, for a third.  So
a busy machine is given more time, and an idle machine reports a hang soon.
"""

import os
import time
from pathlib import Path

LOAD = Path("/proc/loadavg")  # fourth field: runnable threads, "/", all threads


class Patience:
    """Call is_over() often: the load is sampled only in that call."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._looked = time.monotonic()

    def is_over(self) -> bool:
        now = time.monotonic()
        self._left -= (now - self._looked) * share_of_a_processor()
        self._looked = now
        return self._left < 0


def share_of_a_processor() -> float:
    """The share of a processor that each runnable thread gets, at most 1."""
    wanting = int(LOAD.read_text().split()[3].partition("/")[0])
    return min(1.0, len(os.sched_getaffinity(0)) / max(wanting, 1))
