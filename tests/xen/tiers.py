# SPDX-License-Identifier: GPL-2.0-or-later
"""Which parameters of a test are only in `make test-all`: `make test` has each kind of thing once.

@pytest.mark.parametrize("attack", ["overflow", *slow("backwards")])
"""

import pytest


def slow(*parameters):
    """These, of tests that are marked slow; a tuple is of several arguments."""
    return [
        pytest.param(*(p if isinstance(p, tuple) else (p,)), marks=pytest.mark.slow)
        for p in parameters
    ]
