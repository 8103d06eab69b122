# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/xen/shared/test_life.py in guests of two processors whose kernel checks itself."""

import pytest

from tests.xen.shared.test_life import *  # noqa: F403

pytestmark = [pytest.mark.xen, pytest.mark.slow]
