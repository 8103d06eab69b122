# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for what must come to be, however busy the machine is.

eventually(lambda: asker.peer("b")["state"] == "idle")

@tried_again
def test_what_takes_seconds_at_most(mortal): ...
"""

import contextlib
import functools
import time

PAUSE = 0.02  # s between questions
TRIES = 4


def eventually(condition, seconds=120, what="it"):
    """What condition() gives, once it is true; the test fails if that is not within seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(PAUSE)
    return value


def tried_again(test):
    """Of a few attempts one must go as it should: where the machine stands still for most of the
    time that an answer may take, more ends than is to, and rightly so.  The test leaves its
    fixtures as they were, also when it fails."""

    @functools.wraps(test)
    def attempts(**fixtures):
        for _ in range(TRIES - 1):
            with contextlib.suppress(Exception):
                return test(**fixtures)
        return test(**fixtures)

    return attempts
