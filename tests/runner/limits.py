# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plug-in: the limit of a test (pytest-timeout) allows for a busy machine, as all limits
inside the tests do (tools/patience.py).

Otherwise a run beside other work would fail tests that are only slow.  Tests whose limit is kept by
a thread (tests/libvread) keep pytest-timeout's own.
"""

import signal

import pytest_timeout

from tools.patience import Patience

PAUSE = 5.0  # s between looks at the load


def pytest_timeout_set_timer(item, settings):
    """Takes the place of pytest-timeout's timer.  True: no other plug-in is asked."""
    if settings.method != "signal":
        return None
    patience, pause = Patience(settings.timeout), min(PAUSE, settings.timeout)

    def look(_number, _frame):
        __tracebackhide__ = True
        if patience.is_over():
            item.cancel_timeout()
            pytest_timeout.timeout_sigalrm(item, settings)

    def cancel():
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    item.cancel_timeout = cancel
    signal.signal(signal.SIGALRM, look)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, pause, pause)
    return True
