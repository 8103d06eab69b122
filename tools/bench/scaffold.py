# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bench sets up before its rounds and takes down after them.

    class MyBench(Scaffold):
        def _start(self):
            folder = self.temporary()
            self._stack.enter_context(...)

    with MyBench() as bench:

If _start() fails, what it has set up is taken down.
"""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tools.lab.paths import REPOSITORY

RESULTS = REPOSITORY / "build" / "bench"


def temporary(stack, parent=RESULTS):
    """A new folder, which is removed when the stack is closed."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="vread-bench-", dir=parent)
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class Scaffold:
    def __init__(self):
        self._stack = ExitStack()

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_):
        self._stack.close()

    def temporary(self, parent=RESULTS):
        return temporary(self._stack, parent)
