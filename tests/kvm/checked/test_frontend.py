# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/kvm/test_frontend.py in guests of two processors whose kernel checks itself."""

import pytest

from tests.kvm.test_frontend import *  # noqa: F403

pytestmark = [pytest.mark.kvm, pytest.mark.slow]
