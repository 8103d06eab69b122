# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits for a condition, however busy the machine is.

eventually(lambda: asker.peer("b")["state"] == "idle")
"""

import time

from tools.patience import Patience

PAUSE = 0.02  # s between calls of condition()


def eventually(condition, seconds=120, what="it"):
    """Returns the result of condition() as soon as it is true.  The test fails if this takes longer
    than `seconds` seconds; on a busy machine, this limit is longer.
    what (a text, or a function that returns one) names the condition in the error."""
    patience = Patience(seconds)
    while not (value := condition()):
        if patience.is_over():
            raise AssertionError(f"{what() if callable(what) else what}: not within {seconds} s")
        time.sleep(PAUSE)
    return value
