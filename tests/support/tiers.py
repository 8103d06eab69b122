# SPDX-License-Identifier: GPL-2.0-or-later
"""slow() marks parameters of a test that only `make test-all` runs.  `make test` runs one case of
each kind.

@pytest.mark.parametrize("attack", ["overflow", *slow("backwards")])
"""

import pytest


def slow(*parameters):
    """The parameters, marked slow.  A tuple is the values of several arguments."""
    return [
        pytest.param(*(p if isinstance(p, tuple) else (p,)), marks=pytest.mark.slow)
        for p in parameters
    ]
