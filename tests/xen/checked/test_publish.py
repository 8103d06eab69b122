# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/xen/shared/test_publish.py in guests of two processors whose kernel checks itself."""

import pytest

from tests.xen.shared.test_publish import *  # noqa: F403

pytestmark = [pytest.mark.xen, pytest.mark.slow]
