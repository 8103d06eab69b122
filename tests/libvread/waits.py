# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers for calls of libvread that wait: they run a call in a thread and show whether it waits.

with Watched(lib, endpoint, timeout_ms=2000) as connection:
    call = connection.call(lambda: file.pread(100, 0))   # its request is on the ring
    clock.advance(2)
    assert call.error() == errno.ETIME

The clock (vreadlib.clock) stands still until the test advances it.  So a call that ends before has
ended for another reason than its timeout.
"""

import mmap
import os
import re
import struct
import threading
from pathlib import Path

from tests.libvread import vreadlib
from tests.libvread.backend import REQ_PROD, RSP_PROD
from tests.support.waiting import eventually


def proc(task, name):
    """The content of a file in /proc of a process or thread; "" if it has ended."""
    try:
        return Path(f"/proc/{task}/{name}").read_text()
    except OSError:
        return ""


def sleeps_in(task, function):
    """True if the task sleeps in a kernel function whose name contains `function`."""
    return function in proc(task, "wchan")


class Call(threading.Thread):
    """A call that runs in its own thread."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self._function, self._error = function, None
        vreadlib.calls.add(self)
        self.start()

    def run(self):
        try:
            self._function()
            self._error = 0
        except OSError as error:
            self._error = error.errno
        finally:
            vreadlib.calls.discard(self)

    def error(self):
        """Waits for the end of the call.  Returns 0, or the errno of its failure."""
        eventually(lambda: not self.is_alive(), what="the end of a call")
        return self._error

    def sleeps_in(self, function):
        return sleeps_in(self.native_id, function)

    def goes_on(self):
        """True once the call has looked at the clock again and waits on; False if it ends."""
        slept = self._times_slept()
        eventually(lambda: not self.is_alive() or self._times_slept() > slept + 2)
        return self.is_alive()

    def _times_slept(self):
        status = proc(self.native_id, "status")
        count = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M)
        return int(count[1]) if count else 0


def ring_descriptors():
    found = set()
    for entry in os.scandir("/proc/self/fd"):
        try:
            target = os.readlink(entry.path)
        except FileNotFoundError:  # the descriptor of scandir() itself
            continue
        if target.startswith("/memfd:vread-rings"):
            found.add(int(entry.name))
    return found


class Watched(vreadlib.Connection):
    """A connection to a vreadd whose ring the test can read."""

    def __init__(self, *arguments, **options):
        before = ring_descriptors()
        super().__init__(*arguments, **options)
        (descriptor,) = ring_descriptors() - before
        self._ring = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)

    def close(self):
        self._ring.close()
        super().close()

    def asked(self):
        return struct.unpack_from("<I", self._ring, REQ_PROD)[0]

    def answered(self):
        return struct.unpack_from("<I", self._ring, RSP_PROD)[0]

    def call(self, function):
        """Starts a call, and waits until its first request is on the ring."""
        before = self.asked()
        call = Call(function)
        eventually(lambda: self.asked() > before, what="a request")
        return call
