# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for what must come to be, however busy the machine is.

eventually(lambda: asker.peer("b")["state"] == "idle")
"""

import time

PAUSE = 0.02  # s between questions


def eventually(condition, seconds=120, what="it"):
    """What condition() gives, once it is true; the test fails if that is not within seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(PAUSE)
    return value
