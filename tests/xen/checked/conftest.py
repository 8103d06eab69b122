# SPDX-License-Identifier: GPL-2.0-or-later
"""The host of tests/xen/shared once more, with two processors and with guests of two, whose kernel
checks itself (tools/lab/checking_kernel.py).

The kernel reports a defect in its log.  A test fails if there is a new report after it
(tests/xen/conftest.py), or if lockdep is off after it.
"""

from collections.abc import Iterator

import pytest

from tests.guest.checking import lockdep_is_on
from tests.xen.shared.conftest import *  # noqa: F403  its fixtures, but host_settings
from tests.xen.shared.conftest import VARIANT
from tools.lab import checking_kernel, product
from tools.lab.guest import GuestKind


@pytest.fixture(scope="session")
def configuration() -> checking_kernel.Configuration:
    return checking_kernel.XEN


@pytest.fixture(scope="package")
def host_settings(configuration) -> dict:
    kernel = checking_kernel.checking(configuration)
    modules = product.modules_for(kernel)
    return {
        "name": "checked",
        "cpus": 2,
        "memory_mib": 3072,
        "dom0_mib": 1536,
        "guest_files": product.guest_files(VARIANT) | modules,
        "guest_kind": GuestKind(memory_mib=256, kernel=kernel, vcpus=2),
    }


@pytest.fixture(autouse=True)
def _lockdep_stays_on(xen_host) -> Iterator[None]:
    yield
    for guest in list(xen_host.guests.values()):
        if guest.alive:
            assert lockdep_is_on(guest), guest.name
