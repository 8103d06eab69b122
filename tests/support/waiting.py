# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for what must come to be, however busy the machine is.

eventually(lambda: asker.peer("b")["state"] == "idle")
"""

import time

from tools.patience import Patience

PAUSE = 0.02  # s between questions


def eventually(condition, seconds=120, what="it"):
    """What condition() gives, once it is true; the test fails if that is not within seconds of a
    machine that is not busy.
    what (a text, or a function for one) says what did not come."""
    patience = Patience(seconds)
    while not (value := condition()):
        if patience.is_over():
            raise AssertionError(f"{what() if callable(what) else what}: not within {seconds} s")
        time.sleep(PAUSE)
    return value
