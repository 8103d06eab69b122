# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel of these tests checks, and what it finds of the module's memory at the end."""

import pytest

from tests.guest.checking import *  # noqa: F403 - tests, in the order of that file

pytestmark = [pytest.mark.kvm, pytest.mark.slow]


@pytest.fixture(scope="module")
def client(make_client):
    return make_client("checked")
