# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixture both_builds: a file's tests run with the sanitized build and with the build that is
installed.

A parser with sanitizers is allowed more system calls, for their reports, and has another malloc(),
which makes other system calls.
"""

import pytest

from tests.support import disk


@pytest.fixture(params=["asan", pytest.param("release", marks=pytest.mark.thorough)])
def both_builds(request, monkeypatch):
    monkeypatch.setattr(disk, "VARIANT", request.param)
