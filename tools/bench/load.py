# SPDX-License-Identifier: GPL-2.0-or-later
"""How busy others kept the machine while a bench ran: a client and a daemon that have one CPU
between them instead of two cannot overlap, and the result should say so."""

import os
import resource
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
WORTH_SAYING = 0.2


class Load:
    """From its making on."""

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
        """of_others(), and says so if it is worth saying."""
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
    """Ours and that of children that have ended."""
    total = 0.0
    for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(whose)
        total += usage.ru_utime + usage.ru_stime
    return total
