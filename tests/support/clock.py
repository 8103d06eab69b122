# SPDX-License-Identifier: GPL-2.0-or-later
"""A clock that stands still until the test advances it.

clock = Clock(tmp_path / "clock")
daemon = Daemon(..., clock=clock)      # starts it with clock.environment
clock.advance(10)                      # a limit of 10 s passes now
clock.until(lambda: "again" in daemon.log())

A program that is started with VREAD_CLOCK=FILE takes its time from that file
(xen-backend/base/clock.h).  The file holds two unsigned 64-bit numbers in native byte order:
milliseconds since the epoch, and the CPU time in milliseconds that every process has used, which is
0 until the test sets cpu_ms.  Any number of programs may use one clock.  The clock starts an hour
ahead of real time, so that certificates made later are already valid.
"""

import ctypes
import mmap
import time

from tests.support.waiting import PAUSE, eventually

AHEAD = 3_600_000  # ms


class Clock:
    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(16))
        with open(path, "r+b") as file:
            self._values = (ctypes.c_uint64 * 2).from_buffer(mmap.mmap(file.fileno(), 16))
        self._values[0] = time.time_ns() // 1_000_000 + AHEAD

    @property
    def ms(self):
        return self._values[0]

    @property
    def cpu_ms(self):
        return self._values[1]

    @cpu_ms.setter
    def cpu_ms(self, ms):
        self._values[1] = ms

    @property
    def environment(self):
        """The environment variable for a program that uses this clock."""
        return {"VREAD_CLOCK": str(self.path)}

    def advance(self, seconds):
        self._values[0] += round(1000 * seconds)

    def until(self, condition, step=PAUSE, **arguments):
        """As eventually(), but each false condition() advances the clock by `step` seconds."""

        def ask():
            value = condition()
            if not value:
                self.advance(step)
            return value

        return eventually(ask, **arguments)
