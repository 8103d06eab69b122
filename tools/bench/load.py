# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures how busy other programs kept the machine while a bench ran.  Suites add this to their
results: a client and a daemon that have one CPU instead of two cannot overlap."""

import os
import resource
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
WORTH_SAYING = 0.2


class Load:
    """Measures from its construction on."""

    def __init__(self):
        self._start = time.monotonic()
        self._busy = _busy_seconds()
        self._own = _own_seconds()

    def of_others(self):
        """CPUs that others used on average: 0 is a quiet machine."""
        elapsed = time.monotonic() - self._start
        others = _busy_seconds() - self._busy - (_own_seconds() - self._own)
        return round(max(0.0, others / elapsed), 2)

    def told_by(self, suite):
        """Returns of_others().  The suite prints it if it is more than WORTH_SAYING."""
        others = self.of_others()
        if others > WORTH_SAYING:
            cpus = os.cpu_count()
            suite.say(f"not a quiet machine: others used {others} of {cpus} CPUs meanwhile")
        return others


def _busy_seconds():
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields)
    return (user + nice + system + irq + softirq + steal) / TICKS


def _own_seconds():
    """CPU time of this process and of its children that have ended."""
    total = 0.0
    for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(whose)
        total += usage.ru_utime + usage.ru_stime
    return total
