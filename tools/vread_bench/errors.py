# SPDX-License-Identifier: GPL-2.0-or-later
"""The errors that vread-bench tells its user without a stack trace.  All modules raise them."""


class BenchError(RuntimeError):
    """The run or the report cannot go on.  Rounds that are in the journal stay."""


class PlaceError(BenchError):
    """A mistake in a file of the operator: names the file, the line and the key."""

    def __init__(self, path, line, key, message):
        where = f"{path}:{line}: " if line else f"{path}: "
        self.line = line
        super().__init__(where + (f"{key}: " if key else "") + message)


class PlaceErrors(PlaceError):
    """All mistakes in files of the operator, one a line."""

    line = 0

    def __init__(self, errors):
        BenchError.__init__(self, "\n".join(map(str, sorted(errors, key=lambda e: e.line))))
