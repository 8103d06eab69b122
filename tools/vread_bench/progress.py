# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells on standard error which round runs and how long the rest will take.

The time left is the mean time of the rounds of this start times the rounds that are left.
"""

import sys


class Progress:
    def __init__(self, total, done, clock, out=sys.stderr):
        self._total, self._done, self._clock, self._out = total, done, clock, out
        self._began, self._first = clock(), done

    def begins(self, step):
        text = f"[{self._done + 1}/{self._total}] round {step.round + 1}: {step.cell.id}"
        print(f"{text}; {self._left()}", file=self._out, flush=True)

    def ended(self, record):
        self._done += 1
        if "wrong" in record:
            print(f"WRONG BYTES: {record['wrong']}", file=self._out, flush=True)

    def _left(self):
        measured = self._done - self._first
        if not measured:
            return f"{self._total - self._done} rounds left"
        each = (self._clock() - self._began) / measured
        return f"{time_text(each * (self._total - self._done))} left"


def time_text(seconds):
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
