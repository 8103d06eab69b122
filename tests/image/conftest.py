# SPDX-License-Identifier: GPL-2.0-or-later
"""Which build reads the images: the one with sanitizers, and for some files also what is installed.

The two differ where it matters: a parser with sanitizers may make more system calls, for their
reports, and has another malloc(), which makes others.
"""

import pytest

from tests.support import disk


@pytest.fixture(params=["asan", pytest.param("release", marks=pytest.mark.thorough)])
def both_builds(request, monkeypatch):
    monkeypatch.setattr(disk, "VARIANT", request.param)
