# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of a program that fail once each.

calls = FailingCalls(tmp_path / "calls", VREADD)
daemon = start_daemon(wrapper=calls.wrapper, program=VREADD)
failed = calls.sweep(attempt)         # attempt() makes vreadd do something

The programs are linked with failing.c and a list of calls: of calls for memory, a descriptor, a
mapping, a thread or a file (tests/protocol/failing_calls.c), or of RDMA calls
(tests/xen/failing_verbs.c).
"""

import ctypes
import mmap
import subprocess

from tests.support.daemon import REPOSITORY

VREADD = REPOSITORY / "build/asan/vreadd-failing"
VREAD = REPOSITORY / "build/asan/vread-failing"


class Shared(ctypes.Structure):
    """struct failing in failing.h."""

    _fields_ = [
        ("left", ctypes.c_int64),
        ("caller", ctypes.c_uint64),
        ("name", ctypes.c_char * 48),
        ("once", ctypes.c_uint32),
        ("num_places", ctypes.c_uint32),
        ("places", ctypes.c_uint64 * 200),
    ]

    def told(self, program):
        """The call of the program that failed: its name, and the line."""
        if not self.name:
            return "no call failed"
        command = ["addr2line", "-s", "-f", "-e", program, hex(self.caller - 1)]
        where = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return f"{self.name.decode()}() in {' '.join(where)}"


class FailingCalls:
    """Which call of the program fails."""

    def __init__(self, path, program):
        self.program = program
        path.write_bytes(bytes(mmap.PAGESIZE))
        with open(path, "r+b") as file:
            self.shared = Shared.from_buffer(mmap.mmap(file.fileno(), mmap.PAGESIZE))
        self.environment = {"FAILING_CALLS": str(path)}
        self.wrapper = ["env", f"FAILING_CALLS={path}"]

    def arm(self, number):
        self.shared.caller, self.shared.name = 0, b""
        self.shared.left = number

    def disarm(self):
        """Returns True if a call failed since arm()."""
        self.shared.left = 0
        return bool(self.shared.name)

    def told(self):
        return self.shared.told(self.program)

    def sweep(self, attempt, afterwards=lambda: None):
        """Repeats attempt().  The program's first call fails in the first attempt, the second call
        in the second, and so on, until three attempts in a row made no more calls.  After each
        attempt, no call fails while afterwards() runs.  Returns the calls that failed.  An
        exception of attempt() or afterwards() names the call."""
        failed, spared = [], 0
        while spared < 3:
            self.arm(len(failed) + 1)
            try:
                attempt()
                failed_one = self.disarm()
                afterwards()
            except BaseException as error:
                raise AssertionError(f"{self.told()}: {error!r}") from error
            if failed_one:
                failed.append(self.told())
                spared = 0
            else:
                spared += 1
        return failed
