# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for what must come to be, however busy the machine is.

eventually(lambda: asker.peer("b")["state"] == "idle")

@tried_again
def test_what_takes_seconds_at_most(mortal): ...
"""

import functools
import threading
import time
import warnings

PAUSE = 0.02  # s between questions
TRIES = 4
STOOD_STILL = 0.3  # s


def eventually(condition, seconds=120, what="it"):
    """What condition() gives, once it is true; the test fails if that is not within seconds.
    what (a text, or a function for one) says what did not come."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what() if callable(what) else what}: not within {seconds} s")
        time.sleep(PAUSE)
    return value


class StandstillWatch(threading.Thread):
    """How long the machine kept one who wanted to run from it, at worst, while it lasts."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0.0  # s
        self._over = threading.Event()

    def run(self):
        while not self._over.is_set():
            before = time.monotonic()
            self._over.wait(PAUSE)
            self.longest = max(self.longest, time.monotonic() - before - PAUSE)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()


def tried_again(test):
    """Where the machine stood still, so that more ended than was to, and rightly so, the test is
    made again, a few times; what failed is among the warnings.  The test leaves its fixtures as
    they were, also when it fails."""

    @functools.wraps(test)
    def attempts(**fixtures):
        for _ in range(TRIES - 1):
            with StandstillWatch() as watch:
                try:
                    return test(**fixtures)
                except Exception as error:
                    if watch.longest < STOOD_STILL:
                        raise
                    warnings.warn(f"stood still for {watch.longest:.1f} s: {error}", stacklevel=1)
        return test(**fixtures)

    return attempts
